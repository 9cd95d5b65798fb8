"""The JAX backend: JAX's own transforms and pytrees."""

import itertools
from collections.abc import Callable
from functools import partial
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..factored import in_jax
from .base import Backend, Chunks


class Jax(Backend):
    """JAX's arrays, transforms and pytrees."""

    name = "jax"
    grad = staticmethod(jax.grad)
    value_and_grad = staticmethod(jax.value_and_grad)
    vmap = staticmethod(jax.vmap)
    jit = staticmethod(jax.jit)
    factors = staticmethod(in_jax.factors)
    stop_gradient = staticmethod(jax.lax.stop_gradient)
    flatten = staticmethod(jax.tree.flatten)
    unflatten = staticmethod(jax.tree.unflatten)
    tree_map = staticmethod(jax.tree.map)

    def asarray(self, x: Any, dtype: str | None = None) -> jax.Array:
        """Convert x to an array; by default arrays keep dtypes, Python floats become float64.

        Raises
        ------
        ValueError : 64-bit numbers in JAX's 32-bit mode, which would silently truncate them.
        """
        if isinstance(x, jax.Array) and dtype is None:
            return x
        wanted = x if isinstance(x, jax.Array) else np.asarray(x, dtype)
        kind = jnp.dtype(dtype or wanted.dtype)
        if jax.dtypes.canonicalize_dtype(kind) != kind:
            raise ValueError(
                f"asarray: the array is to be {kind} and JAX is in its 32-bit mode; call "
                'jax.config.update("jax_enable_x64", True) first, or give a dtype such as '
                '"float32".'
            )
        return jnp.asarray(wanted, kind)

    def paths(self, tree: Any) -> list[str]:
        return [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(tree)]

    def map_axes(self, f: Callable, axes: Any, tree: Any) -> Any:
        return jax.tree.map(f, axes, tree, is_leaf=lambda x: x is None)

    def refusal(self, x: Any) -> str | None:
        """Return the reason to reject a JAX array, that it was deleted; None otherwise."""
        if self.is_traced(x) or not x.is_deleted():
            return None
        return (
            "a deleted JAX array, whose memory a call took over (donate_argnums); give what that "
            "call returned, or let it have a copy"
        )

    def in_chunks(self, run: Callable, chunks: Chunks, jit: bool) -> Callable:
        """Return a function that runs a batch in chunks, in compiled code by ``fori_loop``."""
        one_by_one = super().in_chunks(run, chunks, jit)
        axes, size, chunk_size, sums = chunks
        count = -(-size // chunk_size)
        step = -(-size // count)  # chunks of one size: the last one repeats some samples
        if sums:  # no sample may repeat: a size that divides, or a shorter last chunk
            step = next((n for n in range(chunk_size, chunk_size // 2, -1) if size % n == 0), step)
            count = size // step

        def loop(*arguments):
            def chunk(start, step=step):
                def take(axis, part):
                    if axis is None:
                        return part
                    cut = partial(jax.lax.dynamic_slice_in_dim, start_index=start, slice_size=step)
                    return jax.tree.map(partial(cut, axis=axis), part)

                found = run(*self.map_axes(take, axes, arguments))
                return found if sums else ((), found)

            def put(whole, start, part):  # JAX lets a slice begin at size - step at the latest
                return jax.tree.map(add, whole[0], part[0]), _put(whole[1], part[1], start)

            # Only the types of the first chunk are used, so jit drops its computation.
            totals, rows = chunk(0)
            rows = jax.tree.map(lambda x: self.empty((size, *x.shape[1:]), x), rows)
            whole = jax.tree.map(jnp.zeros_like, totals), rows
            body = lambda n, whole: put(whole, n * step, chunk(n * step))  # noqa: E731
            whole = jax.lax.fori_loop(0, count, body, whole)
            if (left := size - count * step) > 0:
                whole = put(whole, count * step, chunk(count * step, left))
            return whole if sums else whole[1]

        def run_in_chunks(*arguments):
            compiling = self.is_traced(jnp.zeros(()))  # inside a jit even this is traced
            return (loop if compiling else one_by_one)(*arguments)

        return jax.jit(loop) if jit else run_in_chunks

    def first_right(self, x: Any, quick: Callable, always: Callable) -> Any:
        """Return the result of ``quick()`` if it is valid, else that of ``always()``.

        For a traced x ``lax.cond`` chooses when the program runs.
        """
        if not self.is_traced(x):
            return super().first_right(x, quick, always)
        result, right = quick()
        return jax.lax.cond(right, lambda: result, always)

    def like(self, x: Any, other: Any) -> jax.Array:
        """Return x as a JAX array with the dtype of ``other``.

        Unlike the base class it does not set the device: JAX places an uncommitted array when it
        is used.
        """
        return jnp.asarray(x, other.dtype)

    def weighted_sum(self, weights: Any, x: Any) -> jax.Array:
        """Return sum_i weights[i] x[i] over axis 0."""
        try:
            return jnp.tensordot(weights, x, axes=1)
        except Exception:  # of an Explicit mesh, where JAX asks how a product lies on the devices
            return jnp.sum(jnp.reshape(weights, (-1,) + (1,) * (x.ndim - 1)) * x, axis=0)

    def zeros_for_none(self, arguments: tuple, axes: tuple) -> tuple:
        """Return the arguments as they are: ``jax.vmap`` accepts a batch without samples."""
        return arguments

    def empty(self, shape: tuple, like: Any) -> jax.Array:
        """Return zeros like ``like[0]`` (dtype, sharding), broadcast to ``shape``."""
        return jnp.broadcast_to(jnp.zeros_like(like[0]), shape)

    def normal(self, key: Any) -> Callable:
        """Return a function of x that draws standard normal numbers of x's shape and dtype.

        Call n of the function, from 0 on, draws with the random key ``fold_in(key, n)``.
        """
        numbers = itertools.count()
        folded = lambda: jax.random.fold_in(key, next(numbers))  # noqa: E731
        return lambda x: jax.random.normal(folded(), x.shape, x.dtype)

    def is_traced(self, x: Any) -> bool:
        return isinstance(x, jax.core.Tracer)

    def write(self, whole: list, part: list, start: int) -> list:
        """Return ``whole`` with ``part`` written from ``start`` on; ``whole`` is donated."""
        return _write(whole, part, start)


def _put(whole, part, start):
    put = partial(jax.lax.dynamic_update_slice_in_dim, start_index=start, axis=0)
    return jax.tree.map(put, whole, part)


_write = jax.jit(_put, donate_argnums=0)

BACKEND = Jax()
