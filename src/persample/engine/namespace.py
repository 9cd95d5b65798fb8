"""The Array API functions that user code calls: ``xp = ps.namespace_of(x)`` on a tracer.

Broadcasting and type promotion are settled here, once, so that the rules of the transforms see
equal shapes and equal dtypes. Works on plain arrays and on tracers alike, by ``bind``.
"""

import builtins
import math
from string import ascii_letters

import numpy as np

from .primitives import PRIMITIVES, apply, number_in

bool, int32, int64, float32, float64 = np.bool, np.int32, np.int64, np.float32, np.float64
pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None
finfo, iinfo, result_type, arange = np.finfo, np.iinfo, np.result_type, np.arange
zeros, ones, full, eye = np.zeros, np.ones, np.full, np.eye


def __getattr__(name: str):
    """One-input primitives (exp, tanh, ...) are functions of the namespace by their name."""
    if getattr(getattr(PRIMITIVES.get(name), "numpy", None), "nin", 0) == 1:
        return lambda x: apply(name, asarray(x))
    raise AttributeError(
        f"the NumPy engine has no function {name!r}: write it with those that it has, or add "
        "a primitive as persample/engine/primitives.py shows."
    )


def constant(x):
    """Return what a trace holds for a value that is not its own: an array, or a number."""
    x = asarray(x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def asarray(x, dtype=None):
    """Return ``x`` as an array; a tracer stays what it is."""
    if hasattr(x, "_trace"):
        return x if dtype is None else astype(x, dtype)
    array = np.asarray(x, dtype)
    if array.dtype.kind not in "fiubc":
        raise TypeError(f"{type(x).__name__} {x!r:.60} is not an array of numbers; give one.")
    return array


def _promote(*values):
    """Give all inputs one dtype; a Python number takes its partners'."""
    values = [x if type(x) in (int, float, builtins.bool) else asarray(x) for x in values]
    dtype = np.result_type(*[getattr(x, "dtype", x) for x in values])
    return [asarray(x, dtype) for x in values]


def _common_shape(values):
    shapes = [x.shape for x in values]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"arrays of shapes {shapes} do not broadcast together.") from None


def _broadcast(*values):
    """Give all inputs one shape."""
    shape = _common_shape(values)
    return [broadcast_to(x, shape) for x in values]


def _elementwise(name, *values):
    """Apply an elementwise primitive: arrays get one shape, numbers stay numbers."""
    shape, numbers = _common_shape(values), [number_in(x) for x in values]
    if all(number is not None for number in numbers):
        return broadcast_to(apply(name, *numbers), shape)
    pairs = zip(values, numbers, strict=True)
    return apply(name, *[broadcast_to(x, shape) if n is None else n for x, n in pairs])


def _binary(name):
    return lambda x, y: _elementwise(name, *_promote(x, y))


add, subtract, multiply = _binary("add"), _binary("subtract"), _binary("multiply")
divide, maximum = _binary("divide"), _binary("maximum")
equal, not_equal = _binary("equal"), _binary("not_equal")
less, less_equal = _binary("less"), _binary("less_equal")


def pow(x, y):
    """Return x ** y; a square is a product."""
    number = y if isinstance(y, int | float) else number_in(y)
    return multiply(x, x) if number is not None and number == 2 else _power(x, y)


_power = _binary("power")
greater, greater_equal = (lambda x, y: less(y, x)), (lambda x, y: less_equal(y, x))
square, abs, minimum = (
    lambda x: multiply(x, x),
    lambda x: maximum(x, -x),  # derivative 0 at 0, as the tie of x and -x
    lambda x, y: -maximum(*[-z for z in _promote(x, y)]),
)
logical_not, logical_and, logical_or = (
    lambda x: equal(x, False),
    lambda x, y: multiply(astype(x, bool), astype(y, bool)),
    lambda x, y: add(astype(x, bool), astype(y, bool)),
)


def where(condition, x, y):
    """Choose from x where condition holds, else from y."""
    return _elementwise("where", asarray(condition), *_promote(x, y))


def logaddexp(x, y):
    """Return log(exp(x) + exp(y)) without overflow."""
    x, y = _promote(x, y)
    top = stop_gradient(maximum(x, y))
    return top + apply("log", apply("exp", x - top) + apply("exp", y - top))


def stop_gradient(x):
    """Return x, with derivative zero."""
    return apply("stop_gradient", asarray(x))


def full_like(x, value, dtype=None):
    """Return an array of x's shape and dtype (or another), filled with one number."""
    return np.broadcast_to(np.asarray(value, dtype or x.dtype), x.shape)


zeros_like, ones_like = (
    lambda x, dtype=None: full_like(x, 0, dtype),
    lambda x, dtype=None: full_like(x, 1, dtype),
)


def astype(x, dtype, copy=True):
    """Return x in another dtype."""
    return x if x.dtype == dtype else apply("astype", x, dtype=np.dtype(dtype))


