"""Tracer: an array as a transform sees it, with Python's operators and indexing.

Every operator is a call of the namespace; indexing becomes static slices and one ``take``.
What a tracer cannot do (change in place, be a NumPy array, be a Python bool) it says here.
"""

import math
import operator

import numpy as np

from . import namespace as xp
from .primitives import apply


class Tracer:
    """An array as a transform sees it. Subclasses say what ``value`` stands behind it."""

    __slots__ = ("_trace",)
    __hash__ = None  # == is elementwise

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    mT = property(xp.matrix_transpose)
    T = property(lambda self: xp.permute_dims(self, tuple(range(self.ndim))[::-1]))

    def __array_namespace__(self, *, api_version=None):
        return xp

    def __repr__(self):
        return f"{type(self).__name__}({self.dtype}{list(self.shape)} in {self._trace.name})"

    def __neg__(self):
        return apply("negative", self)

    __add__, __radd__ = xp.add, (lambda x, y: xp.add(y, x))
    __sub__, __rsub__ = xp.subtract, (lambda x, y: xp.subtract(y, x))
    __mul__, __rmul__ = xp.multiply, (lambda x, y: xp.multiply(y, x))
    __truediv__, __rtruediv__ = xp.divide, (lambda x, y: xp.divide(y, x))
    __pow__, __rpow__ = xp.pow, (lambda x, y: xp.pow(y, x))
    __matmul__, __rmatmul__ = xp.matmul, (lambda x, y: xp.matmul(y, x))
    __lt__, __le__ = xp.less, xp.less_equal
    __gt__, __ge__ = xp.greater, xp.greater_equal
    __eq__, __ne__ = xp.equal, xp.not_equal
    __invert__, __abs__ = xp.logical_not, xp.abs

    def __getitem__(self, key):
        return _index(self, key)

    def __setitem__(self, key, value):
        raise TypeError(
            f"x[...] = value on {self!r}: arrays inside {self._trace.name} cannot be changed in "
            "place; build a new one with xp.where, xp.concat or xp.stack."
        )

    def __len__(self):
        if not self.shape:
            raise TypeError(f"len() of {self!r}, which is 0-d; give an array with an axis.")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def concrete(self):
        """Return the plain array behind it, if there is one all the way down."""
        return self.value.concrete() if isinstance(self.value, Tracer) else self.value

    def no_value(self):
        """Refuse what would need one Python value."""
        raise TypeError(
            f"a Python value was asked of {self!r}, which has none there: no `if`, `while`, "
            "float() or int() on it; choose with xp.where, or pass it as a Python number."
        )

    __bool__, __float__ = (lambda x: bool(x.concrete())), (lambda x: float(x.concrete()))
    __int__, __index__ = (lambda x: int(x.concrete())), (lambda x: operator.index(x.concrete()))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            f"a NumPy function was applied to {self!r}; use the functions of "
            "xp = ps.namespace_of(x), which every backend has."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        # ndarray * tracer arrives here as well as np.exp(tracer): let what is binary through.
        name = "pow" if ufunc is np.power else ufunc.__name__
        if method == "__call__" and ufunc.nin == 2 and not kwargs and hasattr(xp, name):
            return getattr(xp, name)(*inputs)
        return self.__array__()


def is_array(x) -> bool:
    """Say whether a leaf of an argument is an array (a Python number is a constant)."""
    return isinstance(x, Tracer | np.ndarray | np.generic)


def own(values: list, given: list = ()) -> list:
    """Return the arrays, copied where they are read-only or share memory with one before."""
    taken, result = set().union(*map(_memory, given)), []
    for x in values:
        if not isinstance(x, Tracer) and (not x.flags.writeable or _memory(x) & taken):
            x = np.array(x)
        taken |= _memory(x)
        result.append(x)
    return result


def _memory(x):
    return {id(x), id(getattr(x, "base", None))} - {id(None)}


def _index(x, key):
    """x[key] for integers, slices, None, ..., and one integer array."""
    key = list(key) if isinstance(key, tuple) else [key]
    used = len([k for k in key if k is not None and k is not Ellipsis])
    if used > x.ndim:
        raise IndexError(f"{used} indices for an array of shape {x.shape}.")
    where_dots = [i for i, k in enumerate(key) if k is Ellipsis] or [len(key)]
    key[where_dots[0] : where_dots[0] + 1] = [slice(None)] * (x.ndim - used)
    slices, shape, takes, axis = [], [], [], 0
    for k in key:
        if k is None:
            shape.append(1)
            continue
        n, axis = x.shape[axis], axis + 1
        if isinstance(k, slice):
            slices.append(_static(k, n))
            shape.append(len(range(n)[k]))
        elif isinstance(k, int | np.integer) and not isinstance(k, bool):
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of range for axis {axis - 1}, length {n}.")
            slices.append((k % n, k % n + 1, 1))
        else:
            takes.append((len(shape), k))
            slices.append((0, n, 1))
            shape.append(n)
    if slices != [(0, n, 1) for n in x.shape]:
        x = apply("slice", x, slices=tuple(slices))
    x = xp.reshape(x, tuple(shape))
    if len(takes) > 1:
        raise NotImplementedError("x[i, j] with two index arrays: take along one axis at a time.")
    return xp.take(x, takes[0][1], takes[0][0]) if takes else x


def _static(k, n):
    start, stop, step = k.indices(n)
    return (0, 0, 1) if not range(n)[k] else (start, None if stop < 0 else stop, step)
