"""Functions that make arrays, and functions of dtypes.

An array made from numbers is a constant, so ``namespace`` takes from NumPy those functions that
get no tracer: arange, empty, eye, linspace, ones, zeros, from_dlpack.
"""

import numpy as np

from ..operations import asarray, broadcast, broadcast_to, where
from .shapes import expand_dims

# Names that namespace exports.
__all__ = ["__array_namespace_info__", "broadcast_arrays", "can_cast", "empty_like", "finfo"]
__all__ += ["full", "full_like", "iinfo", "meshgrid", "ones_like", "result_type", "tril", "triu"]
__all__ += ["zeros_like"]


def full(shape, fill_value, dtype=None, *, device=None):
    """Return an array of this shape filled with a number, which may be a 0-d array or tracer."""
    value = asarray(fill_value, dtype, device=device)
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    return broadcast_to(value, shape) if hasattr(value, "_trace") else np.full(shape, value)


def full_like(x, /, fill_value, dtype=None, *, device=None):
    """Return ``fill_value`` broadcast to x's shape without a copy, in x's dtype or ``dtype``."""
    value = asarray(fill_value, dtype or x.dtype, device=device)
    return broadcast_to(value, x.shape)


def zeros_like(x, /, dtype=None, *, device=None):
    """Return zeros in the shape of x, with its dtype or the given one."""
    return full_like(x, 0, dtype, device=device)


def ones_like(x, /, dtype=None, *, device=None):
    """Return ones in the shape of x, with its dtype or the given one."""
    return full_like(x, 1, dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Return an ndarray of arbitrary values in the shape of x, with its dtype or the given one."""
    return np.empty(x.shape, dtype or x.dtype, device=device)


def tril(x, /, *, k=0):
    """Return x with zeros above diagonal k of the last two axes."""
    x = asarray(x)
    return where(np.tri(*x.shape[-2:], k=k, dtype=np.bool), x, full_like(x, 0))


def triu(x, /, *, k=0):
    """Return x with zeros below diagonal k of the last two axes."""
    x = asarray(x)
    return where(np.tri(*x.shape[-2:], k=k - 1, dtype=np.bool), full_like(x, 0), x)


def meshgrid(*arrays, indexing="xy"):
    """Return the 1-d arrays broadcast to the grid of all their combinations, as a tuple.

    ``indexing`` "xy" swaps the first two axes of the grid, "ij" does not; ValueError for others.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is {indexing!r}; give "xy" or "ij".')
    arrays = [asarray(x) for x in arrays]
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    spread = []
    for place, x in zip(order, arrays, strict=True):
        for axis in range(len(arrays)):
            x = x if axis == place else expand_dims(x, axis)
        spread.append(x)
    return tuple(broadcast(*spread))


def broadcast_arrays(*arrays):
    """Return a tuple of the arrays, broadcast to their common shape."""
    return tuple(broadcast(*map(asarray, arrays)))


def _dtype(x):
    """Return the dtype of an array; a dtype or a number is returned as it is."""
    return x if isinstance(x, type) else getattr(x, "dtype", x)


def result_type(*arrays_and_dtypes):
    """Return the common dtype of arrays, dtypes and numbers under NumPy promotion."""
    return np.result_type(*map(_dtype, arrays_and_dtypes))


def can_cast(from_, to, /):
    """Return whether NumPy casts a dtype, or that of an array, to another one safely."""
    return np.can_cast(_dtype(from_), to)


def finfo(type, /):
    """Return the limits of a floating-point dtype."""
    return np.finfo(_dtype(type))


def iinfo(type, /):
    """Return the limits of an integer dtype."""
    return np.iinfo(_dtype(type))


class __array_namespace_info__(np.__array_namespace_info__):  # the standard's name
    """The engine's capabilities: real dtypes, the CPU, no data-dependent shapes."""

    def capabilities(self):
        """Return a dict: whether the engine has each optional feature of the standard."""
        whole = super().capabilities()
        return {**whole, "boolean indexing": False, "data-dependent shapes": False}

    def default_dtypes(self, *, device=None):
        """Return the default dtype of each kind of number, without complex numbers."""
        dtypes = super().default_dtypes(device=device)
        return {kind: dtype for kind, dtype in dtypes.items() if kind != "complex floating"}

    def dtypes(self, *, device=None, kind=None):
        """Return {name: dtype} for the real dtypes of a kind (by default all)."""
        dtypes = super().dtypes(device=device, kind=kind)
        return {name: dtype for name, dtype in dtypes.items() if dtype.kind != "c"}
