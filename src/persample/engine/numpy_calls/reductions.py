"""Sums, means, extremes, counts and running sums, with and without NaN."""

import math

from .. import namespace as xp
from ..functions.elementwise import real
from ..operations import axes_named, promote
from . import Fixed, refuse


def _begun(f, total, initial):
    return total if initial is None else f(total, xp.asarray(initial, total.dtype))


def _as(x, dtype):
    return x if dtype is None else xp.astype(x, dtype)


def sum(a, axis=None, dtype=None, out: Fixed = None, keepdims=False, initial=None, where=True):
    x = a if where is True else xp.where(where, a, 0)
    return _begun(xp.add, xp.sum(x, axis, keepdims, dtype=dtype), initial)


def prod(a, axis=None, dtype=None, out: Fixed = None, keepdims=False, initial=None, where=True):
    x = a if where is True else xp.where(where, a, 1)
    return _begun(xp.multiply, xp.prod(x, axis, keepdims, dtype=dtype), initial)


def _extreme(name, a, axis, keepdims, initial, where):
    if where is not True and initial is None:
        refuse(name, "where= was given without initial=", "give initial= as well")
    x = a if where is True else xp.where(where, a, xp.asarray(initial, a.dtype))
    both = xp.maximum if name == "max" else xp.minimum
    return _begun(both, getattr(xp, name)(x, axis, keepdims), initial)


def max(a, axis=None, out: Fixed = None, keepdims=False, initial=None, where=True):
    return _extreme("max", a, axis, keepdims, initial, where)


def min(a, axis=None, out: Fixed = None, keepdims=False, initial=None, where=True):
    return _extreme("min", a, axis, keepdims, initial, where)


def ptp(a, axis=None, out: Fixed = None, keepdims=False):
    return xp.subtract(xp.max(a, axis, keepdims), xp.min(a, axis, keepdims))


def all(a, axis=None, out: Fixed = None, keepdims=False, *, where=True):
    holds = a if where is True else xp.logical_or(a, xp.logical_not(where))
    return xp.all(holds, axis, keepdims)


def any(a, axis=None, out: Fixed = None, keepdims=False, *, where=True):
    holds = a if where is True else xp.logical_and(a, where)
    return xp.any(holds, axis, keepdims)


def count_nonzero(a, axis=None, *, keepdims=False):
    return xp.count_nonzero(a, axis, keepdims)


def _mean_of(x, counted, axis, keepdims):
    """Average the elements that are counted."""
    total = xp.sum(xp.where(counted, x, 0.0), axis, keepdims)
    many = xp.sum(xp.broadcast_to(xp.astype(counted, x.dtype), x.shape), axis, keepdims)
    return xp.divide(total, many)


def mean(a, axis=None, dtype=None, out: Fixed = None, keepdims=False, *, where=True):
    x = real(_as(a, dtype))
    if where is True:
        return xp.mean(x, axis, keepdims)
    return _mean_of(x, xp.asarray(where), axis, keepdims)


def var(
    a,
    axis=None,
    dtype=None,
    out: Fixed = None,
    ddof=0,
    keepdims=False,
    *,
    where: Fixed = True,
    mean: Fixed = None,
    correction=None,
):
    ddof = ddof if correction is None else correction
    return xp.var(_as(a, dtype), axis, correction=ddof, keepdims=keepdims)


def std(
    a,
    axis=None,
    dtype=None,
    out: Fixed = None,
    ddof=0,
    keepdims=False,
    *,
    where: Fixed = True,
    mean: Fixed = None,
    correction=None,
):
    ddof = ddof if correction is None else correction
    return xp.std(_as(a, dtype), axis, correction=ddof, keepdims=keepdims)


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    x = real(a)
    if weights is None:
        mean, many = xp.mean(x, axis, keepdims), math.prod(x.shape[i] for i in axes_named(x, axis))
        return (mean, xp.full_like(mean, many)) if returned else mean
    weights = xp.asarray(weights)
    if weights.ndim == 1 and x.ndim > 1 and isinstance(axis, int):
        weights = xp.moveaxis(xp.reshape(weights, (-1,) + (1,) * (x.ndim - 1)), 0, axis)
    elif weights.shape != x.shape:
        refuse(
            "average",
            f"weights of shape {weights.shape} for an array of shape {x.shape}",
            "give weights of that shape, or a vector and the axis that it goes along",
        )
    x, weights = promote(x, weights)
    total = xp.sum(xp.broadcast_to(weights, x.shape), axis, keepdims)
    mean = xp.divide(xp.sum(xp.multiply(x, weights), axis, keepdims), total)
    return (mean, total) if returned else mean


