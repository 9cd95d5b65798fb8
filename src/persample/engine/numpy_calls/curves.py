"""A function given at points: differences, slopes, areas, interpolation; polynomials."""

import numpy as np

from ..functions.along_axes import diff as _diff
from ..functions.along_axes import searchsorted
from ..functions.elementwise import clip, real
from ..functions.shapes import moveaxis, stack
from ..operations import (
    add,
    asarray,
    astype,
    axes_named,
    axis_of,
    broadcast_to,
    concat,
    divide,
    equal,
    less,
    multiply,
    reshape,
    subtract,
    sum,
    take,
    where,
)
from . import Fixed, refuse, tracers


def _cut(axis, *ends):
    return (slice(None),) * axis + (slice(*ends),)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    if a.dtype.kind == "b":
        refuse("diff", f"{a!r} holds True and False", "write a[1:] != a[:-1]")
    axis = axis_of(a.ndim, axis)
    one = a.shape[:axis] + (1,) + a.shape[axis + 1 :]
    ends = [x if x is None or np.ndim(x) else broadcast_to(x, one) for x in (prepend, append)]
    return _diff(a, axis=axis, n=n, prepend=ends[0], append=ends[1])


def ediff1d(ary, to_end=None, to_begin=None):
    parts = [to_begin, _diff(reshape(ary, (-1,))), to_end]
    parts = [asarray(x) for x in parts if x is not None]
    if not all(np.can_cast(x.dtype, ary.dtype, "same_kind") for x in parts):
        refuse("ediff1d", f"an end is no {ary.dtype}, as the array is", "give ends of its kind")
    return concat([reshape(astype(x, ary.dtype), (-1,)) for x in parts])


def gradient(f, *varargs, axis=None, edge_order: Fixed = 1):
    f = real(f)
    axes = axes_named(f, axis)
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    if len(steps) != len(axes) or any(np.ndim(h) for h in steps):
        refuse(
            "gradient",
            f"{len(varargs)} spacings for {len(axes)} axes, or coordinates in place of a number",
            "give one number for each axis, or one for all",
        )
    slopes = [_slope(f, h, a) for h, a in zip(steps, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(f, h, axis):
    inner = subtract(f[_cut(axis, 2, None)], f[_cut(axis, None, -2)])
    first = subtract(f[_cut(axis, 1, 2)], f[_cut(axis, 0, 1)])
    last = subtract(f[_cut(axis, -1, None)], f[_cut(axis, -2, -1)])
    return divide(concat([first, multiply(inner, 0.5), last], axis=axis), h)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = real(asarray(y))
    axis = axis_of(y.ndim, axis)
    if x is not None:
        dx = _diff(x, axis=axis if np.ndim(x) > 1 else 0)
        dx = moveaxis(reshape(dx, (-1,) + (1,) * (y.ndim - 1)), 0, axis) if dx.ndim == 1 else dx
    both = add(y[_cut(axis, 1, None)], y[_cut(axis, None, -1)])
    return sum(multiply(multiply(both, dx), 0.5), axis)


def interp(x, xp, fp, left=None, right=None, period: Fixed = None):
    x, xp, fp = [astype(v, np.float64) for v in (x, xp, fp)]  # as NumPy does
    if xp.ndim != 1 or xp.shape != fp.shape or xp.shape[0] < 2:
        raise ValueError(
            f"np.interp: points of shape {xp.shape} and values of shape {fp.shape}; give two "
            "vectors of one length, 2 or more."
        )
    place = clip(subtract(searchsorted(xp, x, side="right"), 1), 0, xp.shape[0] - 2)
    start, value, after = take(xp, place), take(fp, place), take(fp, add(place, 1))
    run = subtract(take(xp, add(place, 1)), start)
    twice = equal(run, 0.0)  # the last point is given twice: its second value holds
    slope = divide(subtract(after, value), where(twice, 1.0, run))
    inside = where(twice, after, add(value, multiply(slope, subtract(x, start))))
    inside = where(less(x, xp[0]), fp[0] if left is None else left, inside)
    return where(less(xp[-1], x), fp[-1] if right is None else right, inside)


def polyval(p, x):
    value = multiply(x, 0)
    for coefficient in p if tracers(p) else np.asarray(p):
        value = add(multiply(value, x), coefficient)
    return value


def vander(x, N=None, increasing=False):
    x = asarray(x)
    x = astype(x, np.promote_types(x.dtype, int))
    powers = [np.ones(x.shape, x.dtype)]
    for _ in range((x.shape[0] if N is None else N) - 1):
        powers.append(multiply(powers[-1], x))
    powers = powers[: x.shape[0] if N is None else N]
    return stack(powers if increasing else powers[::-1], axis=-1)


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"diff": diff, "ediff1d": ediff1d, "gradient": gradient, "trapezoid": trapezoid},
    **{"interp": interp, "polyval": polyval, "vander": vander},
}
