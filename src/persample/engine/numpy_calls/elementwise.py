"""Functions of each element: the ufuncs, choices among elements, comparisons of arrays."""

import builtins
import math

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real, real_pair
from ..operations import promote
from . import Fixed, refuse


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


def modf(x):
    x = real(x)
    whole = xp.trunc(x)
    part = xp.where(xp.isinf(x), 0.0, xp.subtract(x, whole))
    return xp.copysign(part, x), whole


def divmod(x1, x2):
    return xp.floor_divide(x1, x2), xp.remainder(x1, x2)


def float_power(x1, x2):
    return xp.pow(xp.astype(x1, xp.float64), xp.astype(x2, xp.float64))


def fmod(x1, x2):
    return xp.multiply(xp.sign(x1), xp.remainder(xp.abs(x1), xp.abs(x2)))


def _not_nan(f, x1, x2):
    x1, x2 = promote(x1, x2)
    return xp.where(xp.isnan(x1), x2, xp.where(xp.isnan(x2), x1, f(x1, x2)))


def fmax(x1, x2):
    return _not_nan(xp.maximum, x1, x2)


def fmin(x1, x2):
    return _not_nan(xp.minimum, x1, x2)


def heaviside(x1, x2):
    x1, x2 = real_pair(x1, x2)
    step = xp.where(xp.less(x1, 0.0), 0.0, xp.where(xp.less(0.0, x1), 1.0, x2))
    return xp.where(xp.isnan(x1), x1, step)


def ldexp(x1, x2):
    return xp.multiply(real(x1), xp.astype(xp.pow(2.0, real(x2)), real(x1).dtype))


def logaddexp2(x1, x2):
    x1, x2 = real_pair(x1, x2)
    both = xp.logaddexp(xp.multiply(x1, math.log(2.0)), xp.multiply(x2, math.log(2.0)))
    return xp.divide(both, math.log(2.0))


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


def clip(a, a_min=None, a_max=None, out: Fixed = None, *, min=None, max=None, **kwargs):
    if kwargs:
        refuse("clip", f"{', '.join(kwargs)} was given", "leave it out")
    return xp.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def fix(x, out: Fixed = None):
    return xp.trunc(x)


def round(a, decimals=0, out: Fixed = None):
    if decimals == 0 or (decimals > 0 and a.dtype.kind != "f"):
        return xp.round(a)
    scale = 10.0 ** builtins.abs(decimals)
    first, then = (xp.multiply, xp.divide) if decimals > 0 else (xp.divide, xp.multiply)
    return xp.astype(then(xp.round(first(a, scale)), scale), a.dtype)


def nan_to_num(x, copy: Fixed = True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    posinf, neginf = [
        float(limit) if given is None else given
        for given, limit in ((posinf, limits.max), (neginf, limits.min))
    ]
    x = xp.where(xp.isnan(x), nan, x)
    return xp.where(xp.equal(x, xp.inf), posinf, xp.where(xp.equal(x, -xp.inf), neginf, x))


def sinc(x):
    """Near 0 by its power series, so that all derivatives are right there too."""
    y = xp.multiply(real(x), math.pi)
    near = xp.less(xp.abs(y), 0.1)
    square = xp.multiply(y, y)
    series = 1.0 - square / 6 * (1.0 - square / 20 * (1.0 - square / 42 * (1.0 - square / 72)))
    safe = xp.where(near, 1.0, y)
    return xp.where(near, series, xp.divide(xp.sin(safe), safe))


def isposinf(x, out: Fixed = None):
    return xp.logical_and(xp.isinf(x), xp.less(0, x))


def isneginf(x, out: Fixed = None):
    return xp.logical_and(xp.isinf(x), xp.less(x, 0))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    b = real(xp.asarray(b))
    with np.errstate(invalid="ignore"):
        bound = xp.add(atol, xp.multiply(rtol, xp.abs(b)))
        near = xp.less_equal(xp.abs(xp.subtract(a, b)), bound)
    same = xp.logical_or(xp.logical_and(near, xp.isfinite(b)), xp.equal(a, b))
    return xp.logical_or(same, _both_nan(a, b)) if equal_nan else same


def _both_nan(a, b):
    return xp.logical_and(xp.isnan(a), xp.isnan(b))


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return xp.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1, a2, equal_nan=False):
    a1, a2 = xp.asarray(a1), xp.asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = xp.equal(a1, a2)
    return xp.all(xp.logical_or(same, _both_nan(a1, a2)) if equal_nan else same)


def array_equiv(a1, a2):
    try:
        return xp.all(xp.equal(a1, a2))
    except ValueError:  # they do not broadcast
        return False


# A real number is a complex one without an imaginary part.


def real_part(val):
    return val


def imag(val):
    return np.zeros(val.shape, val.dtype)


def real_if_close(a, tol=100):
    return a


def angle(z, deg=False):
    turned = xp.atan2(0.0, z)
    return degrees(turned) if deg else turned


def isreal(x):
    return np.ones(x.shape, np.bool)


def iscomplex(x):
    return np.zeros(x.shape, np.bool)


def isrealobj(x):
    return True


def iscomplexobj(x):
    return False


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"where": where, "select": select, "clip": clip, "nan_to_num": nan_to_num, "sinc": sinc},
    **{"fix": fix, "round": round, "around": round, "isposinf": isposinf, "isneginf": isneginf},
    **{"isclose": isclose, "allclose": allclose},
    **{"array_equal": array_equal, "array_equiv": array_equiv},
    **{"real": real_part, "imag": imag, "real_if_close": real_if_close, "angle": angle},
    **{"isreal": isreal, "iscomplex": iscomplex},
    **{"isrealobj": isrealobj, "iscomplexobj": iscomplexobj},
}

# Rows for numpy_functions.UFUNCS: those of the engine under the same name, under another, and
# those made here. A name that NumPy has twice (degrees, rad2deg) stands here twice.
SAME = "add subtract multiply divide negative positive exp expm1 log log1p log2 log10 sqrt square"
SAME += " sin cos tan sinh cosh tanh hypot logaddexp copysign nextafter maximum minimum remainder"
SAME += " floor_divide sign floor ceil trunc isfinite isinf isnan signbit equal not_equal less"
SAME += " less_equal greater greater_equal logical_and logical_or logical_xor logical_not"
SAME += " bitwise_and bitwise_or bitwise_xor"
UFUNCS = {
    **{name: getattr(xp, name) for name in SAME.split()},
    **{"absolute": xp.abs, "power": xp.pow, "rint": rint, "conjugate": xp.positive},
    **{"arcsin": xp.asin, "arccos": xp.acos, "arctan": xp.atan, "arctan2": xp.atan2},
    **{"arcsinh": xp.asinh, "arccosh": xp.acosh, "arctanh": xp.atanh},
    **{"invert": xp.bitwise_invert, "left_shift": xp.bitwise_left_shift},
    **{"right_shift": xp.bitwise_right_shift},
    **{"cbrt": cbrt, "exp2": exp2, "fabs": fabs, "reciprocal": reciprocal},
    **{"degrees": degrees, "rad2deg": degrees, "radians": radians, "deg2rad": radians},
    **{"modf": modf, "divmod": divmod, "fmod": fmod, "float_power": float_power},
    **{"fmax": fmax, "fmin": fmin, "heaviside": heaviside, "ldexp": ldexp},
    "logaddexp2": logaddexp2,
}
