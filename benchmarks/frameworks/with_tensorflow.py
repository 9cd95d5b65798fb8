"""TensorFlow: a tape for gradients, vectorized_map for the samples, tf.function for the graph."""

from unittest import mock

import common
import numpy as np
import tensorflow as tf
from common import said

FLOAT = tf.float64


# [rows]
def td_loss(theta, s, r, s_next):
    target = tf.stop_gradient(r + tf.tensordot(s_next, theta, 1))
    return 0.5 * (target - tf.tensordot(s, theta, 1)) ** 2


def row(theta, s, r, s_next):
    with tf.GradientTape() as tape:
        tape.watch(theta)
        loss = td_loss(theta, s, r, s_next)
    return tape.gradient(loss, theta)


@tf.function
def rows(theta, s, r, s_next):
    samples = s, r, s_next
    return tf.vectorized_map(lambda one: row(theta, *one), samples)
    # [end]


@tf.function
def rows_as_jacobian(theta, s, r, s_next):
    with tf.GradientTape() as tape:
        tape.watch(theta)
        targets = tf.stop_gradient(r + tf.linalg.matvec(s_next, theta))
        losses = 0.5 * (targets - tf.linalg.matvec(s, theta)) ** 2
    return tape.jacobian(losses, theta)


@tf.function
def mean(theta, s, r, s_next):
    with tf.GradientTape() as tape:
        tape.watch(theta)
        targets = tf.stop_gradient(r + tf.linalg.matvec(s_next, theta))
        loss = tf.reduce_mean(0.5 * (targets - tf.linalg.matvec(s, theta)) ** 2)
    return tape.gradient(loss, theta)


def convert(x):
    return tf.constant(x, FLOAT)


measured = common.times(rows, mean, convert, lambda g: g.numpy())  # first, so that first calls are
tf.keras.utils.set_random_seed(0)

# [model]
layers = tf.keras.layers
parts = [tf.keras.Input((4,)), layers.Dense(3, "tanh"), layers.Dense(1)]
model = tf.keras.Sequential(parts)
x, y = tf.random.normal((6, 4)), tf.random.normal((6, 1))


