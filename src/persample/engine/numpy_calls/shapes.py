"""The same elements in other places: axes, repetition, picking."""

import math

import numpy as np

from .. import namespace as xp
from ..operations import axes_named, axis_of
from . import Fixed, known, refuse


def shape(a):
    return xp.asarray(a).shape


def ndim(a):
    return xp.asarray(a).ndim


def size(a, axis=None):
    a = xp.asarray(a)
    return math.prod(a.shape[i] for i in axes_named(a, axis))


def reshape(a, /, shape, order: Fixed = "C", *, copy: Fixed = None):
    return xp.reshape(a, tuple(shape) if np.iterable(shape) else shape)


def ravel(a, order: Fixed = "C"):
    return xp.reshape(a, (-1,))


def resize(a, new_shape):
    """The elements, again and again, until they fill the shape."""
    flat, new = xp.reshape(a, (-1,)), tuple(new_shape) if np.iterable(new_shape) else (new_shape,)
    if not flat.shape[0]:
        return xp.zeros(new, dtype=flat.dtype)
    places = np.arange(math.prod(new)) % flat.shape[0]
    return xp.reshape(xp.take(flat, places, axis=0), new)


def squeeze(a, axis=None):
    long = [i for i, n in enumerate(a.shape) if n == 1]
    return xp.squeeze(a, tuple(long) if axis is None else axis)


def expand_dims(a, axis):
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [axis_of(a.ndim + len(axes), i) for i in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"np.expand_dims: axis {axis} names a place twice; name each once.")
    rest = iter(a.shape)
    both = range(a.ndim + len(axes))
    return xp.reshape(a, tuple([1 if i in axes else next(rest) for i in both]))


def _at_least(arrays, expand):
    arrays = [expand(xp.asarray(x)) for x in arrays]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def atleast_1d(*arys):
    return _at_least(arys, lambda x: x if x.ndim else xp.reshape(x, (1,)))


def atleast_2d(*arys):
    return _at_least(arys, lambda x: xp.reshape(x, (1,) * (2 - x.ndim) + x.shape))


def atleast_3d(*arys):
    def expand(x):
        first = (1,) if x.ndim == 1 else ()
        return x if x.ndim > 2 else xp.reshape(x, (*first, *x.shape, 1, 1, 1)[:3])

    return _at_least(arys, expand)


def transpose(a, axes=None):
    return xp.permute_dims(a, range(a.ndim)[::-1] if axes is None else axes)


def moveaxis(a, source, destination):
    return xp.moveaxis(a, source, destination)


def swapaxes(a, axis1, axis2):
    order = list(range(a.ndim))
    i, j = axis_of(a.ndim, axis1), axis_of(a.ndim, axis2)
    order[i], order[j] = j, i
    return xp.permute_dims(a, order)


def rollaxis(a, axis, start=0):
    axis = axis_of(a.ndim, axis)
    start = axis_of(a.ndim + 1, start + a.ndim if start < 0 else start)
    return xp.moveaxis(a, axis, start - 1 if axis < start else start)


def broadcast_to(array, shape, subok: Fixed = False):
    return xp.broadcast_to(array, tuple(shape) if np.iterable(shape) else (shape,))


def broadcast_arrays(*args, subok: Fixed = False):
    return xp.broadcast_arrays(*args)


def flip(m, axis=None):
    return xp.flip(m, axis=axis)


def flipud(m):
    return xp.flip(m, axis=0)


def fliplr(m):
    return xp.flip(m, axis=1)


def rot90(m, k=1, axes=(0, 1)):
    first, second = [axis_of(m.ndim, i) for i in axes]
    if first == second:
        raise ValueError(f"np.rot90: axes {axes} are one axis; name two.")
    m = xp.flip(m, axis=(first, second)) if k % 4 > 1 else m
    return xp.flip(swapaxes(m, first, second), axis=first) if k % 2 else m


def roll(a, shift, axis=None):
    return xp.roll(a, known("roll", "shift", shift).tolist(), axis=axis)


def repeat(a, repeats, axis=None):
    return xp.repeat(a, known("repeat", "repeats", repeats), axis=axis)


def tile(A, reps):
    return xp.tile(A, tuple(known("tile", "reps", reps).reshape(-1).tolist()))


def take(a, indices, axis=None, out: Fixed = None, mode: Fixed = "raise"):
    a, axis = (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return xp.take(a, indices, axis=axis)


def take_along_axis(arr, indices, axis=-1):
    arr, axis = (xp.reshape(arr, (-1,)), 0) if axis is None else (arr, axis)
    return xp.take_along_axis(arr, indices, axis=axis)


def delete(arr, obj, axis=None):
    arr, axis = (xp.reshape(arr, (-1,)), 0) if axis is None else (xp.asarray(arr), axis)
    obj = obj if isinstance(obj, slice) else known("delete", "obj", obj)
    return xp.take(arr, np.delete(np.arange(arr.shape[axis]), obj), axis=axis)


def sliding_window_view(
    x, window_shape, axis=None, *, subok: Fixed = False, writeable: Fixed = False
):
    """The windows are copies."""
    windows = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = range(x.ndim) if axis is None else axis if np.iterable(axis) else (axis,)
    if len(windows) != len(axes):
        refuse(
            "lib.stride_tricks.sliding_window_view",
            f"{len(windows)} windows for {len(axes)} axes",
            "give one for each",
        )
    for n, i in zip(windows, axes, strict=True):
        i = axis_of(x.ndim, i)
        places = np.arange(x.shape[i] - n + 1)[:, None] + np.arange(n)
        x = xp.moveaxis(xp.take(x, places, axis=i), i + 1, -1)
    return x


def apply_over_axes(func, a, axes):
    for axis in axes if np.iterable(axes) else (axes,):
        axis = axis_of(a.ndim, axis)
        result = func(a, axis)
        a = result if result.ndim == a.ndim else xp.expand_dims(result, axis)
    return a


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """The function is called once for each row, in a loop; ``vmap`` needs none."""
    axis = axis_of(arr.ndim, axis)
    rows = xp.moveaxis(arr, axis, -1)
    flat = xp.reshape(rows, (math.prod(rows.shape[:-1]), rows.shape[-1]))
    results = xp.stack([xp.asarray(func1d(row, *args, **kwargs)) for row in flat])
    new = results.ndim - 1
    results = xp.reshape(results, rows.shape[:-1] + results.shape[1:])
    return xp.moveaxis(results, tuple(range(-new, 0)), tuple(range(axis, axis + new)))


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"shape": shape, "ndim": ndim, "size": size},
    **{"reshape": reshape, "ravel": ravel, "resize": resize},
    **{"squeeze": squeeze, "expand_dims": expand_dims},
    **{"atleast_1d": atleast_1d, "atleast_2d": atleast_2d, "atleast_3d": atleast_3d},
    **{"transpose": transpose, "moveaxis": moveaxis, "swapaxes": swapaxes, "rollaxis": rollaxis},
    **{"matrix_transpose": xp.matrix_transpose, "linalg.matrix_transpose": xp.matrix_transpose},
    **{"broadcast_to": broadcast_to, "broadcast_arrays": broadcast_arrays},
    **{"flip": flip, "flipud": flipud, "fliplr": fliplr, "rot90": rot90, "roll": roll},
    **{"repeat": repeat, "tile": tile},
    **{"take": take, "take_along_axis": take_along_axis, "delete": delete},
    "lib.stride_tricks.sliding_window_view": sliding_window_view,
    **{"apply_over_axes": apply_over_axes, "apply_along_axis": apply_along_axis},
}
