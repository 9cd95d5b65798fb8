"""The operations that rules and tracers are written in: arithmetic, shapes, sums, products.

Broadcasting and type promotion happen only here, so that the transforms' rules see equal shapes
and equal dtypes. All operations work on arrays and on tracers, through ``bind``. The rest of the
Array API is derived from them, in ``functions``; ``namespace`` lists it all.
"""

import builtins
import math
import operator
from string import ascii_letters

import numpy as np

from .primitives import apply

# Names that namespace exports.
__all__ = ["add", "asarray", "astype", "broadcast_to", "concat", "divide", "equal", "less"]
__all__ += ["less_equal", "matmul", "max", "maximum", "min", "minimum", "multiply", "negative"]
__all__ += ["not_equal", "permute_dims", "pow", "reshape", "stop_gradient", "subtract", "sum"]
__all__ += ["take", "where"]


def asarray(x, /, dtype=None, *, device=None, copy=None):
    """Return x as an array; a tracer stays one. Raise TypeError unless it holds real numbers."""
    if device not in (None, "cpu"):
        raise ValueError(f'asarray: no device {device!r}; the NumPy engine has "cpu" only.')
    if hasattr(x, "_trace"):
        return x if dtype is None else astype(x, dtype)
    if isinstance(x, np.ma.MaskedArray | np.matrix):
        raise TypeError(
            f"asarray: a {type(x).__name__} has rules of its own, which would be lost; give "
            "x.filled(value), or np.asarray(x)."
        )
    array = np.asarray(x, dtype, copy=copy)
    if array.dtype.kind == "c":
        raise TypeError(
            f"{type(x).__name__} {x!r:.60} is complex; the NumPy engine computes with real "
            "numbers: give real and imaginary parts as two arrays."
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{type(x).__name__} {x!r:.60} is not an array of numbers; give one.")
    return array


def promote(*values):
    """Return the inputs as a list of arrays of their common dtype under NumPy promotion."""
    values = [x if type(x) in (int, float, builtins.bool) else asarray(x) for x in values]
    dtype = np.result_type(*[getattr(x, "dtype", x) for x in values])
    return [asarray(x, dtype) for x in values]


def constant(x):
    """Return a value from outside a trace as an array, as traces store constants.

    A 0-d array becomes a NumPy scalar, which rules need not broadcast.
    """
    x = asarray(x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def only_number(x):
    """Return the one value of a uniform array as a NumPy scalar, else None (also for a tracer).

    An array counts as uniform if it is 0-d, has one element, or is a broadcast of one element, as
    ``xp.zeros_like`` makes it (all strides are 0). Values are not compared:
    ``np.zeros(3)`` gives None.
    """
    if isinstance(x, np.generic):
        return x
    if not isinstance(x, np.ndarray) or x.size == 0:
        return None  # a tracer is a variable, also if it is 0-d
    if any(n > 1 and step for n, step in zip(x.shape, x.strides, strict=True)):
        return None
    return x.flat[0]


def snapshot(x, before=None):
    """Return a read-only copy of x in its own memory; axes of stride 0 stay broadcast.

    ``before`` is an earlier copy or None; if it has the same values, it is returned.
    """
    if before is not None and np.array_equal(x, before, equal_nan=True):
        return before
    if isinstance(x, np.generic):
        return x
    once = x[tuple([slice(None) if step else slice(1) for step in x.strides])]
    return np.broadcast_to(np.array(once), x.shape)


def _common_shape(values):
    shapes = [x.shape for x in values]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"arrays of shapes {shapes} do not broadcast together.") from None


def broadcast(*values):
    """Return the arrays as a list, broadcast to their common shape."""
    shape = _common_shape(values)
    return [broadcast_to(x, shape) for x in values]


def elementwise(name, *values):
    """Broadcast arrays and apply an elementwise primitive; uniform constants go in as scalars."""
    shape, numbers = _common_shape(values), [only_number(x) for x in values]
    if all(number is not None for number in numbers):
        return broadcast_to(apply(name, *numbers), shape)
    pairs = zip(values, numbers, strict=True)
    return apply(name, *[broadcast_to(x, shape) if n is None else n for x, n in pairs])


def titled(function, name, doc):
    """Set the name and the docstring of a function, and return it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def binary(name, doc, settle=promote):
    """Return the function of (x1, x2) that applies the elementwise primitive of this name.

    ``doc`` is its docstring; ``settle(x1, x2)`` converts both to arrays of one dtype.
    """

    def function(x1, x2, /):
        return elementwise(name, *settle(x1, x2))

    return titled(function, name, doc)


add = binary("add", "Return x1 + x2 for each element.")
subtract = binary("subtract", "Return x1 - x2 for each element.")
multiply = binary("multiply", "Return x1 * x2 for each element.")
divide = binary("divide", "Return x1 / x2 for each element, in float64 for integers.")
maximum = binary("maximum", "Return the larger of x1 and x2; in a tie both derivatives are 1/2.")
minimum = binary("minimum", "Return the smaller of x1 and x2; in a tie both derivatives are 1/2.")
equal = binary("equal", "Return x1 == x2 for each element.")
not_equal = binary("not_equal", "Return x1 != x2 for each element.")
less = binary("less", "Return x1 < x2 for each element.")
less_equal = binary("less_equal", "Return x1 <= x2 for each element.")


def pow(x1, x2, /):
    """Return x1 ** x2 for each element; with a constant x2 of 2 it computes x1 * x1."""
    x, y = promote(x1, x2)
    if only_number(y) == 2:
        return broadcast_to(multiply(x, x), _common_shape([x, y]))
    return elementwise("power", x, y)


def where(condition, x1, x2, /):
    """Return the elements of x1 where condition holds, else those of x2."""
    return elementwise("where", asarray(condition), *promote(x1, x2))


def negative(x, /):
    """Return -x for each element."""
    return apply("negative", asarray(x))


def stop_gradient(x, /):
    """Return x; its derivative is taken to be zero."""
    return apply("stop_gradient", asarray(x))


def astype(x, dtype, /, *, copy=True, device=None):
    """Return x converted to ``dtype``, or x itself if it has that dtype, for any ``copy``."""
    x = asarray(x, device=device)
    return x if x.dtype == dtype else apply("astype", x, dtype=np.dtype(dtype))


def reshape(x, /, shape, *, copy=None):
    """Return x in another shape; one length may be -1, which is inferred from the size."""
    x = asarray(x)
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if shape.count(-1) > 1:
        raise ValueError(f"reshape: {shape} leaves two lengths open; give all but one.")
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple([x.size // builtins.max(rest, 1) if n == -1 else n for n in shape])
    if math.prod(shape) != x.size:
        raise ValueError(f"reshape: {x.shape} has {x.size} elements, {shape} needs others.")
    return x if shape == x.shape else apply("reshape", x, shape=shape)


def broadcast_to(x, /, shape):
    """Broadcast x to ``shape``, without copying."""
    x, shape = asarray(x), tuple(shape)
    if x.shape == shape:
        return x
    axes = zip(x.shape[::-1], shape[::-1], strict=False)
    if x.ndim > len(shape) or any(n not in (1, m) for n, m in axes):
        raise ValueError(f"broadcast_to: an array of shape {x.shape} does not fill {shape}.")
    return apply("broadcast_to", x, shape=shape)


def permute_dims(x, /, axes):
    """Return x with its axes in the order ``axes``."""
    x = asarray(x)
    axes, order = tuple([axis_of(x.ndim, a) for a in axes]), tuple(range(x.ndim))
    if tuple(sorted(axes)) != order:
        raise ValueError(f"permute_dims: {axes} does not name each axis of {x.shape} once.")
    return x if axes == order else apply("permute_dims", x, axes=axes)


def concat(arrays, /, *, axis=0):
    """Join arrays along an existing axis; ``axis=None`` flattens them first."""
    if not len(arrays):
        raise ValueError("concat: there are no arrays to join; give at least one.")
    arrays = promote(*arrays)
    if axis is None:
        arrays, axis = [reshape(x, (-1,)) for x in arrays], 0
    axis = axis_of(arrays[0].ndim, axis)
    others = [x.shape[:axis] + x.shape[axis + 1 :] for x in arrays]
    if any(shape != others[0] for shape in others) or any(x.ndim == 0 for x in arrays):
        raise ValueError(
            f"concat: shapes {[x.shape for x in arrays]} differ in more than axis {axis}."
        )
    return apply("concat", *arrays, axis=axis)


def axis_of(ndim, axis):
    """Return ``axis``, which may be negative, counted from 0; raise ValueError if out of range."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of range for an array with {ndim} axes.")
    return axis % ndim


