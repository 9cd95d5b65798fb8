"""Functions that insert, move and join axes, and repeat, reorder or select elements."""

import itertools

import numpy as np

from ..operations import (
    asarray,
    axes_named,
    axis_of,
    broadcast_to,
    concat,
    index_array,
    permute_dims,
    reshape,
    take,
)
from ..primitives import apply

# Names that namespace exports.
__all__ = ["expand_dims", "flip", "matrix_transpose", "moveaxis", "repeat", "roll"]
__all__ += ["squeeze", "stack", "take_along_axis", "tile", "unstack"]


def expand_dims(x, /, axis=0):
    """Insert axes of length 1 at the positions ``axis`` of the result."""
    x = asarray(x)
    ndim = x.ndim + (len(axis) if isinstance(axis, tuple | list) else 1)
    places, rest = axes_named(np.empty((1,) * ndim), axis), iter(x.shape)
    return reshape(x, tuple([1 if a in places else next(rest) for a in range(ndim)]))


def matrix_transpose(x, /):
    """Swap the last two axes."""
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: shape {x.shape} is no matrix; give two axes or more.")
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def squeeze(x, /, axis):
    """Remove the given axes, which must have length 1."""
    x = asarray(x)
    axes = axes_named(x, axis)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: axes {axes} of shape {x.shape} are not all of length 1.")
    return reshape(x, tuple([n for a, n in enumerate(x.shape) if a not in axes]))


def stack(arrays, /, *, axis=0):
    """Join arrays of one shape along a new axis."""
    arrays = [asarray(x) for x in arrays]
    if any(x.shape != arrays[0].shape for x in arrays):
        raise ValueError(f"stack: the shapes {[x.shape for x in arrays]} differ; give one shape.")
    return concat([expand_dims(x, axis) for x in arrays], axis=axis)


def unstack(x, /, *, axis=0):
    """Return a tuple of the entries of x along an axis, without that axis."""
    x = moveaxis(x, axis, 0)
    return tuple([x[i] for i in range(x.shape[0])])


def moveaxis(x, source, destination, /):
    """Move axes to other positions; the rest keep their order."""
    x = asarray(x)
    source, destination = [[a] if isinstance(a, int) else list(a) for a in (source, destination)]
    source = [axis_of(x.ndim, a) for a in source]
    destination = [axis_of(x.ndim, a) for a in destination]
    distinct = len({*source}) == len(source) and len({*destination}) == len(destination)
    if not distinct or len(source) != len(destination):
        raise ValueError(f"moveaxis: {source} and {destination} are not distinct axes in pairs.")
    order = [a for a in range(x.ndim) if a not in source]
    for place, a in sorted(zip(destination, source, strict=True)):
        order.insert(place, a)
    return permute_dims(x, order)


def flip(x, /, *, axis=None):
    """Reverse the order along axes (all by default)."""
    x = asarray(x)
    axes = axes_named(x, axis)
    return x[tuple([slice(None, None, -1 if a in axes else None) for a in range(x.ndim)])]


def roll(x, /, shift, *, axis=None):
    """Shift the elements cyclically along axes (by default in flattened x)."""
    x = asarray(x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape)
    for shift_by, a in zip(*_paired(shift, axis), strict=True):
        a = axis_of(x.ndim, a)
        if x.shape[a]:
            cut = -shift_by % x.shape[a]
            parts = [(slice(None),) * a + (s,) for s in (slice(cut, None), slice(cut))]
            x = concat([x[part] for part in parts], axis=a)
    return x


def _paired(shift, axis):
    shifts, axes = np.ravel(shift).tolist(), np.ravel(axis).tolist()
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes; give one for each.")
    many = max(len(shifts), len(axes))
    return [list(itertools.islice(itertools.cycle(v), many)) for v in (shifts, axes)]


def repeat(x, repeats, /, *, axis=None):
    """Repeat each element along an axis (None: flattened x), by one count or one for each."""
    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = axis_of(x.ndim, axis)
    return take(x, np.repeat(np.arange(x.shape[axis]), np.asarray(repeats)), axis=axis)


def tile(x, repetitions, /):
    """Repeat the whole of x along each axis, by the counts in ``repetitions``."""
    x = asarray(x)
    missing = len(repetitions) - x.ndim
    shape = (1,) * missing + x.shape
    repetitions = (1,) * -missing + tuple(repetitions)
    spread = reshape(x, [m for n in shape for m in (1, n)])
    many = [m for n, r in zip(shape, repetitions, strict=True) for m in (r, n)]
    whole = [n * r for n, r in zip(shape, repetitions, strict=True)]
    return reshape(broadcast_to(spread, many), whole)


def take_along_axis(x, indices, /, *, axis=-1):
    """Return the elements at ``indices`` along an axis; the other axes of both broadcast."""
    x, indices = asarray(x), index_array("take_along_axis", indices)
    if x.ndim != indices.ndim:
        raise ValueError(
            f"take_along_axis: {x.ndim} axes and indices with {indices.ndim}; give as many."
        )
    axis = axis_of(x.ndim, axis)
    x, indices = moveaxis(x, axis, -1), moveaxis(indices, axis, -1)
    shape = np.broadcast_shapes(x.shape[:-1], indices.shape[:-1])
    x, indices = [broadcast_to(v, (*shape, v.shape[-1])) for v in (x, indices)]
    return moveaxis(apply("take", x, indices, batch_dims=x.ndim - 1), -1, axis)