def argmax(a, axis=None, out: Fixed = None, *, keepdims=False):
    return xp.argmax(a, axis, keepdims=keepdims)


def argmin(a, axis=None, out: Fixed = None, *, keepdims=False):
    return xp.argmin(a, axis, keepdims=keepdims)


def _along(a, axis):
    return (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def cumsum(a, axis=None, dtype=None, out: Fixed = None):
    a, axis = _along(a, axis)
    return xp.cumulative_sum(a, axis=axis, dtype=dtype)


def cumprod(a, axis=None, dtype=None, out: Fixed = None):
    a, axis = _along(a, axis)
    return xp.cumulative_prod(a, axis=axis, dtype=dtype)


def cumulative_sum(x, /, *, axis=None, dtype=None, out: Fixed = None, include_initial=False):
    return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, out: Fixed = None, include_initial=False):
    return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


# Without the elements that are NaN ---------------------------------------------------------------


def _filled(a, value):
    """Return a with a number in place of every NaN; integers have none."""
    return xp.where(xp.isnan(a), value, a) if a.dtype.kind == "f" else a


def nansum(a, axis=None, dtype=None, out: Fixed = None, keepdims=False, initial=None, where=True):
    return sum(_filled(a, 0.0), axis, dtype, None, keepdims, initial, where)


def nanprod(a, axis=None, dtype=None, out: Fixed = None, keepdims=False, initial=None, where=True):
    return prod(_filled(a, 1.0), axis, dtype, None, keepdims, initial, where)


def nancumsum(a, axis=None, dtype=None, out: Fixed = None):
    return cumsum(_filled(a, 0.0), axis, dtype)


def nancumprod(a, axis=None, dtype=None, out: Fixed = None):
    return cumprod(_filled(a, 1.0), axis, dtype)


def _nan_extreme(f, a, axis, keepdims, worst):
    if a.dtype.kind != "f":
        return f(a, axis, keepdims)
    empty = xp.all(xp.isnan(a), axis, keepdims)
    return xp.where(empty, xp.nan, f(_filled(a, worst), axis, keepdims))


def nanmax(
    a, axis=None, out: Fixed = None, keepdims=False, initial: Fixed = None, where: Fixed = True
):
    return _nan_extreme(xp.max, a, axis, keepdims, -xp.inf)


def nanmin(
    a, axis=None, out: Fixed = None, keepdims=False, initial: Fixed = None, where: Fixed = True
):
    return _nan_extreme(xp.min, a, axis, keepdims, xp.inf)


def nanmean(a, axis=None, dtype=None, out: Fixed = None, keepdims=False, *, where=True):
    x = real(_as(a, dtype))
    return _mean_of(x, xp.logical_and(xp.logical_not(xp.isnan(x)), where), axis, keepdims)


def nanvar(
    a,
    axis=None,
    dtype=None,
    out: Fixed = None,
    ddof=0,
    keepdims=False,
    *,
    where: Fixed = True,
    mean: Fixed = None,
    correction=None,
):
    ddof, x = ddof if correction is None else correction, real(_as(a, dtype))
    there = xp.logical_not(xp.isnan(x))
    off = xp.where(there, xp.subtract(x, _mean_of(x, there, axis, True)), 0.0)
    many = xp.subtract(xp.sum(xp.astype(there, x.dtype), axis, keepdims), float(ddof))
    many = xp.where(xp.less(0.0, many), many, xp.nan)
    return xp.divide(xp.sum(xp.multiply(off, off), axis, keepdims), many)


def nanstd(
    a,
    axis=None,
    dtype=None,
    out: Fixed = None,
    ddof=0,
    keepdims=False,
    *,
    where: Fixed = True,
    mean: Fixed = None,
    correction=None,
):
    return xp.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, correction=correction))


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"all": all, "any": any, "sum": sum, "prod": prod, "count_nonzero": count_nonzero},
    **{"max": max, "min": min, "amax": max, "amin": min, "ptp": ptp},
    **{"mean": mean, "average": average, "var": var, "std": std},
    **{"argmax": argmax, "argmin": argmin},
    **{"cumsum": cumsum, "cumprod": cumprod},
    **{"cumulative_sum": cumulative_sum, "cumulative_prod": cumulative_prod},
    **{"nansum": nansum, "nanprod": nanprod, "nancumsum": nancumsum, "nancumprod": nancumprod},
    **{"nanmax": nanmax, "nanmin": nanmin, "nanmean": nanmean, "nanvar": nanvar},
    "nanstd": nanstd,
}