def axes_named(x, axis):
    """Return ``axis`` (an axis of x, several, or None: all) as a sorted tuple, counted from 0."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = sorted(axis_of(x.ndim, a) for a in axes)
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis {axis} names an axis of shape {x.shape} twice.")
    return tuple(axes)


def reduce(name, x, axis, keepdims):
    """Reduce x over ``axis`` by the primitive ``name``; ``keepdims`` keeps axes with length 1."""
    x = asarray(x)
    axes = axes_named(x, axis)
    reduced = apply(name, x, axes=axes)
    kept = tuple([1 if a in axes else n for a, n in enumerate(x.shape)])
    return reshape(reduced, kept) if keepdims else reduced


def sum(x, /, axis=None, keepdims=False, *, dtype=None):
    """Return the sum over axes (all by default); ``dtype`` converts the elements first."""
    return reduce("sum", x if dtype is None else astype(x, dtype), axis, keepdims)


def max(x, /, axis=None, keepdims=False):
    """Return the largest element over axes (all by default); ties share the derivative evenly."""
    return reduce("max", x, axis, keepdims)


def min(x, /, axis=None, keepdims=False):
    """Return the smallest element over axes (all by default); ties share the derivative evenly."""
    return reduce("min", x, axis, keepdims)


def undo_reduce(x, like, axes):
    """Broadcast x, which was reduced over ``axes``, to the shape of ``like``."""
    kept = tuple([1 if a in axes else n for a, n in enumerate(like.shape)])
    return broadcast_to(reshape(x, kept), like.shape)


def matmul(x1, x2, /):
    """Return the product of matrices or vectors (1-d arrays); leading axes broadcast."""
    x, y = promote(x1, x2)
    if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[-2 if y.ndim > 1 else -1]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit (n,k) @ (k,m).")
    # (7, 1, 2, 3) @ (5, 3, 4) has the shape (7, 5, 2, 4): its batch is (7, 5), with the letters
    # a and b; x has only a (its axis of length 1 is dropped), y only b: "acd,bde->abce".
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    *letters, row, inner, column = ascii_letters[: len(batch) + 3]
    if x.ndim == 1:
        row = ""
    if y.ndim == 1:
        column = ""
    x, x_batch = _batch_letters(x, batch, letters)
    y, y_batch = _batch_letters(y, batch, letters)
    out = "".join(letters) + row + column
    return product(f"{x_batch}{row}{inner},{y_batch}{inner}{column}->{out}", x, y)


def _batch_letters(x, batch, letters):
    """Drop batch axes of x that broadcast to ``batch``; return x and the letters of the others."""
    own, new = x.shape[:-2], len(batch) - builtins.max(x.ndim - 2, 0)
    pairs = zip(own, letters[new:], batch[new:], strict=True)
    kept = [(n, letter) for n, letter, m in pairs if n == m]
    x = reshape(x, tuple([n for n, _ in kept]) + x.shape[len(own) :])
    return x, "".join(letter for _, letter in kept)


def product(subscripts, x1, x2):
    """Return the ``einsum`` of two arrays by the primitive of that name.

    Each letter of an operand must occur in the other or in the output, at most once in each.
    """
    return apply("einsum", *promote(x1, x2), subscripts=subscripts)


def take(x, indices, /, *, axis=None):
    """Return the entries at ``indices``, whose shape replaces ``axis`` (optional if x is 1-d)."""
    x = asarray(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: an array of shape {x.shape} needs an axis; give axis=.")
    axis = axis_of(x.ndim, 0 if axis is None else axis)
    indices = index_array("take", indices)
    k = indices.ndim
    rest = [a for a in range(x.ndim) if a != axis]
    taken = apply("take", permute_dims(x, (axis, *rest)), indices, batch_dims=0)
    return permute_dims(taken, (*range(k, k + axis), *range(k), *range(k + axis, k + len(rest))))


def index_array(where, indices):
    """Return indices as an array; raise TypeError, prefixed with ``where``, unless integers."""
    indices = asarray(indices)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{where}: indices are {indices.dtype}; give integers (no masks).")
    return indices
