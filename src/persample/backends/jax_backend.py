"""The JAX backend: its own transforms, with the book's parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import memory, trees

__all__ = [
    "FREEZES",
    "KEEPS",
    "NAME",
    "asarray",
    "devices_along",
    "empty",
    "examine",
    "grad",
    "into",
    "jit",
    "may_write",
    "namespace",
    "overwrite",
    "own",
    "refusal",
    "samples_at_once",
    "shared",
    "stop_gradient",
    "to_numpy",
    "traced",
    "value_and_grad",
    "vmap",
]

NAME = "jax"
FREEZES = True
KEEPS = (float, complex)  # an int may be a shape, or count a loop


# Arrays.
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


def to_numpy(x: Any) -> np.ndarray:
    """Return one array as a NumPy array, detached from any graph."""
    return np.asarray(x)


def namespace(x: Any) -> Any:
    """Return the Array API namespace of an array."""
    return x.__array_namespace__()


def stop_gradient(x: Any) -> Any:
    """Return x with the same value and derivative zero."""
    return jax.lax.stop_gradient(x)


def refusal(x: Any) -> str | None:
    """Say why an array is not taken, and what to give in its place; None if it is."""
    if not traced(x) and x.is_deleted():
        return "a JAX array that was given away as out, and holds nothing any more; make it anew"
    return None


# Transforms.
def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return the gradient of the scalar f."""
    return jax.grad(f, argnums)


def value_and_grad(
    f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """Return a function computing (value, gradient), or ((value, aux), gradient)."""
    return jax.value_and_grad(f, argnums, has_aux=has_aux)


def vmap(f: Callable, in_axes: Any = 0) -> Callable:
    """Map f over axis 0 of the arguments marked 0."""
    return jax.vmap(f, in_axes)


def jit(f: Callable) -> Callable:
    """Compile f with XLA, once for each set of shapes and dtypes."""
    return jax.jit(f)


def examine(gradient: Callable, sample: Callable) -> None:
    """Refuse a loss that cuts its gradient unnoticed; JAX does so by itself."""


# The memory of rows.
def devices_along(x: Any) -> int:
    """Return over how many devices axis 0 of an array is divided."""
    if traced(x) or not isinstance(x, jax.Array) or 0 in x.shape:
        return 1
    return x.shape[0] // x.sharding.shard_shape(x.shape)[0] if x.ndim else 1


def empty(shape: tuple[int, ...], like: Any) -> jax.Array:
    """Return fresh memory of an array's type, where the array is."""
    return jnp.empty(shape, like.dtype, device=getattr(like, "device", None))


def own(rows: Any) -> Any:
    """Return arrays to write to: those of ``rows``, fresh ones where they share memory."""
    return memory.apart(rows, jnp.empty_like, shared)


def shared(x: Any, y: Any) -> bool:
    """Say whether writing to x may change y: an array that cannot be written to is its own."""
    return x is y


def into(f: Callable, jit: bool) -> Callable:
    """Return ``g(out, start, *args)`` for f(\\*args) = (rows, extra); see memory.into.

    A JAX array cannot be written to, but it can be given away ("donated"): XLA then computes the
    result in its memory, and the array is gone. With ``jit`` f is compiled into the same program,
    which writes its rows where they are to be and touches no other memory for them.
    """

    def write(out, start, rows):
        first = 0 if start is None else start
        return trees.tree_map(lambda whole, x: _put(whole, x, first), out, rows)

    def fused(out, start, *args):
        rows, extra = f(*args)
        return write(out, start, rows), extra

    if jit:  # None is no argument to be converted at every call
        return jax.jit(fused, donate_argnums=0)
    write = jax.jit(write, donate_argnums=0)

    def run(out, start, *args):
        rows, extra = f(*args)
        return write(out, start, rows), extra

    return run


def samples_at_once(size: int, nbytes: int) -> int:
    """Return how many of ``size`` samples to write at a time if their rows have ``nbytes``."""
    return size  # compiled, it writes rows in place; if not, many calls cost more than one


def overwrite(f: Callable) -> Callable | None:
    """Return ``g(out, *args)``, which writes f(\\*args) into ``out`` as ``into`` does."""

    def fused(out, *args):
        return trees.tree_map(lambda whole, x: _put(whole, x, 0), out, f(*args))

    return jax.jit(fused, donate_argnums=0)


def _put(whole, x, start):
    return jax.lax.dynamic_update_slice_in_dim(whole, x, start, 0)


def may_write(out: jax.Array, arguments: tuple) -> bool:
    """Say at once whether ``out`` may be given away while arguments are read; False: look."""
    for x in arguments:
        if x is out:
            return False
    return not out.is_deleted()


def traced(x: Any) -> bool:
    """Say whether x stands for an array inside a transform, where no memory can be written."""
    return isinstance(x, jax.core.Tracer)
