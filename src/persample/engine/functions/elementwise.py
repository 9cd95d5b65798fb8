"""Smooth functions of each element: most are the primitive of the same name.

The rest are derived. Integers and booleans become float64 where the result is a real number.
"""

import builtins

import numpy as np

from ..operations import (
    asarray,
    astype,
    broadcast,
    divide,
    less,
    multiply,
    negative,
    pair,
    promote,
    titled,
    where,
)
from ..primitives import apply

# What namespace has of it.
__all__ = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "clip", "copysign"]
__all__ += ["cos", "cosh", "exp", "expm1", "hypot", "log", "log1p", "log2", "log10", "logaddexp"]
__all__ += ["positive", "reciprocal", "remainder", "sin", "sinh", "sqrt", "square", "tan", "tanh"]


def real(x):
    """Return x with a real dtype; a Python number stays one, and takes its partner's."""
    if type(x) in (int, float, builtins.bool):
        return float(x)
    x = asarray(x)
    return x if x.dtype.kind == "f" else astype(x, np.float64)


def real_pair(x1, x2):
    """Return both with one real dtype: that of the two together, made real."""
    pair = [float(x) if type(x) in (int, float, builtins.bool) else x for x in (x1, x2)]
    return [real(x) for x in promote(*pair)]


def of_one(name, says, of_integers=False):
    """Return the function of a primitive with one input, which ``says`` what it returns.

    Unless it is there for integers too, they become real numbers first.
    """

    def function(x, /):
        return apply(name, asarray(x if of_integers else real(x)))

    return titled(function, name, says)


exp = of_one("exp", "Return e ** x.")
expm1 = of_one("expm1", "Return e ** x - 1, exact also for small x.")
log = of_one("log", "Return the natural logarithm.")
log1p = of_one("log1p", "Return log(1 + x), exact also for small x.")
log2 = of_one("log2", "Return the logarithm to base 2.")
log10 = of_one("log10", "Return the logarithm to base 10.")
sqrt = of_one("sqrt", "Return the square root.")
sin = of_one("sin", "Return the sine of x, in radians.")
cos = of_one("cos", "Return the cosine of x, in radians.")
tan = of_one("tan", "Return the tangent of x, in radians.")
asin = of_one("asin", "Return the angle between -pi/2 and pi/2 whose sine is x.")
acos = of_one("acos", "Return the angle between 0 and pi whose cosine is x.")
atan = of_one("atan", "Return the angle between -pi/2 and pi/2 whose tangent is x.")
sinh = of_one("sinh", "Return the hyperbolic sine.")
cosh = of_one("cosh", "Return the hyperbolic cosine.")
tanh = of_one("tanh", "Return the hyperbolic tangent.")
asinh = of_one("asinh", "Return the inverse of sinh.")
acosh = of_one("acosh", "Return the inverse of cosh, for x >= 1.")
atanh = of_one("atanh", "Return the inverse of tanh, for -1 < x < 1.")
abs = of_one("abs", "Return |x|; its slope at 0 is 0.", of_integers=True)
atan2 = pair("atan2", "Return the angle of the point (x2, x1), from -pi to pi.", real_pair)
hypot = pair("hypot", "Return sqrt(x1 ** 2 + x2 ** 2) without overflow.", real_pair)
logaddexp = pair("logaddexp", "Return log(exp(x1) + exp(x2)) without overflow.", real_pair)
remainder = pair("remainder", "Return x1 - x2 floor(x1 / x2), which has the sign of x2.")


def positive(x, /):
    """Return x itself."""
    return asarray(x)


def square(x, /):
    """Return x * x."""
    return multiply(x, x)


def reciprocal(x, /):
    """Return 1 / x."""
    return divide(1.0, real(x))


def copysign(x1, x2, /):
    """Return x1 with the sign of x2."""
    x1, x2 = real_pair(x1, x2)
    same = apply("equal", *broadcast(apply("signbit", x1), apply("signbit", x2)))
    return where(same, x1, negative(x1))


def clip(x, /, min=None, max=None):
    """Return x, or the bound that it crosses; on the bound the slope of x is 1."""
    x = asarray(x)
    if min is not None:
        x = where(less(x, min), min, x)
    if max is not None:
        x = where(less(max, x), max, x)
    return x
