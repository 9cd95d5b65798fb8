"""TensorFlow: a tape for gradients, vectorized_map for the samples, tf.function for the graph."""

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
    def of(sample):
        return row(theta, *sample)

    samples = s, r, s_next
    return tf.vectorized_map(of, samples)
    # [end]


# [jacobian]
@tf.function
def rows_as_jacobian(theta, s, r, s_next):
    with tf.GradientTape() as tape:
        tape.watch(theta)
        targets = tf.stop_gradient(r + tf.linalg.matvec(s_next, theta))
        losses = 0.5 * (targets - tf.linalg.matvec(s, theta)) ** 2
    return tape.jacobian(losses, theta)
    # [end]


@tf.function
def mean(theta, s, r, s_next):
    with tf.GradientTape() as tape:
        tape.watch(theta)
        targets = tf.stop_gradient(r + tf.linalg.matvec(s_next, theta))
        loss = tf.reduce_mean(0.5 * (targets - tf.linalg.matvec(s, theta)) ** 2)
    return tape.gradient(loss, theta)


# [model]
layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(3, "tanh"), layers.Dense(1)])


@tf.function
def rows_of_model(x, y):
    def row(sample):
        one_x, one_y = sample
        with tf.GradientTape() as tape:
            output = model(one_x[None])[0]  # a batch of one
            loss = tf.reduce_sum((output - one_y) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    return tf.vectorized_map(row, (x, y))
    # [end]


# [leaf]
v1 = tf.Variable(common.V1)
v2 = tf.constant(common.V2)
with tf.GradientTape() as tape:
    v_sum = v1 + v2
    v_res = tf.reduce_sum(v_sum * 2)
g1, g2 = tape.gradient(v_res, [v1, v2])
# [end]


def if_in_a_function(many):
    """Return the values and the gradients of an `if` in a tf.function, under vectorized_map."""

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(kept_sign)(x)
        return tape.gradient(y, x)

    found = [tf.vectorized_map(f, many) for f in (tf.function(kept_sign), slope)]
    return [x.numpy().tolist() for x in found]


def without_rule():
    """Batch an operation without a rule: right but in a loop, or an error if that is refused."""
    x = convert(np.random.default_rng(0).normal(size=(3, 2, 2)))

    def factors(one):
        return tf.linalg.svd(one)[0]

    found = tf.vectorized_map(factors, x)
    return {
        "difference": float(np.abs(found - np.stack([factors(one) for one in x])).max()),
        "refused": said(lambda: tf.vectorized_map(factors, x, fallback_to_while_loop=False), 1),
    }


def training_with_batch_norm():
    """Return the largest gradient of the first weights: training=True with a batch of one; not."""
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


def convert(x):
    return tf.constant(x, FLOAT)


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


def model_against_loop():
    x, y = tf.random.normal((6, 4)), tf.random.normal((6, 1))
    model(x)  # makes the weights
    rows, largest = rows_of_model(x, y), 0.0
    shapes = [list(row.shape) for row in rows]
    for i in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(x[i : i + 1]) - y[i : i + 1]) ** 2)
        for row, one in zip(rows, tape.gradient(loss, model.trainable_variables)):
            largest = max(largest, float(tf.reduce_max(abs(row[i] - one))))
    return {"difference": largest, "shapes": shapes}


measured = common.times(rows, mean, convert, lambda g: g.numpy())  # first, so that first calls are
arguments = [convert(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
x, y = convert(2.0), convert(3.0)
both = [rows(*arguments).numpy().tolist(), rows_as_jacobian(*arguments).numpy().tolist()]
unused = gradient(lambda x, y: x * x, x, y)[1]
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
    unused_zero=float(unused_as_zero(x, y)),
    vector=vector.numpy().tolist(),
    branch={
        "eager": said(lambda: gradient(kept_sign, x)),
        "compiled": said(lambda: tf.function(kept_sign)(x)),
        "batched": said(lambda: tf.vectorized_map(kept_sign, many), line=-1),
    },
    batched_function=if_in_a_function(many),
    limited="limited support for control flow" in tf.vectorized_map.__doc__,
    without_rule=without_rule(),
    batch_norm=training_with_batch_norm(),
    model=model_against_loop(),
    twice=[float(gradient(lambda x: x * x, x)[0]) for _ in range(2)],
    three=three_gradients(*arguments),
    tape_twice=said(lambda: one_tape_twice(x)),
    persistent_twice=one_tape_twice(x, persistent=True),
    shared=common.shared(__file__, "row(theta, *sample)"),
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