@tf.function
def rows_of_model(x, y):
    def row(sample):
        one_x, one_y = sample
        with tf.GradientTape() as tape:
            output = model(one_x[None])[0]  # a batch of one
            loss = tf.reduce_sum((output - one_y) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    return tf.vectorized_map(row, (x, y))


gradients = rows_of_model(x, y)  # one array for each variable
squares = [tf.reduce_sum(g**2, axis=range(1, g.ndim)) for g in gradients]
norms = tf.sqrt(sum(squares))  # one for each sample
tf.argsort(norms, direction="DESCENDING")  # longest row first
# [end]

# [check]
for i in range(4):  # one sample at a time
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((model(x[i : i + 1]) - y[i]) ** 2)
    alone = tape.gradient(loss, model.trainable_variables)
    for g, one in zip(gradients, alone, strict=True):
        tf.debugging.assert_near(g[i], one, atol=1e-5)
# [end]


# [model_jacobian]
@tf.function
def rows_by_jacobian(x, y):
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum((model(x) - y) ** 2, axis=1)
    return tape.jacobian(losses, model.trainable_variables)
    # [end]


# [leaf]
v1 = tf.Variable(common.V1)
v2 = tf.constant(common.V2)
with tf.GradientTape() as tape:
    v_sum = v1 + v2
    v_res = tf.reduce_sum(v_sum * 2)
g1, g2 = tape.gradient(v_res, [v1, v2])
# [end]


def td_error(theta, s, r, s_next):
    target = tf.stop_gradient(r + tf.tensordot(s_next, theta, 1))
    return target - tf.tensordot(s, theta, 1)


def size_by_if(*sample):
    error = td_error(*sample)
    return error if error > 0 else -error


def huber_by_if(*sample):
    size = tf.abs(td_error(*sample))
    return 0.5 * size**2 if size < 0.25 else 0.25 * (size - 0.125)


def huber_by_where(*sample):
    size = tf.abs(td_error(*sample))
    return tf.where(size < 0.25, 0.5 * size**2, 0.25 * (size - 0.125))


def other_losses_in_rows(theta, *samples):
    """Return {loss: {way: difference of `rows` with this loss from a loop, or its error}}.

    Two losses contain an `if`. "function" is `rows` in tf.function, "eager" the Python function.
    """
    found, plain = {}, rows.python_function
    for loss in (size_by_if, huber_by_if, huber_by_where):
        ways = {"eager": plain, "function": tf.function(plain)}
        with mock.patch(f"{__name__}.td_loss", loss):
            alone = tf.stack([row(theta, *sample) for sample in zip(*samples)])
            found[loss.__name__] = {
                name: difference_or_error(lambda way=way: way(theta, *samples), alone)
                for name, way in ways.items()
            }
    return found


def difference_or_error(run, wanted):
    found = []
    error = said(lambda: found.append(run()), line=-1)
    return error or float(tf.reduce_max(abs(found[0] - wanted)))


def without_rule():
    """Return two facts on vectorized_map of an operation without a batching rule.

    "difference" is the largest from a loop; "refused" is the error without the fallback to a loop.
    """
    x = convert(np.random.default_rng(0).normal(size=(3, 2, 2)))

    def factors(one):
        return tf.linalg.svd(one)[0]

    found = tf.vectorized_map(factors, x)
    return {
        "difference": float(np.abs(found - np.stack([factors(one) for one in x])).max()),
        "refused": said(lambda: tf.vectorized_map(factors, x, fallback_to_while_loop=False), 1),
    }


def training_with_batch_norm():
    """Return the rows' largest absolute entry for the first weight, in training and inference."""
    x, y = (np.random.default_rng(i).normal(size=(6, n)) for i, n in enumerate((4, 1)))
    tf.keras.utils.set_random_seed(0)
    net = tf.keras.Sequential(
        [layers.Dense(3, dtype="float64"), layers.BatchNormalization(dtype="float64")]
    )
    net(x)
    first = net.trainable_variables[0]

    def largest(training):
        def row(sample):
            with tf.GradientTape() as tape:
                output = net(sample[0][None], training=training)[0]
                loss = tf.reduce_sum((output - sample[1]) ** 2)
            return tape.gradient(loss, first)

        return float(np.abs(tf.vectorized_map(row, (x, y))).max())

    return {"training": largest(True), "inference": largest(False)}


def gradient(f, *arguments):
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        out = f(*arguments)
    return tape.gradient(out, list(arguments))


def unused_as_zero(x, y):
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        out = x * x
    return tape.gradient(out, y, unconnected_gradients="zero")


def three_gradients(theta, s, r, s_next):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(theta)
        targets = tf.stop_gradient(r + tf.linalg.matvec(s_next, theta))
        losses = 0.5 * (targets - tf.linalg.matvec(s, theta)) ** 2
        mean_loss = tf.reduce_mean(losses)
    return {
        "losses": tape.gradient(losses, theta).numpy().tolist(),
        "mean": tape.gradient(mean_loss, theta).numpy().tolist(),
        "jacobian": tape.jacobian(losses, theta).numpy().tolist(),
    }


def one_tape_twice(x, persistent=False):
    with tf.GradientTape(persistent) as tape:
        tape.watch(x)
        out = x * x
    return [float(tape.gradient(out, x)) for _ in range(2)]


def kept_sign(x):
    return x if x > 0 else -x


def by_name(many):
    return tf.vectorized_map(kept_sign, many)  # not written here, so tf.function does not read it


def model_against_loop():
    """Return the largest error of rows and norms, relative to a loop's norms, and the shapes."""
    largest = 0.0
    for i in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(x[i : i + 1]) - y[i : i + 1]) ** 2)
        alone = tape.gradient(loss, model.trainable_variables)
        norm = tf.linalg.global_norm(alone)
        for ones, again, one in zip(gradients, rows_by_jacobian(x, y), alone):
            off = tf.reduce_max(tf.abs([ones[i] - one, again[i] - one])) / norm
            largest = max(largest, float(off), abs(float(norms[i] / norm - 1)))
    return {"difference": largest, "shapes": [list(g.shape) for g in gradients]}


