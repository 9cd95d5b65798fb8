"""Smooth functions of each element: most are the primitive of the same name.

The rest are derived. Integers and booleans become float64 where the result is a real number.
"""

import builtins

import numpy as np

from ..operations import (
    asarray,
    astype,
    binary,
    broadcast,
    divide,
    less,
    multiply,
    negative,
    promote,
    titled,
    where,
)
from ..primitives import apply

# Names that namespace exports.
__all__ = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "clip", "copysign"]
__all__ += ["cos", "cosh", "exp", "expm1", "hypot", "log", "log1p", "log2", "log10", "logaddexp"]
__all__ += ["positive", "reciprocal", "remainder", "sin", "sinh", "sqrt", "square", "tan", "tanh"]


def real(x):
    """Return x in floating point: an integer or boolean array in float64, a number as a float."""
    if type(x) in (int, float, builtins.bool):
        return float(x)
    x = asarray(x)
    return x if x.dtype.kind == "f" else astype(x, np.float64)


def real_pair(x1, x2):
    """Return [x1, x2] as arrays of their common dtype, or float64 if that is not floating.

    A Python number takes the dtype of a floating partner.
    """
    pair = [float(x) if type(x) in (int, float, builtins.bool) else x for x in (x1, x2)]
    return [real(x) for x in promote(*pair)]


def unary(name, doc, of_integers=False):
    """Return the function of x that applies the primitive ``name``; ``doc`` is its docstring.

    Without ``of_integers``, integers and booleans are converted to float64 first.
    """

    def function(x, /):
        return apply(name, asarray(x if of_integers else real(x)))

    return titled(function, name, doc)


exp = unary("exp", "Return e ** x.")
expm1 = unary("expm1", "Return e ** x - 1, accurate also for small x.")
log = unary("log", "Return the natural logarithm.")
log1p = unary("log1p", "Return log(1 + x), accurate also for small x.")
log2 = unary("log2", "Return the logarithm to base 2.")
log10 = unary("log10", "Return the logarithm to base 10.")
sqrt = unary("sqrt", "Return the square root.")
sin = unary("sin", "Return the sine of x, in radians.")
cos = unary("cos", "Return the cosine of x, in radians.")
tan = unary("tan", "Return the tangent of x, in radians.")
asin = unary("asin", "Return the angle between -pi/2 and pi/2 whose sine is x.")
acos = unary("acos", "Return the angle between 0 and pi whose cosine is x.")
atan = unary("atan", "Return the angle between -pi/2 and pi/2 whose tangent is x.")
sinh = unary("sinh", "Return the hyperbolic sine.")
cosh = unary("cosh", "Return the hyperbolic cosine.")
tanh = unary("tanh", "Return the hyperbolic tangent.")
asinh = unary("asinh", "Return the inverse of sinh.")
acosh = unary("acosh", "Return the inverse of cosh, for x >= 1.")
atanh = unary("atanh", "Return the inverse of tanh, for -1 < x < 1.")
abs = unary("abs", "Return |x|; its derivative at 0 is 0.", of_integers=True)
atan2 = binary("atan2", "Return the angle of the point (x2, x1), from -pi to pi.", real_pair)
hypot = binary("hypot", "Return sqrt(x1 ** 2 + x2 ** 2) without overflow.", real_pair)
logaddexp = binary("logaddexp", "Return log(exp(x1) + exp(x2)) without overflow.", real_pair)
remainder = binary("remainder", "Return x1 - x2 floor(x1 / x2), which has the sign of x2.")


def positive(x, /):
    """Return x itself, as an array."""
    return asarray(x)


def square(x, /):
    """Return x * x."""
    return multiply(x, x)


def reciprocal(x, /):
    """Return 1 / x."""
    return divide(1.0, real(x))


def copysign(x1, x2, /):
    """Return |x1| with the sign of x2."""
    x1, x2 = real_pair(x1, x2)
    same = apply("equal", *broadcast(apply("signbit", x1), apply("signbit", x2)))
    return where(same, x1, negative(x1))


def clip(x, /, min=None, max=None):
    """Return x limited to [min, max]; its derivative is 1 inside and on a bound, else 0."""
    x = asarray(x)
    if min is not None:
        x = where(less(x, min), min, x)
    if max is not None:
        x = where(less(max, x), max, x)
    return x
