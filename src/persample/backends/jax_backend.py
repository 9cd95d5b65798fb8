"""The JAX backend: its own transforms, under the book's names."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays import stop_gradient, to_numpy

__all__ = ["NAME", "asarray", "grad", "jit", "stop_gradient", "to_numpy", "value_and_grad", "vmap"]

NAME = "jax"

grad, value_and_grad, vmap, jit = jax.grad, jax.value_and_grad, jax.vmap, jax.jit


def asarray(x: Any, dtype: str | None = None) -> jax.Array:
    """Return x as an array; ``dtype`` by name, "float64"; floats are float64 by default.

    Raises
    ------
    ValueError : 64-bit numbers while JAX is in its 32-bit mode, which would cut them in silence.
    """
    if isinstance(x, jax.Array):
        return x if dtype is None else x.astype(dtype)
    wanted = np.asarray(x, dtype)
    if jax.dtypes.canonicalize_dtype(wanted.dtype) != wanted.dtype:
        raise ValueError(
            f"asarray: {wanted.dtype} was asked for and JAX is in its 32-bit mode; call "
            'jax.config.update("jax_enable_x64", True) first, or give dtype="float32".'
        )
    return jnp.asarray(wanted)
