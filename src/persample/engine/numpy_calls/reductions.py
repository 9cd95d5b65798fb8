"""Reductions, cumulative sums and products, sorting and searching."""

from .. import namespace as xp


def along(a, axis):
    """Return (a, axis) or, if axis is None, the flattened array and 0."""
    return (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def var(a, /, axis=None, ddof=0, keepdims=False):
    return xp.var(a, axis, correction=ddof, keepdims=keepdims)


def std(a, /, axis=None, ddof=0, keepdims=False):
    return xp.std(a, axis, correction=ddof, keepdims=keepdims)


def cumsum(a, /, axis=None, dtype=None):
    return xp.cumulative_sum(*along(a, axis), dtype=dtype)


def cumprod(a, /, axis=None, dtype=None):
    return xp.cumulative_prod(*along(a, axis), dtype=dtype)


def sort(a, /, axis=-1):
    """Return ``a`` sorted along an axis (None: flattened); stable, so ``kind`` is ignored."""
    return xp.sort(*along(a, axis))


def argsort(a, /, axis=-1):
    """Return the indices that sort ``a`` stably along an axis (None: flattened)."""
    return xp.argsort(*along(a, axis))


def logsumexp(a, /, axis=None, keepdims=False):
    """Return log(sum(exp(a))) over axes, without overflow, for ``np.logaddexp.reduce``."""
    top = xp.stop_gradient(xp.max(a, axis, True))
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.log(xp.sum(xp.exp(xp.subtract(a, top)), axis, keepdims))
    return xp.add(total, xp.reshape(top, total.shape))


# Rows for numpy_functions.ANSWERS: those of the engine under the same name, and those made here.
SAME = "sum mean all any count_nonzero max min prod argmax argmin cumulative_sum cumulative_prod"
SAME += " searchsorted isin"
ANSWERS = {
    **{name: getattr(xp, name) for name in SAME.split()},
    **{function.__name__: function for function in (var, std, cumsum, cumprod, sort, argsort)},
    "amax": xp.max,
    "amin": xp.min,
}


# Rows for numpy_functions.METHODS. Their axis is 0 unless it is given.
METHODS = {
    "add.reduce": xp.sum,
    "multiply.reduce": xp.prod,
    "maximum.reduce": xp.max,
    "minimum.reduce": xp.min,
    "logaddexp.reduce": logsumexp,
}
