"""Tracer: the base class of arrays inside a transform, with Python's operators and indexing.

An operator calls a function of the namespace; indexing becomes static slices and a ``take`` for
each index array. Unsupported uses (a change in place, conversion to a NumPy array or, under vmap
and jit, to a Python bool) raise an error with the code to use instead.
"""

import math
import operator
from functools import cache

import numpy as np

from . import namespace as xp
from .indexing import index

# Attributes of NumPy's arrays that tracers lack, and what to use in their place.
INSTEAD = {
    "cumsum": "xp.cumulative_sum(x)",
    "cumprod": "xp.cumulative_prod(x)",
    "diagonal": "xp.linalg.diagonal(x)",
    "fill": "xp.full_like(x, value)",
    "item": "x itself, or float(stop_gradient(x)) for a Python number",
    "swapaxes": "xp.moveaxis(x, source, destination)",
    "tolist": "xp.unstack(x)",
}


@cache
def answers():
    """Return the module `numpy_functions`, imported on first use to keep the import fast."""
    from . import numpy_functions

    return numpy_functions


class Tracer:
    """An array inside a transform. Subclasses define ``value``: an array or an outer tracer."""

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

    def __getattr__(self, name):
        if name.startswith("_"):  # a protocol that is being probed
            raise AttributeError(name)
        instead = INSTEAD.get(name) or (f"xp.{name}(x)" if hasattr(xp, name) else "the functions")
        instead = f"np.{name}(x), or {instead}" if name in answers().ANSWERS else instead
        raise AttributeError(
            f"x.{name} with x = {self!r}: arrays inside {self._trace.name} have no {name}; use "
            f"{instead} of xp = ps.array_namespace(x)."
        )

    __add__, __radd__ = xp.add, (lambda x, y: xp.add(y, x))
    __sub__, __rsub__ = xp.subtract, (lambda x, y: xp.subtract(y, x))
    __mul__, __rmul__ = xp.multiply, (lambda x, y: xp.multiply(y, x))
    __truediv__, __rtruediv__ = xp.divide, (lambda x, y: xp.divide(y, x))
    __pow__, __rpow__ = xp.pow, (lambda x, y: xp.pow(y, x))
    __matmul__, __rmatmul__ = xp.matmul, (lambda x, y: xp.matmul(y, x))
    __floordiv__, __rfloordiv__ = xp.floor_divide, (lambda x, y: xp.floor_divide(y, x))
    __mod__, __rmod__ = xp.remainder, (lambda x, y: xp.remainder(y, x))
    __and__, __rand__ = xp.bitwise_and, (lambda x, y: xp.bitwise_and(y, x))
    __or__, __ror__ = xp.bitwise_or, (lambda x, y: xp.bitwise_or(y, x))
    __xor__, __rxor__ = xp.bitwise_xor, (lambda x, y: xp.bitwise_xor(y, x))
    __lshift__, __rlshift__ = xp.bitwise_left_shift, (lambda x, y: xp.bitwise_left_shift(y, x))
    __rshift__, __rrshift__ = xp.bitwise_right_shift, (lambda x, y: xp.bitwise_right_shift(y, x))
    __lt__, __le__ = xp.less, xp.less_equal
    __gt__, __ge__ = xp.greater, xp.greater_equal
    __eq__, __ne__ = xp.equal, xp.not_equal
    __neg__, __pos__, __abs__, __invert__ = xp.negative, xp.positive, xp.abs, xp.bitwise_invert

    def __divmod__(self, other):
        return xp.floor_divide(self, other), xp.remainder(self, other)

    def __rdivmod__(self, other):
        return xp.floor_divide(other, self), xp.remainder(other, self)

    # The methods that arrays of NumPy, PyTorch and JAX share, and no more: the rest is in xp.
    sum, mean, prod, var, std = xp.sum, xp.mean, xp.prod, xp.var, xp.std
    max, min, argmax, argmin = xp.max, xp.min, xp.argmax, xp.argmin
    all, any, clip, round, squeeze = xp.all, xp.any, xp.clip, xp.round, xp.squeeze
    astype, copy, dot = xp.astype, xp.positive, xp.matmul
    device = "cpu"

    def reshape(self, *shape):
        """Return the array in another shape, given as one tuple or as separate integers."""
        return xp.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes):
        """Return the array with its axes in the given order (a tuple or integers), or reversed."""
        axes = axes[0] if len(axes) == 1 and axes[0] is not None else axes
        given = axes and axes != (None,)
        return xp.permute_dims(self, axes if given else range(self.ndim)[::-1])

    def flatten(self):
        """Return the array reshaped to one axis."""
        return xp.reshape(self, (-1,))

    ravel = flatten

    def __getitem__(self, key):
        return index(self, key)

    def __setitem__(self, key, value):
        raise TypeError(
            f"x[...] = value on {self!r}: arrays inside {self._trace.name} cannot be changed in "
            "place; build a new one with xp.where, xp.concat or xp.stack."
        )

    def __format__(self, spec):
        return format(self.concrete().item() if spec else repr(self), spec)

    def __len__(self):
        if not self.shape:
            raise TypeError(f"len() of {self!r}, which is 0-d; give an array with an axis.")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def concrete(self):
        """Return the array inside nested tracers; raise TypeError if one is staged or batched."""
        return self.value.concrete() if isinstance(self.value, Tracer) else self.value

    def no_value(self):
        """Raise TypeError: a tracer of jit, or a batched one of vmap, has no Python value."""
        raise TypeError(
            f"a Python value was asked of {self!r}, which has none there: no `if`, `while`, "
            "float() or int() on it; choose with xp.where, or pass it as a Python number."
        )

    __bool__, __float__ = (lambda x: bool(x.concrete())), (lambda x: float(x.concrete()))
    __int__, __index__ = (lambda x: int(x.concrete())), (lambda x: operator.index(x.concrete()))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            f"NumPy was to make an array of {self!r}, which would end {self._trace.name} there; "
            "write np.stack([a, b]) for np.array([a, b]), x for np.asarray(x), np.dot(a, x) for "
            "a.dot(x), np.where or np.concatenate for a[i] = x."
        )

    # NumPy calls the first for np.sum(x), the second for np.exp(x) and ndarray * x.
    def __array_function__(self, function, types, args, kwargs):
        return answers().answer_function(self, function, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return answers().answer_ufunc(self, ufunc, method, inputs, kwargs)


def is_array(x) -> bool:
    """Return whether x is a tracer, a NumPy array or a NumPy scalar (not a Python number)."""
    return isinstance(x, Tracer | np.ndarray | np.generic)


def plain(x):
    """Return an array as an ndarray or a NumPy scalar; a tracer stays a tracer.

    Raise TypeError for masked arrays, np.matrix, and arrays that do not hold real numbers.
    """
    own = type(x) is np.ndarray or isinstance(x, np.generic)
    return x if own and x.dtype.kind in "fiub" else xp.asarray(x)


def unshared(values: list, given: list = ()) -> list:
    """Return the values as a list; arrays that are read-only or share memory are copied.

    A caller may then write to each result: none shares memory with another or with ``given``. A
    NumPy scalar, which is read-only, becomes a 0-d array. Tracers are not copied.
    """
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    taken = set().union(*map(_memory_ids, arrays))
    result = []
    for x in values:
        if not isinstance(x, Tracer):
            x = np.array(x) if not x.flags.writeable or _memory_ids(x) & taken else x
            taken |= _memory_ids(x)
        result.append(x)
    return result


def _memory_ids(x):
    """Return the set of the ids of an array and, if it is a view, of the owner of its memory.

    NumPy sets ``base`` of every view to that owner.
    """
    return {id(x), id(x.base)} - {id(None)}
