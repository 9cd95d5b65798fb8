"""The JAX backend: its own transforms, with the book's parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import trees
from ..arrays import stop_gradient, to_numpy

__all__ = ["NAME", "asarray", "grad", "jit", "stop_gradient", "to_numpy", "value_and_grad", "vmap"]

NAME = "jax"


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
            f"asarray: the array is to be {wanted.dtype} and JAX is in its 32-bit mode; call "
            'jax.config.update("jax_enable_x64", True) first, or give a dtype such as "float32".'
        )
    return jnp.asarray(wanted)


def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return the gradient of the scalar f."""
    return jax.grad(f, argnums)


def value_and_grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return a function computing (value, gradient)."""
    return jax.value_and_grad(f, argnums)


def vmap(f: Callable, in_axes: Any = 0) -> Callable:
    """Map f over axis 0 of the arguments marked 0."""
    return jax.vmap(f, in_axes)


def jit(f: Callable) -> Callable:
    """Compile f with XLA, once for each set of shapes and dtypes."""
    return jax.jit(f)


def into(f: Callable, jit: bool) -> Callable:
    """Return ``g(out, start, *args)``: f(\\*args) written into ``out`` from row ``start`` on.

    A JAX array cannot be written to, but it can be given away ("donated"): XLA then computes the
    result in its memory, and the array is gone. With ``jit`` f is compiled into the same program,
    which writes its rows where they are to be and touches no other memory for them.
    """

    def write(out, start, rows):
        put = lambda whole, x: jax.lax.dynamic_update_slice_in_dim(whole, x, start, 0)  # noqa: E731
        return trees.tree_map(put, out, rows)

    if jit:
        fused = lambda out, start, *args: write(out, start, f(*args))  # noqa: E731
        return jax.jit(fused, donate_argnums=0)
    write = jax.jit(write, donate_argnums=0)
    return lambda out, start, *args: write(out, start, f(*args))