def largest_arrays(width=64, size=512):
    """Return {way to a model's rows: number of elements of the largest array in its graph}."""
    hidden = [layers.Dense(width, "tanh") for _ in range(2)]
    wide = tf.keras.Sequential([tf.keras.Input((width,)), *hidden, layers.Dense(1)])
    data = tf.zeros((size, width)), tf.zeros((size, 1))
    with mock.patch(f"{__name__}.model", wide):
        graphs = {
            "vectorized_map": tf.function(rows_of_model.python_function),
            "jacobian": tf.function(rows_by_jacobian.python_function),
        }
        found = {}
        for name, way in graphs.items():
            operations = way.get_concrete_function(*data).graph.get_operations()
            outputs = [out for operation in operations for out in operation.outputs]
            found[name] = max(out.shape.num_elements() or 0 for out in outputs)
    return found


def dropout_masks(size=4):
    """Return {way: number of different dropout masks of ``size`` samples}."""
    drop, ones = layers.Dropout(0.5), tf.ones((size, 64))
    mapped = tf.vectorized_map(lambda one: drop(one[None], training=True)[0], ones)
    masks = {"vectorized_map": mapped, "batch": drop(ones, training=True)}
    return {name: len(np.unique(mask, axis=0)) for name, mask in masks.items()}


def one_weight():
    """Return the gradients of a vector of losses that share a weight, and of their mean."""
    w, x = convert(1.0), convert([1.0, 2.0])
    of = gradient(lambda w: (w * x) ** 2, w), gradient(lambda w: tf.reduce_mean((w * x) ** 2), w)
    return dict(zip(("losses", "mean"), (float(g) for [g] in of)))


arguments = [convert(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
both = [rows(*arguments).numpy().tolist(), rows_as_jacobian(*arguments).numpy().tolist()]
two, three = convert(2.0), convert(3.0)
unused = gradient(lambda x, y: x * x, two, three)[1]
many = convert([1.0, -2.0])
vector = gradient(lambda x: x * x, many)[0]
common.report(
    "tensorflow-cpu",
    rows=both,
    leaf={
        "value": float(v_res),
        "v1": g1.numpy().tolist(),
        "v2": None if g2 is None else g2.numpy().tolist(),
        "leaf": "a tf.Variable, watched by the tape; a constant is not",
    },
    unused="None" if unused is None else str(unused.numpy()),
    unused_zero=float(unused_as_zero(two, three)),
    vector=vector.numpy().tolist(),
    branch={
        "eager": said(lambda: gradient(kept_sign, two)),
        "compiled": said(lambda: tf.function(kept_sign)(two)),
        "batched": said(lambda: tf.vectorized_map(kept_sign, many), line=-1),
        "by_name": said(lambda: tf.function(by_name)(many), line=-1),
    },
    other_losses=other_losses_in_rows(*arguments),
    limited="limited support for control flow" in tf.vectorized_map.__doc__,
    without_rule=without_rule(),
    batch_norm=training_with_batch_norm(),
    dropout=dropout_masks(),
    model=model_against_loop(),
    largest_arrays=largest_arrays(),
    twice=[float(gradient(lambda x: x * x, two)[0]) for _ in range(2)],
    one_weight=one_weight(),
    three=three_gradients(*arguments),
    tape_twice=said(lambda: one_tape_twice(two)),
    persistent_twice=one_tape_twice(two, persistent=True),
    shared=common.shared(__file__, "row(theta, *one)"),
    keeps_grad=common.keeps(tf.Variable(2.0)),
    words=common.named(
        globals(),
        {
            "record": "tf.GradientTape",
            "compile": "tf.function",
            "batch": "tf.vectorized_map",
            "stop": "tf.stop_gradient",
            "leaf": "tf.Variable",
            "gradient": "tf.GradientTape.gradient",
            "jacobian": "tf.GradientTape.jacobian",
        },
    ),
    times=measured,
)
