"""Sums, means, running sums, order and quantiles."""

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real, real_pair
from . import refuse


def along(a, axis):
    """Return an array and the axis to go along: all elements in a row where it is None."""
    return (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def sum(a, /, axis=None, dtype=None, keepdims=False, where=True):
    x = a if where is True else xp.where(where, a, 0)
    return xp.sum(x, axis, keepdims, dtype=dtype)


def mean(a, /, axis=None, keepdims=False, where=True):
    x = real(a)
    return xp.mean(x, axis, keepdims) if where is True else _mean_of(x, where, axis, keepdims)


def _mean_of(x, counted, axis, keepdims):
    """Average the elements that are counted."""
    total = xp.sum(xp.where(counted, x, 0.0), axis, keepdims)
    counted = xp.broadcast_to(xp.astype(counted, x.dtype), x.shape)
    return xp.divide(total, xp.sum(counted, axis, keepdims))


def var(a, /, axis=None, ddof=0, keepdims=False, correction=None):
    correction = ddof if correction is None else correction
    return xp.var(a, axis, correction=correction, keepdims=keepdims)


def std(a, /, axis=None, ddof=0, keepdims=False, correction=None):
    return xp.sqrt(var(a, axis, ddof, keepdims, correction))


def ptp(a, /, axis=None, keepdims=False):
    return xp.subtract(xp.max(a, axis, keepdims), xp.min(a, axis, keepdims))


def average(a, /, axis=None, weights=None, keepdims=False):
    if weights is None:
        return xp.mean(a, axis, keepdims)
    x, weights = real_pair(a, weights)
    if weights.ndim == 1 and x.ndim > 1 and isinstance(axis, int):
        weights = xp.moveaxis(xp.reshape(weights, (-1,) + (1,) * (x.ndim - 1)), 0, axis)
    elif weights.shape != x.shape:
        refuse(
            "average",
            f"weights of shape {weights.shape} for an array of shape {x.shape}",
            "give weights of that shape, or a vector and the axis that it goes along",
        )
    total = xp.sum(xp.broadcast_to(weights, x.shape), axis, keepdims)
    return xp.divide(xp.sum(xp.multiply(x, weights), axis, keepdims), total)


def cumsum(a, /, axis=None, dtype=None):
    return xp.cumulative_sum(*along(a, axis), dtype=dtype)


def cumprod(a, /, axis=None, dtype=None):
    return xp.cumulative_prod(*along(a, axis), dtype=dtype)


def nansum(a, /, axis=None, keepdims=False):
    return sum(a, axis, None, keepdims, where=xp.logical_not(xp.isnan(a)))


def nanmean(a, /, axis=None, keepdims=False):
    return mean(a, axis, keepdims, where=xp.logical_not(xp.isnan(a)))


def sort(a, /, axis=-1):
    """Whatever ``kind`` is, the sort is stable, which each kind allows."""
    return xp.sort(*along(a, axis))


def argsort(a, /, axis=-1):
    """Whatever ``kind`` is, equal elements keep their order."""
    return xp.argsort(*along(a, axis))


def quantile(a, /, q, axis=None):
    x, axis = along(real(a), axis)
    x = xp.sort(xp.moveaxis(x, axis, -1), -1)
    place = np.asarray(q, np.float64) * (x.shape[-1] - 1)
    if not np.all((place >= 0) & (place <= x.shape[-1] - 1)):
        raise ValueError(
            "np.quantile: q has a number outside of [0, 1] (np.percentile: outside of [0, 100]); "
            "give quantiles there."
        )
    low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
    below, above = xp.take(x, low, axis=-1), xp.take(x, high, axis=-1)
    share = place - low if place.ndim else float(place - low)  # a number takes x's dtype
    between = xp.add(below, xp.multiply(xp.subtract(above, below), share))
    last = xp.take(x, np.full(place.shape, -1), axis=-1)  # NaN if there is one
    between = xp.where(xp.isnan(last), xp.nan, between)
    return xp.moveaxis(between, -1, 0) if place.ndim else between


def percentile(a, /, q, axis=None):
    return quantile(a, np.asarray(q) / 100.0, axis)


def median(a, /, axis=None):
    return quantile(a, 0.5, axis)


def logsumexp(a, /, axis=None, keepdims=False):
    """What ``np.logaddexp.reduce`` gives: the largest element is taken out before."""
    top = xp.stop_gradient(xp.max(a, axis, True))
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.log(xp.sum(xp.exp(xp.subtract(a, top)), axis, keepdims))
    return xp.add(total, xp.reshape(top, total.shape))


# Rows for numpy_functions.ANSWERS: those of the engine under the same name, and those made here.
SAME = "all any count_nonzero max min prod argmax argmin cumulative_sum cumulative_prod"
SAME += " searchsorted isin"
OWN = [ptp, sum, mean, average, var, std, cumsum, cumprod, nansum, nanmean, sort, argsort]
OWN += [quantile, percentile, median]
ANSWERS = {
    **{name: getattr(xp, name) for name in SAME.split()},
    **{function.__name__: function for function in OWN},
    "amax": xp.max,
    "amin": xp.min,
}


# Rows for numpy_functions.METHODS. Their axis is 0 unless it is given.
METHODS = {
    "add.reduce": sum,
    "multiply.reduce": xp.prod,
    "maximum.reduce": xp.max,
    "minimum.reduce": xp.min,
    "logical_and.reduce": xp.all,
    "logical_or.reduce": xp.any,
    "logaddexp.reduce": logsumexp,
    "add.accumulate": cumsum,
    "multiply.accumulate": cumprod,
}