def reshape(x, shape, copy=None):
    """Return x in another shape; one entry may be -1."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple([x.size // builtins.max(rest, 1) if n == -1 else n for n in shape])
    if math.prod(shape) != x.size:
        raise ValueError(f"reshape: {x.shape} has {x.size} elements, {shape} needs others.")
    return x if shape == x.shape else apply("reshape", x, shape=shape)


def broadcast_to(x, shape):
    """Repeat x to ``shape``, without copying."""
    x = asarray(x)
    return x if x.shape == shape else apply("broadcast_to", x, shape=tuple(shape))


def permute_dims(x, axes):
    """Return x with its axes in another order."""
    axes, order = tuple([_axis(x.ndim, a) for a in axes]), tuple(range(x.ndim))
    if tuple(sorted(axes)) != order:
        raise ValueError(f"permute_dims: {axes} does not name each axis of {x.shape} once.")
    return x if axes == order else apply("permute_dims", x, axes=axes)


def matrix_transpose(x):
    """Swap the last two axes."""
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def expand_dims(x, axis=0):
    """Insert an axis of length 1."""
    axis = _axis(x.ndim + 1, axis)
    return reshape(x, x.shape[:axis] + (1,) + x.shape[axis:])


def squeeze(x, axis):
    """Drop axes of length 1."""
    axes = _axes(x, axis)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: axes {axes} of shape {x.shape} are not all of length 1.")
    return reshape(x, tuple([n for a, n in enumerate(x.shape) if a not in axes]))


def concat(arrays, axis=0):
    """Join arrays along an axis that they have."""
    arrays = _promote(*arrays)
    return apply("concat", *arrays, axis=_axis(arrays[0].ndim, axis))


def stack(arrays, axis=0):
    """Join arrays along a new axis."""
    return concat([expand_dims(asarray(x), axis) for x in arrays], axis=axis)


def _axis(ndim, axis):
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of range for an array with {ndim} axes.")
    return axis % ndim


def _axes(x, axis):
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(sorted(_axis(x.ndim, a) for a in axes))


def _reduce(name):
    def function(x, axis=None, keepdims=False):
        x = asarray(x)
        axes = _axes(x, axis)
        reduced = apply(name, x, axes=axes) if axes else x
        kept = tuple([1 if a in axes else n for a, n in enumerate(x.shape)])
        return reshape(reduced, kept) if keepdims else reduced

    return function


sum, max = _reduce("sum"), _reduce("max")


def min(x, axis=None, keepdims=False):
    """Return the least entry along axes (all by default)."""
    return -max(-asarray(x), axis, keepdims)


def mean(x, axis=None, keepdims=False):
    """Average over axes (all by default)."""
    count = math.prod(x.shape[a] for a in _axes(x, axis))
    return divide(sum(x, axis, keepdims), float(count))


def matmul(x, y):
    """Multiply matrices as the Array API does: 1-d and up, leading axes broadcast."""
    x, y = _promote(x, y)
    if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[-2 if y.ndim > 1 else -1]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit (n,k) @ (k,m).")
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    *letters, row, inner, column = ascii_letters[: len(batch) + 3]
    x, x_batch = _batch_letters(x, batch, letters)
    y, y_batch = _batch_letters(y, batch, letters)
    row, column = row if x.ndim > len(x_batch) + 1 else "", column * (y.ndim > len(y_batch) + 1)
    out = "".join(letters) + row + column
    return einsum(f"{x_batch}{row}{inner},{y_batch}{inner}{column}->{out}", x, y)


def _batch_letters(x, batch, letters):
    """Drop leading axes of length 1 that broadcast; return the letters of those that stay."""
    own, new = x.shape[:-2], len(batch) - builtins.max(x.ndim - 2, 0)
    pairs = zip(own, letters[new:], batch[new:], strict=True)
    kept = [(n, letter) for n, letter, m in pairs if n == m]
    x = reshape(x, tuple([n for n, _ in kept]) + x.shape[len(own) :])
    return x, "".join(letter for _, letter in kept)


def einsum(subscripts, x, y):
    """Multiply two arrays and sum: every letter in one operand is in the other or the output."""
    return apply("einsum", x, y, subscripts=subscripts)


def vecdot(x, y):
    """Return the dot products along the last axis."""
    x, y = _broadcast(*_promote(x, y))
    letters = ascii_letters[: x.ndim]
    return einsum(f"{letters},{letters}->{letters[:-1]}", x, y)


def take(x, indices, axis=0):
    """Pick entries along ``axis`` with an integer array."""
    indices, axis = asarray(indices), _axis(x.ndim, axis)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"take: indices are {indices.dtype}; give integers (no masks).")
    k = indices.ndim
    rest = [a for a in range(x.ndim) if a != axis]
    taken = apply("take", permute_dims(x, (axis, *rest)), indices, batch_dims=0)
    return permute_dims(taken, (*range(k, k + axis), *range(k), *range(k + axis, k + len(rest))))


def one_hot(indices, length, dtype=np.float64):
    """Return (..., length) arrays with 1 at each index and 0 elsewhere."""
    return astype(equal(expand_dims(asarray(indices), -1), np.arange(length)), dtype)
