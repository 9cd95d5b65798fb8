"""Functions of each element: the ufuncs, choices among elements."""

import builtins
import math

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real
from . import refuse


def cbrt(x):
    return xp.multiply(xp.sign(real(x)), xp.pow(xp.abs(real(x)), 1.0 / 3.0))


def exp2(x):
    return xp.pow(2.0, real(x))


def fabs(x):
    return xp.abs(real(x))


def degrees(x):
    return xp.multiply(real(x), 180.0 / math.pi)


def radians(x):
    return xp.multiply(real(x), math.pi / 180.0)


def rint(x):
    return xp.round(real(x))


def reciprocal(x):
    if x.dtype.kind != "f":
        refuse("reciprocal", f"{x!r} has no fractions, nor has NumPy's result", "write 1.0 / x")
    return xp.reciprocal(x)


# Functions that are no ufuncs --------------------------------------------------------------------


def where(condition, x=None, y=None, /):
    if x is None or y is None:
        refuse(
            "where",
            f"with the condition {condition!r} alone, the shape of the result depends on values",
            "give two arrays to choose from: np.where(condition, x, y)",
        )
    return xp.where(condition, x, y)


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: {len(condlist)} conditions, {len(choicelist)} choices.")
    chosen = default
    for condition, choice in reversed([*zip(condlist, choicelist, strict=True)]):
        chosen = xp.where(condition, choice, chosen)
    return chosen


def clip(a, /, a_min=None, a_max=None, min=None, max=None):
    return xp.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def round(a, /, decimals=0):
    if decimals == 0 or (decimals > 0 and a.dtype.kind != "f"):
        return xp.round(a)
    scale = 10.0 ** builtins.abs(decimals)
    first, then = (xp.multiply, xp.divide) if decimals > 0 else (xp.divide, xp.multiply)
    return xp.astype(then(xp.round(first(a, scale)), scale), a.dtype)


def nan_to_num(x, /, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    posinf = float(limits.max) if posinf is None else posinf
    neginf = float(limits.min) if neginf is None else neginf
    x = xp.where(xp.isnan(x), nan, x)
    return xp.where(xp.equal(x, xp.inf), posinf, xp.where(xp.equal(x, -xp.inf), neginf, x))


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{function.__name__: function for function in (where, select, clip, nan_to_num, round)},
    "around": round,
}

# Rows for numpy_functions.UFUNCS: those of the engine under the same name, under another, and
# those made here. A name that NumPy has twice (degrees, rad2deg) stands here twice.
SAME = "add subtract multiply divide negative positive exp expm1 log log1p log2 log10 sqrt square"
SAME += " sin cos tan sinh cosh tanh hypot logaddexp copysign nextafter maximum minimum remainder"
SAME += " floor_divide sign floor ceil trunc isfinite isinf isnan signbit equal not_equal less"
SAME += " less_equal greater greater_equal logical_and logical_or logical_xor logical_not"
SAME += " bitwise_and bitwise_or bitwise_xor matmul vecdot"
RENAMED = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "positive",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
}
UFUNCS = {
    **{name: getattr(xp, name) for name in SAME.split()},
    **{name: getattr(xp, own) for name, own in RENAMED.items()},
    **{f.__name__: f for f in (cbrt, exp2, fabs, rint, reciprocal, degrees, radians)},
    "rad2deg": degrees,
    "deg2rad": radians,
}
