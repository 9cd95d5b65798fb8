"""Keras 3: what its operations have for rows and lack; a model's rows on the JAX backend."""

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
rows = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
# [end]

x, y = (np.random.default_rng(i).normal(size=(6, n)) for i, n in enumerate((4, 1)))
alone = [jax.grad(loss)(weights, *sample) for sample in zip(x, y)]
pairs = zip(rows(weights, x, y), zip(*alone))
common.report(
    "keras",
    has={n: hasattr(keras.ops, n) for n in ("stop_gradient", "vectorized_map", "grad", "vmap")},
    difference=max(float(np.abs(found - np.stack(one)).max()) for found, one in pairs),
)
