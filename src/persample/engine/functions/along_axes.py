"""Functions along axes: averages, counts, running sums, sorting and searching."""

import builtins
import math

import numpy as np

from ..operations import (
    asarray,
    astype,
    axes_named,
    axis_of,
    concat,
    divide,
    equal,
    less,
    less_equal,
    multiply,
    not_equal,
    reduce,
    reshape,
    subtract,
    sum,
    take,
)
from ..primitives import apply
from .elementwise import real, sqrt
from .shapes import expand_dims, flip, take_along_axis
from .zero_derivative import logical_not

# Names that namespace exports.
__all__ = ["all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod"]
__all__ += ["cumulative_sum", "diff", "isin", "mean", "prod", "searchsorted", "sort", "std", "var"]


def prod(x, /, axis=None, keepdims=False, *, dtype=None):
    """Return the product over axes (all by default); ``dtype`` converts the elements first."""
    return reduce("prod", x if dtype is None else astype(x, dtype), axis, keepdims)


def mean(x, /, axis=None, keepdims=False):
    """Return the mean over axes (all by default), in float64 for integers."""
    x = real(asarray(x))
    count = math.prod(x.shape[a] for a in axes_named(x, axis))
    return divide(sum(x, axis, keepdims), float(count))


def var(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Return the variance over axes (all by default), with divisor size - ``correction``."""
    x = real(asarray(x))
    count = math.prod(x.shape[a] for a in axes_named(x, axis))
    off = subtract(x, mean(x, axis, keepdims=True))
    divisor = builtins.max(float(count - correction), 0.0)
    return divide(sum(multiply(off, off), axis, keepdims), divisor)


def std(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Return the square root of `var`; the derivative is NaN where the variance is 0."""
    return sqrt(var(x, axis, correction=correction, keepdims=keepdims))


def count_nonzero(x, /, axis=None, keepdims=False):
    """Return the number of nonzero elements over axes (all by default), as int64."""
    return sum(astype(not_equal(x, 0), np.int64), axis, keepdims)


def any(x, /, axis=None, keepdims=False):
    """Return whether any element is true, over axes (all by default)."""
    return less(0, count_nonzero(x, axis, keepdims))


def all(x, /, axis=None, keepdims=False):
    """Return whether all elements are true, over axes (all by default)."""
    return logical_not(any(logical_not(x), axis, keepdims))


def _one_axis(where, x, axis):
    """Return x as an array, and ``axis`` counted from 0; None is allowed for a 1-d x."""
    x = asarray(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{where}: an array of shape {x.shape} needs an axis; give axis=.")
    return x, axis_of(x.ndim, 0 if axis is None else axis)


def _cumulative(name, first, x, axis, dtype, include_initial):
    x, axis = _one_axis(name, x if dtype is None else astype(x, dtype), axis)
    running = apply(name, x, axis=axis)
    if not include_initial:
        return running
    start = np.full(x.shape[:axis] + (1,) + x.shape[axis + 1 :], first, running.dtype)
    return concat([start, running], axis=axis)


def cumulative_sum(x, /, axis=None, *, dtype=None, include_initial=False):
    """Return the running sums along an axis; ``include_initial`` puts a 0 before them."""
    return _cumulative("cumulative_sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, axis=None, *, dtype=None, include_initial=False):
    """Return the running products along an axis; ``include_initial`` puts a 1 before them."""
    return _cumulative("cumulative_prod", 1, x, axis, dtype, include_initial)


def diff(x, /, axis=-1, *, n=1, prepend=None, append=None):
    """Return the n-th differences along an axis, after joining ``prepend``, x and ``append``."""
    x = asarray(x)
    axis = axis_of(x.ndim, axis)
    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * axis
    for _ in range(n):
        x = subtract(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x


def _arg(name, x, axis, keepdims):
    x = asarray(x)
    whole = x.ndim if axis is None else 1
    flat = reshape(x, (-1,)) if axis is None else x
    axis = 0 if axis is None else axis_of(x.ndim, axis)
    place = apply(name, flat, axis=axis)
    if not keepdims:
        return place
    return reshape(place, x.shape[:axis] + (1,) * whole + x.shape[axis + whole :])


def argmax(x, /, axis=None, *, keepdims=False):
    """Return the index of the first largest element along an axis, by default in flattened x."""
    return _arg("argmax", x, axis, keepdims)


def argmin(x, /, axis=None, *, keepdims=False):
    """Return the index of the first smallest element along an axis, by default in flattened x."""
    return _arg("argmin", x, axis, keepdims)


def argsort(x, /, axis=-1, *, descending=False, stable=True):
    """Return the indices that sort x along an axis; equal elements keep their order."""
    x = asarray(x)
    axis = axis_of(x.ndim, axis)
    if not descending:
        return apply("argsort", x, axis=axis)
    order = apply("argsort", flip(x, axis=axis), axis=axis)
    return subtract(x.shape[axis] - 1, flip(order, axis=axis))


def sort(x, /, axis=-1, *, descending=False, stable=True):
    """Return x sorted along an axis, from small to large unless ``descending``."""
    x = asarray(x)
    return take_along_axis(x, argsort(x, axis, descending=descending), axis=axis)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Return the index at which to insert each element of x2 into the sorted 1-d x1.

    That is before equal elements (``side="left"``) or after them ("right"); ``sorter`` holds
    indices that sort x1.
    """
    x1, x2 = asarray(x1), asarray(x2)
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted: side is {side!r}; give "left" or "right".')
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: shape {x1.shape} to search in; give one axis.")
    x1, x2 = (x1 if sorter is None else take(x1, sorter)), expand_dims(x2, -1)
    behind = less_equal(x2, x1) if side == "left" else less(x2, x1)
    return count_nonzero(logical_not(behind), axis=-1)


def isin(x1, x2, /, *, invert=False):
    """Return whether each element of x1 occurs in x2 or, with ``invert``, does not."""
    found = any(equal(expand_dims(x1, -1), reshape(x2, (-1,))), axis=-1)
    return logical_not(found) if invert else found
