"""Keras 3: which operations it has for rows; a model's rows on the JAX backend."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import common
import jax
import keras
import numpy as np

layers = keras.layers
model = keras.Sequential([layers.Dense(3, activation="tanh"), layers.Dense(1)])
model.build((None, 4))


# [rows]
def loss(weights, x, y):
    output, _ = model.stateless_call(weights, state, x[None])
    return ((output[0] - y) ** 2).sum()


weights = [v.value for v in model.trainable_variables]
state = [v.value for v in model.non_trainable_variables]
rows = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
# [end]

x, y = (np.random.default_rng(i).normal(size=(6, n)) for i, n in enumerate((4, 1)))
alone = [jax.grad(loss)(weights, *sample) for sample in zip(x, y)]
pairs = zip(rows(weights, x, y), zip(*alone))


def in_training(*parts):
    """Return the rows of the first weight for six copies of one sample, with ``training=True``."""
    net = keras.Sequential([layers.Dense(8), *parts, layers.Dense(1)])
    net.build((None, 4))

    def loss(weights, x, y):
        output, _ = net.stateless_call(weights, state, x[None], training=True)
        return ((output[0] - y) ** 2).sum()

    weights, state = (
        [v.value for v in part] for part in (net.trainable_variables, net.non_trainable_variables)
    )
    same = np.repeat(x[:1], 6, axis=0), np.repeat(y[:1], 6, axis=0)
    found = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(weights, *same)
    return np.asarray(found[0])


masked = in_training(layers.Dropout(0.5))
common.report(
    "keras",
    # Equal samples have equal rows only if they have one mask; a column of 0 is a unit left out.
    one_mask=bool((masked == masked[0]).all() and (masked[0] == 0).all(axis=0).any()),
    before_batch_norm=float(np.abs(in_training(layers.BatchNormalization())).max()),
    has={n: hasattr(keras.ops, n) for n in ("stop_gradient", "vectorized_map", "grad", "vmap")},
    difference=max(float(np.abs(found - np.stack(one)).max()) for found, one in pairs),
)
