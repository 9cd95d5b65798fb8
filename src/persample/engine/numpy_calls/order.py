"""Order, quantiles and search."""

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real
from ..operations import axes_named
from . import Fixed, known


def _along(a, axis):
    return (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def sort(a, axis=-1, kind=None, order: Fixed = None, *, stable=None):
    """Whatever ``kind`` is, the sort is stable, which each kind allows."""
    a, axis = _along(a, axis)
    return xp.sort(a, axis)


def argsort(a, axis=-1, kind=None, order: Fixed = None, *, stable=None):
    """Whatever ``kind`` is, equal elements keep their order."""
    a, axis = _along(a, axis)
    return xp.argsort(a, axis)


def quantile(
    a,
    q,
    axis=None,
    out: Fixed = None,
    overwrite_input: Fixed = False,
    method: Fixed = "linear",
    keepdims=False,
    *,
    weights: Fixed = None,
):
    one, q = isinstance(q, int | float), np.asarray(known("quantile", "q", q), np.float64)
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("np.quantile: q has a number outside of [0, 1]; give quantiles there.")
    x = real(a)
    axes = axes_named(x, axis)
    kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    rest = tuple([i for i in range(x.ndim) if i not in axes])
    x = xp.reshape(xp.permute_dims(x, (*rest, *axes)), (*[x.shape[i] for i in rest], -1))
    ranked = xp.sort(x, -1)
    place = q.reshape(-1) * (x.shape[-1] - 1)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, x.shape[-1] - 1)
    below, above = xp.take(ranked, low, axis=-1), xp.take(ranked, high, axis=-1)
    share = (place - low).astype(x.dtype if one else np.float64)  # a number takes x's dtype
    between = xp.add(below, xp.multiply(xp.subtract(above, below), share))
    between = xp.where(xp.any(xp.isnan(x), -1, keepdims=True), xp.nan, between)
    return xp.reshape(xp.moveaxis(between, -1, 0), q.shape + (kept if keepdims else x.shape[:-1]))


def percentile(
    a,
    q,
    axis=None,
    out: Fixed = None,
    overwrite_input: Fixed = False,
    method: Fixed = "linear",
    keepdims=False,
    *,
    weights: Fixed = None,
):
    q = q / 100.0 if isinstance(q, int | float) else known("percentile", "q", q) / 100.0
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError("np.percentile: q has a number outside of [0, 100]; give such.")
    return quantile(a, q, axis, keepdims=keepdims)


def median(a, axis=None, out: Fixed = None, overwrite_input: Fixed = False, keepdims=False):
    return quantile(a, 0.5, axis, keepdims=keepdims)


def searchsorted(a, v, side="left", sorter=None):
    return xp.searchsorted(a, v, side=side, sorter=sorter)


def digitize(x, bins, right=False):
    bins, side = known("digitize", "bins", bins), "left" if right else "right"
    if np.all(bins[1:] >= bins[:-1]):
        return xp.searchsorted(bins, x, side=side)
    if np.all(bins[1:] <= bins[:-1]):
        return xp.subtract(len(bins), xp.searchsorted(bins[::-1], x, side=side))
    raise ValueError("np.digitize: the bins neither rise nor fall; give them in order.")


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """The answer is the same whatever ``assume_unique`` and ``kind`` are."""
    return xp.isin(element, test_elements, invert=invert)


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"sort": sort, "argsort": argsort},
    **{"quantile": quantile, "percentile": percentile, "median": median},
    **{"searchsorted": searchsorted, "digitize": digitize, "isin": isin},
}
