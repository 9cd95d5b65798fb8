"""Several arrays become one, one becomes several, and an array gets a margin."""

import numpy as np

from .. import namespace as xp
from ..operations import axis_of
from . import Fixed, known, refuse
from .shapes import atleast_1d, atleast_2d, atleast_3d


def concatenate(arrays, /, axis=0, out: Fixed = None, *, dtype=None, casting: Fixed = "same_kind"):
    arrays = [xp.asarray(x, dtype) for x in arrays]
    return xp.concat(arrays, axis=axis)


def stack(arrays, axis=0, out: Fixed = None, *, dtype=None, casting: Fixed = "same_kind"):
    return xp.stack([xp.asarray(x, dtype) for x in arrays], axis=axis)


def vstack(tup, *, dtype=None, casting: Fixed = "same_kind"):
    return concatenate([atleast_2d(x) for x in tup], dtype=dtype)


def hstack(tup, *, dtype=None, casting: Fixed = "same_kind"):
    parts = [atleast_1d(x) for x in tup]
    return concatenate(parts, axis=0 if parts[0].ndim == 1 else 1, dtype=dtype)


def dstack(tup):
    return concatenate([atleast_3d(x) for x in tup], axis=2)


def column_stack(tup):
    parts = [xp.asarray(x) for x in tup]
    return concatenate([x if x.ndim > 1 else xp.reshape(x, (-1, 1)) for x in parts], axis=1)


def append(arr, values, axis=None):
    return concatenate([arr, values], axis=axis)


def block(arrays):
    arrays, depth = _blocks(arrays)
    most = max(depth, *[x.ndim for x in arrays.values()])

    def join(place, level):
        if level == depth:
            x = arrays[place]
            return xp.reshape(x, (1,) * (most - x.ndim) + x.shape)
        many = len({p[level] for p in arrays if p[:level] == place})
        return xp.concat([join((*place, i), level + 1) for i in range(many)], axis=level - depth)

    return join((), 0)


def _blocks(arrays):
    """Return {place in the nested lists: array}, and how deep the lists are nested."""
    if not isinstance(arrays, list):
        return {(): xp.asarray(arrays)}, 0
    found, depths = {}, set()
    for i, part in enumerate(arrays):
        inner, depth = _blocks(part)
        found.update({(i, *place): x for place, x in inner.items()})
        depths.add(depth + 1)
    if len(depths) != 1:
        refuse("block", "the lists are empty or not equally deep", "nest every row alike")
    return found, depths.pop()


def array_split(ary, indices_or_sections, axis=0):
    axis = axis_of(ary.ndim, axis)
    length = ary.shape[axis]
    cuts = known("array_split", "the list of cuts", indices_or_sections)
    parts = np.array_split(np.arange(length), cuts)
    before = (slice(None),) * axis
    return [ary[(*before, slice(*_ends(part)))] for part in parts]


def _ends(part):
    return (part[0], part[-1] + 1) if len(part) else (0, 0)


def split(ary, indices_or_sections, axis=0):
    cuts = known("split", "the list of cuts", indices_or_sections)
    length = ary.shape[axis_of(ary.ndim, axis)]
    if cuts.ndim == 0 and length % cuts:
        raise ValueError(
            f"np.split: {length} elements are not {cuts} equal parts; use np.array_split."
        )
    return array_split(ary, cuts, axis)


def hsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 2)


def pad(array, pad_width, mode="constant", **kwargs):
    """A margin of a number, or of the array's own elements (edge, reflect, symmetric, wrap)."""
    x = xp.asarray(array)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        modes = '"constant", "edge", "reflect", "symmetric" or "wrap"'
        refuse("pad", f"mode={mode!r} was given", f"choose {modes}")
    values = kwargs.pop("constant_values", 0) if mode == "constant" else 0
    if kwargs:
        refuse("pad", f"{', '.join(kwargs)} with mode={mode!r}", "leave it out")
    if isinstance(pad_width, dict):
        refuse("pad", "pad_width is a dict", "give (before, after) for each axis")
    widths = np.broadcast_to(known("pad", "pad_width", pad_width), (x.ndim, 2)).tolist()
    values = np.broadcast_to(known("pad", "constant_values", values), (x.ndim, 2))
    for axis, (before, after) in enumerate(widths):
        if mode == "constant":
            x = _with_margin(x, axis, (before, after), values[axis])
        else:
            places = np.pad(np.arange(x.shape[axis]), (before, after), mode)
            x = xp.take(x, places, axis=axis)
    return x


def _with_margin(x, axis, widths, values):
    parts = [
        np.full(x.shape[:axis] + (n,) + x.shape[axis + 1 :], value, x.dtype)
        for n, value in zip(widths, values, strict=True)
    ]
    return xp.concat([parts[0], x, parts[1]], axis=axis)


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"concatenate": concatenate, "stack": stack, "append": append, "block": block},
    **{"vstack": vstack, "hstack": hstack, "dstack": dstack, "column_stack": column_stack},
    **{"split": split, "array_split": array_split, "unstack": xp.unstack},
    **{"hsplit": hsplit, "vsplit": vsplit, "dsplit": dsplit, "pad": pad},
}
