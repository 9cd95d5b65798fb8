"""x[key] for a tracer, in NumPy's order of axes: static slices first, then ``take``.

Separate because the key is read once, whatever the transform.
"""

import numpy as np

from .operations import broadcast, index_array, permute_dims, reshape
from .primitives import apply


def index(x, key):
    """Return x[key] for integers, slices, None, ... and arrays of integers."""
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
    for i in indices[1:]:  # each index has found its place on the axes before
        x = apply("take", x, i, batch_dims=count)
    before = len([a for a in rest if a < first]) if adjacent else 0
    order = [*range(count, count + before), *range(count), *range(count + before, x.ndim)]
    return permute_dims(x, order)


def _per_axis(x, key):
    """Return the key with ``...`` written out: one entry for each axis, and the Nones."""
    key = list(key) if isinstance(key, tuple) else [key]
    used = len([k for k in key if k is not None and k is not Ellipsis])
    if used > x.ndim:
        raise IndexError(f"{used} indices for an array of shape {x.shape}.")
    dots = [i for i, k in enumerate(key) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("x[..., ...]: one ellipsis at most stands for the axes not named.")
    where = dots[0] if dots else len(key)
    # An ellipsis for no axis still stands between its neighbours: see ``adjacent``.
    key[where : where + 1] = [slice(None)] * (x.ndim - used) or dots and [Ellipsis]
    return key


def _basic(x, key):
    """Apply what is static: return x, {axis: index array}, where they begin, if side by side."""
    slices, shape, arrays, axis = [], [], {}, 0
    advanced = []  # places in the key of integers and arrays, which count alike
    for place, k in enumerate(key):
        if k is None or k is Ellipsis:
            shape += [1] if k is None else []
            continue
        n, axis = x.shape[axis], axis + 1
        if isinstance(k, slice):
            slices.append(_static(k, n))
            shape.append(len(range(n)[k]))
            continue
        advanced.append((place, len(shape)))
        if isinstance(k, int | np.integer) and not isinstance(k, bool):
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of range for axis {axis - 1}, length {n}.")
            slices.append((k % n, k % n + 1, 1))
        else:
            arrays[len(shape)] = k
            slices.append((0, n, 1))
            shape.append(n)
    if slices != [(0, n, 1) for n in x.shape]:
        x = apply("slice", x, slices=tuple(slices))
    places = [place for place, _ in advanced]
    adjacent = not places or places[-1] - places[0] == len(places) - 1
    return reshape(x, tuple(shape)), arrays, advanced[0][1] if advanced else 0, adjacent


def _static(k, n):
    start, stop, step = k.indices(n)
    return (0, 0, 1) if not range(n)[k] else (start, None if stop < 0 else stop, step)
