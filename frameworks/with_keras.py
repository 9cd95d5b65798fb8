"""Keras 3: what its operations, the same for every backend, have for rows and lack."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import common
import keras

common.report(
    "keras",
    has={n: hasattr(keras.ops, n) for n in ("stop_gradient", "vectorized_map", "grad", "vmap")},
)
