"""x[key] for a tracer, in NumPy's order of axes: static slices first, then ``take``.

No transform has a rule for indexing: a key becomes slice, reshape, permute_dims and take.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .operations import broadcast, index_array, permute_dims, reshape
from .primitives import apply


def index(x, key):
    """Return x[key]; the key holds integers, slices, None, ``...`` and arrays of integers."""
    key = _per_axis(x, key)
    x, arrays, first, adjacent = _basic(x, key)
    if not arrays:
        return x
    axes = list(arrays)
    rest = [a for a in range(x.ndim) if a not in axes]
    x = permute_dims(x, (*axes, *rest))
    indices = broadcast(*[index_array("x[...]", i) for i in arrays.values()])
    count = indices[0].ndim
    x = apply("take", x, indices[0], batch_dims=0)
    # The index axes now lead and the next axis to take from follows them: pair them by entry.
    for i in indices[1:]:
        x = apply("take", x, i, batch_dims=count)
    before = len([a for a in rest if a < first]) if adjacent else 0
    order = [*range(count, count + before), *range(count), *range(count + before, x.ndim)]
    return permute_dims(x, order)


def _per_axis(x, key):
    """Return (list of a key's entries, one per axis of x with ``...`` expanded; its Nones)."""
    key = list(key) if isinstance(key, tuple) else [key]
    used = len([k for k in key if k is not None and k is not Ellipsis])
    if used > x.ndim:
        raise IndexError(f"{used} indices for an array of shape {x.shape}.")
    dots = [i for i, k in enumerate(key) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("x[..., ...]: one ellipsis at most stands for the axes not named.")
    where = dots[0] if dots else len(key)
    filled = [slice(None)] * (x.ndim - used)
    if dots and not filled:
        filled = [Ellipsis]  # it still separates indices: see `_basic`
    key[where : where + 1] = filled
    return key


@dataclass(frozen=True, eq=False)
class _Entry:
    """One entry of a key: the slice it reads from an axis of x, and its axis in the sliced x."""

    slice: tuple | None = None  # start, stop, step; None: it reads no axis
    length: int | None = None  # of its axis in the sliced x; None: it has none
    array: Any = None  # the indices to take along that axis
    advanced: bool = False  # an integer or an array, which count alike for the order of axes


def _entry(k, axis, n):
    """Return the `_Entry` for k, a slice, an integer or an array, and an axis of length n."""
    if isinstance(k, slice):
        return _Entry(_static(k, n), len(range(n)[k]))
    if isinstance(k, int | np.integer) and not isinstance(k, bool):
        if not -n <= k < n:
            raise IndexError(f"index {k} is out of range for axis {axis}, length {n}.")
        return _Entry((k % n, k % n + 1, 1), advanced=True)
    return _Entry((0, n, 1), n, k, advanced=True)


def _basic(x, key):
    """Apply the slices of a key.

    Return the sliced x, {axis of it: index array}, the number of its axes before the first
    integer or array of the key, and whether the integers and arrays are adjacent.
    """
    entries, axis = [], 0
    for k in key:
        if k is None or k is Ellipsis:
            entries.append(_Entry(length=1 if k is None else None))
        else:
            entries.append(_entry(k, axis, x.shape[axis]))
            axis += 1
    slices = tuple([e.slice for e in entries if e.slice is not None])
    if slices != tuple([(0, n, 1) for n in x.shape]):
        x = apply("slice", x, slices=slices)
    kept = [e for e in entries if e.length is not None]
    arrays = {axis: e.array for axis, e in enumerate(kept) if e.array is not None}
    places = [place for place, e in enumerate(entries) if e.advanced]
    adjacent = not places or places[-1] - places[0] == len(places) - 1
    first = len([e for e in entries[: places[0]] if e in kept]) if places else 0
    return reshape(x, tuple([e.length for e in kept])), arrays, first, adjacent


def _static(k, n):
    """Return (start, stop, step) of a slice of n elements, with start and stop counted from 0.

    stop is None if a negative step goes down to element 0. An empty slice is (0, 0, 1).
    """
    start, stop, step = k.indices(n)
    return (0, 0, 1) if not range(n)[k] else (start, None if stop < 0 else stop, step)
