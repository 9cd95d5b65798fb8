"""Arrays made after the shape of another, or between two; indices; dtypes."""

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real, real_pair
from . import Fixed


def _made(make, a, dtype, shape):
    shape = a.shape if shape is None else shape
    return make(shape, dtype=a.dtype if dtype is None else dtype)


def zeros_like(
    a, dtype=None, order: Fixed = "K", subok: Fixed = True, shape=None, *, device: Fixed = None
):
    """A plain array: a constant, which one may write plain numbers into."""
    return _made(np.zeros, a, dtype, shape)


def ones_like(
    a, dtype=None, order: Fixed = "K", subok: Fixed = True, shape=None, *, device: Fixed = None
):
    """A plain array, see `zeros_like`."""
    return _made(np.ones, a, dtype, shape)


def empty_like(
    prototype,
    /,
    dtype=None,
    order: Fixed = "K",
    subok: Fixed = True,
    shape=None,
    *,
    device: Fixed = None,
):
    """A plain array, see `zeros_like`."""
    return _made(np.empty, prototype, dtype, shape)


def full_like(
    a,
    fill_value,
    dtype=None,
    order: Fixed = "K",
    subok: Fixed = True,
    shape=None,
    *,
    device: Fixed = None,
):
    """A plain array, see `zeros_like`, unless ``fill_value`` is none."""
    value = xp.asarray(fill_value, a.dtype if dtype is None else dtype)
    if hasattr(value, "_trace"):
        return xp.broadcast_to(value, a.shape if shape is None else shape)
    return np.full(a.shape if shape is None else shape, value)


def copy(a, order: Fixed = "K", subok: Fixed = False):
    return xp.asarray(a)


def linspace(
    start,
    stop,
    num=50,
    endpoint=True,
    retstep=False,
    dtype=None,
    axis=0,
    *,
    device: Fixed = None,
):
    start, stop = xp.broadcast_arrays(*real_pair(start, stop))
    span, parts = xp.subtract(stop, start), num - 1 if endpoint else num
    share = (np.arange(num) / max(parts, 1)).reshape((-1,) + (1,) * span.ndim)
    points = xp.add(start, xp.multiply(span, xp.astype(share, span.dtype)))
    if dtype is not None:
        whole = np.dtype(dtype).kind in "iu"
        points = xp.astype(xp.floor(points) if whole else points, dtype)
    points = xp.moveaxis(points, 0, axis)
    return (points, xp.divide(span, float(parts) if parts else np.nan)) if retstep else points


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    base = xp.expand_dims(base, -1) if np.ndim(base) else base
    powers = xp.pow(real(base), xp.moveaxis(linspace(start, stop, num, endpoint), 0, -1))
    powers = powers if dtype is None else xp.astype(powers, dtype)
    return xp.moveaxis(powers, -1, axis)


def meshgrid(*xi, copy=True, sparse: Fixed = False, indexing="xy"):
    """The grids are never copies of one another's memory, whatever ``copy`` is."""
    return xp.meshgrid(*[xp.reshape(x, (-1,)) for x in xi], indexing=indexing)


def diag_indices_from(arr):
    if len(set(arr.shape)) != 1 or arr.ndim < 2:
        raise ValueError(f"np.diag_indices_from: shape {arr.shape}; give axes of one length.")
    return np.diag_indices(arr.shape[0], arr.ndim)


def tril_indices_from(arr, k=0):
    return np.tril_indices(arr.shape[-2], k=k, m=arr.shape[-1])


def triu_indices_from(arr, k=0):
    return np.triu_indices(arr.shape[-2], k=k, m=arr.shape[-1])


def result_type(*arrays_and_dtypes):
    return xp.result_type(*arrays_and_dtypes)


def can_cast(from_, to, casting="safe"):
    return np.can_cast(from_.dtype, to, casting)


def common_type(*arrays):
    return np.common_type(*[np.empty(0, xp.asarray(x).dtype) for x in arrays])


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"zeros_like": zeros_like, "ones_like": ones_like, "empty_like": empty_like},
    **{"full_like": full_like, "copy": copy, "astype": xp.astype},
    **{"linspace": linspace, "logspace": logspace, "meshgrid": meshgrid},
    **{"diag_indices_from": diag_indices_from, "tril_indices_from": tril_indices_from},
    **{"triu_indices_from": triu_indices_from, "result_type": result_type},
    **{"can_cast": can_cast, "common_type": common_type},
}
