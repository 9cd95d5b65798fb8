"""The base class of the backends, with the defaults that NumPy and PyTorch share.

A subclass overrides what differs. A tree is a nested structure of dicts, tuples, lists, named
tuples and registered types; None is a subtree without leaves. Trees are flattened by optree here,
and by JAX in its backend.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add
from typing import Any, NamedTuple

import numpy as np
import optree

from .. import batches
from ..factored import Formed

STATIC = (str, bool, int, type(None))


class Chunks(NamedTuple):
    """How to divide a batch of ``size`` samples with these in_axes into chunks of ``chunk_size``.

    With ``sums`` the function of a chunk returns a pair: its first part is summed over the chunks,
    its second part is concatenated.
    """

    axes: tuple
    size: int
    chunk_size: int
    sums: bool


class Backend:
    """Base class: the arrays, transforms and trees of one framework."""

    name: str

    # Arrays.
    def asarray(self, x: Any, dtype: str | None = None) -> Any:
        """Convert x to an array; by default arrays keep dtypes, Python floats become float64."""
        raise NotImplementedError

    def to_numpy(self, x: Any) -> np.ndarray:
        """Return one array as a NumPy array, detached from any graph."""
        return np.asarray(x)

    def namespace(self, x: Any) -> Any:
        """Return the Array API namespace of an array."""
        return x.__array_namespace__()

    def stop_gradient(self, x: Any) -> Any:
        """Return x with the same value and derivative zero."""
        raise NotImplementedError

    def refusal(self, x: Any) -> str | None:
        """Return the reason to reject the array x, as text for an error message, or None."""
        return None

    # Transforms, with the arguments of JAX.
    def value_and_grad(self, f: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
        """Return a function computing (value, gradient), or ((value, aux), gradient) with aux."""
        raise NotImplementedError

    def grad(self, f: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
        """Return a function computing the gradient of f, or (gradient, aux) with ``has_aux``."""
        both = self.value_and_grad(f, argnums, has_aux)

        def gradient(*args):
            value, found = both(*args)
            return (found, value[1]) if has_aux else found

        # jit names the compiled program and its arguments after these.
        gradient.__name__, gradient.__wrapped__ = getattr(f, "__name__", "gradient"), f
        return gradient

    def vmap(self, f: Callable, in_axes: Any = 0) -> Callable:
        """Return f mapped over the axes ``in_axes`` of its arguments, like ``jax.vmap``."""
        raise NotImplementedError

    def jit(self, f: Callable) -> Callable:
        """Return f compiled; jit must be the outermost transform."""
        raise NotImplementedError

    def compiled_for(self, run: Callable, arguments: tuple) -> Callable:
        """Return ``run``, a result of `jit`, or a faster function for this signature only."""
        return run

    def factors(self, loss: Callable, in_axes: Any, has_aux: bool = False) -> Callable:
        """Return a function of a batch computing ([`Formed` or `Product` per parameter], aux).

        See `factored`. This default forms the rows of every parameter. Without ``has_aux``, aux is
        None.
        """
        rows_of = self.vmap(self.grad(loss, has_aux=has_aux), in_axes)

        def of_batch(*arguments):
            found = rows_of(*arguments)
            rows, aux = found if has_aux else (found, None)
            return [Formed(x) for x in self.flatten(rows)[0]], aux

        return of_batch

    def examine(self, loss: Callable, arguments: tuple, axes: tuple, has_aux: bool) -> None:
        """Raise TypeError if the loss would silently lose a part of its gradient.

        The default does nothing.
        """

    def two_values(self, loss: Callable, arguments: tuple, axes: tuple) -> list:
        """Return the loss of the first sample twice, from two evaluations, as a list."""
        sample = self.samples(arguments, axes, 0)
        return [loss(*sample), loss(*sample)]

    @contextmanager
    def kept_generators(self) -> Iterator[None]:
        """Restore the state of Python's and NumPy's global random generators on exit."""
        python, of_numpy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(of_numpy)  # noqa: NPY002, NumPy's global generator is the old one

    # Trees.
    def flatten(self, tree: Any) -> tuple[list, Any]:
        """Return (list of leaves, structure), where the structure is as `unflatten` takes it."""
        return optree.tree_flatten(tree)

    def paths(self, tree: Any) -> list[str]:
        """Return the path of each leaf as Python source, such as "['w'][0]"."""
        return [accessor.codify("") for accessor in optree.tree_accessors(tree)]

    def unflatten(self, structure: Any, leaves: Any) -> Any:
        """Rebuild a tree from its structure and its leaves."""
        return optree.tree_unflatten(structure, leaves)

    def tree_map(self, f: Callable, tree: Any, *others: Any) -> Any:
        """Apply f to the corresponding leaves of trees of one structure; None stays None."""
        return optree.tree_map(f, tree, *others)

    def map_axes(self, f: Callable, axes: Any, tree: Any) -> Any:
        """Return the tree of f(axis, subtree) for each entry of ``axes``, a prefix of ``tree``."""
        return batches.map_axes(f, axes, tree)

    def signature(self, arguments: tuple) -> tuple:
        """Return a hashable key of a call: the tree structure, and for each leaf its type.

        A leaf of a type in STATIC adds its value, any other leaf its shape and dtype.
        """
        leaves, structure = self.flatten(arguments)
        return structure, *[
            (type(x), x)
            if isinstance(x, STATIC)
            else (type(x), getattr(x, "shape", None), getattr(x, "dtype", None))
            for x in leaves
        ]

    # Samples.
    def samples(self, arguments: tuple, axes: tuple, which: int | slice) -> tuple:
        """Return the arguments of one sample (an index) or of several (a slice of the batch)."""

        def take(axis, part):
            if axis is None:
                return part
            return self.tree_map(lambda x: x[(slice(None),) * (axis % x.ndim) + (which,)], part)

        return self.map_axes(take, axes, arguments)

    def zeros_for_none(self, arguments: tuple, axes: tuple) -> tuple:
        """Return the arguments of an empty batch as a batch of one sample of zeros."""

        def zeros(axis, part):
            if axis is None:
                return part
            one = lambda x: (*x.shape[: axis % x.ndim], 1, *x.shape[axis % x.ndim + 1 :])  # noqa: E731
            zeros_of = lambda x: self.namespace(x).zeros_like(self.empty(one(x), x))  # noqa: E731
            return self.tree_map(zeros_of, part)

        return self.map_axes(zeros, axes, arguments)

    def stack(self, trees: list) -> Any:
        """Stack corresponding leaves of trees of one structure along a new axis 0."""
        return self.tree_map(lambda *xs: self.namespace(xs[0]).stack(xs), *trees)

    def in_chunks(self, run: Callable, chunks: Chunks, jit: bool) -> Callable:
        """Return a function that runs a batch through ``run`` in chunks of samples.

        Each chunk is copied into the result and freed, so that memory holds the result and one
        chunk. Inside a transform, where arrays cannot be written to, all chunks are kept and
        concatenated at the end. ``jit`` tells whether ``run`` is compiled.
        """
        axes, size, chunk_size, sums = chunks
        parts = [slice(n, min(n + chunk_size, size)) for n in range(0, size, chunk_size)]

        def run_in_chunks(*arguments):
            whole, kept, total = [], [], None
            for part in parts:
                chunk = run(*self.samples(arguments, axes, part))
                if sums:
                    more, chunk = chunk
                    total = more if total is None else self.tree_map(add, total, more)
                leaves, structure = self.flatten(chunk)
                if any(map(self.is_traced, leaves)):
                    kept.append(chunk)
                else:
                    whole = whole or [self.empty((size, *x.shape[1:]), x) for x in leaves]
                    whole = self.write(whole, leaves, part.start)
                del chunk, leaves  # before the next chunk is made
            if kept:
                whole = self.tree_map(lambda *xs: self.namespace(xs[0]).concat(xs), *kept)
            else:
                whole = self.unflatten(structure, whole)
            return (total, whole) if sums else whole

        return run_in_chunks

    def is_traced(self, x: Any) -> bool:
        """Return whether x is a tracer of one of the framework's transforms."""
        raise NotImplementedError

    def first_right(self, x: Any, quick: Callable, always: Callable) -> Any:
        """Return the result of ``quick()`` if it is valid, else that of ``always()``.

        ``quick()`` returns (result, valid); ``always()``, which is slower, is always correct. If x
        is traced, validity cannot be tested, and ``always()`` is called.
        """
        if self.is_traced(x):
            return always()
        with np.errstate(over="ignore"):
            result, right = quick()
        return result if bool(right) else always()

    def like(self, x: Any, other: Any) -> Any:
        """Return x as an array with the dtype and the device of ``other``."""
        device = getattr(other, "device", None)
        return self.namespace(other).asarray(x, dtype=other.dtype, device=device)

    def weighted_sum(self, weights: Any, x: Any) -> Any:
        """Return sum_i weights[i] x[i] over axis 0, without a temporary array of the size of x."""
        return self.namespace(x).tensordot(weights, x, axes=1)

    def empty(self, shape: tuple, like: Any) -> Any:
        """Return an uninitialised array with the dtype and the device of ``like``."""
        device = getattr(like, "device", None)
        return self.namespace(like).empty(shape, dtype=like.dtype, device=device)

    def write(self, whole: list, part: list, start: int) -> list:
        """Write the arrays ``part`` into ``whole`` from index ``start`` on; return ``whole``."""
        for x, y in zip(whole, part, strict=True):
            x[start : start + len(y)] = y
        return whole
