"""Shapes and axes; selecting, repeating, joining and splitting; new arrays."""

import math

import numpy as np

from .. import namespace as xp
from ..operations import axes_named, axis_of
from .reductions import along


def shape(a, /):
    return xp.asarray(a).shape


def ndim(a, /):
    return xp.asarray(a).ndim


def size(a, /, axis=None):
    a = xp.asarray(a)
    return math.prod(a.shape[i] for i in axes_named(a, axis))


def ravel(a, /):
    return xp.reshape(a, (-1,))


def squeeze(a, /, axis=None):
    long = tuple([i for i, n in enumerate(a.shape) if n == 1])
    return xp.squeeze(a, long if axis is None else axis)


def _at_least(arrays, ndim):
    arrays = [xp.asarray(x) for x in arrays]
    arrays = [xp.reshape(x, (1,) * (ndim - x.ndim) + x.shape) for x in arrays]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def atleast_1d(*arys):
    return _at_least(arys, 1)


def atleast_2d(*arys):
    return _at_least(arys, 2)


def transpose(a, /, axes=None):
    return xp.permute_dims(a, range(a.ndim)[::-1] if axes is None else axes)


def swapaxes(a, axis1, axis2, /):
    order = list(range(a.ndim))
    i, j = axis_of(a.ndim, axis1), axis_of(a.ndim, axis2)
    order[i], order[j] = j, i
    return xp.permute_dims(a, order)


def broadcast_to(array, shape, /):
    return xp.broadcast_to(array, tuple(shape) if np.iterable(shape) else (shape,))


def tile(A, /, reps):
    return xp.tile(A, reps if np.iterable(reps) else (reps,))


def take(a, indices, /, axis=None):
    a, axis = along(a, axis)
    return xp.take(a, indices, axis=axis)


def take_along_axis(arr, indices, /, axis=-1):
    arr, axis = along(arr, axis)
    return xp.take_along_axis(arr, indices, axis=axis)


def concatenate(arrays, axis=0):
    return xp.concat(arrays, axis=axis)


def vstack(tup, /):
    return xp.concat([atleast_2d(x) for x in tup])


def hstack(tup, /):
    parts = [atleast_1d(x) for x in tup]
    return xp.concat(parts, axis=0 if parts[0].ndim == 1 else 1)


def split(ary, /, indices_or_sections, axis=0):
    axis, places = axis_of(ary.ndim, axis), np.asarray(indices_or_sections).tolist()
    parts = np.split(np.arange(ary.shape[axis]), places)
    ends = [(part[0], part[-1] + 1) if len(part) else (0, 0) for part in parts]
    return [ary[(slice(None),) * axis + (slice(*pair),)] for pair in ends]


def _making(make):
    def answer(a, /, dtype=None):
        """Return a new ndarray: a constant, into which plain numbers may be written."""
        return make(a.shape, dtype=a.dtype if dtype is None else dtype)

    return answer


def full_like(a, fill_value, /, dtype=None):
    """Return an array filled with ``fill_value``: an ndarray, or a tracer if that is one."""
    return xp.full(a.shape, xp.asarray(fill_value, a.dtype if dtype is None else dtype))


# Rows for numpy_functions.ANSWERS: those of the engine under the same name, and those made here.
SAME = "reshape expand_dims moveaxis matrix_transpose broadcast_arrays flip roll repeat stack"
SAME += " unstack astype result_type"
OWN = [shape, ndim, size, ravel, squeeze, atleast_1d, atleast_2d, transpose, swapaxes]
OWN += [broadcast_to, tile, take, take_along_axis, concatenate, vstack, hstack, split, full_like]
ANSWERS = {
    **{name: getattr(xp, name) for name in SAME.split()},
    **{function.__name__: function for function in OWN},
    "zeros_like": _making(np.zeros),
    "ones_like": _making(np.ones),
    "empty_like": _making(np.empty),
    "copy": xp.positive,
}
