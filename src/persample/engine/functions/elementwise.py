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
    elementwise,
    less,
    multiply,
    negative,
    promote,
    where,
)
from ..primitives import apply


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


def _of_real(name, x):
    return apply(name, asarray(real(x)))


def exp(x, /):
    """Return e ** x."""
    return _of_real("exp", x)


def expm1(x, /):
    """Return e ** x - 1, exact also for small x."""
    return _of_real("expm1", x)


def log(x, /):
    """Return the natural logarithm."""
    return _of_real("log", x)


def log1p(x, /):
    """Return log(1 + x), exact also for small x."""
    return _of_real("log1p", x)


def log2(x, /):
    """Return the logarithm to base 2."""
    return _of_real("log2", x)


def log10(x, /):
    """Return the logarithm to base 10."""
    return _of_real("log10", x)


def sqrt(x, /):
    """Return the square root."""
    return _of_real("sqrt", x)


def sin(x, /):
    """Return the sine of x, in radians."""
    return _of_real("sin", x)


def cos(x, /):
    """Return the cosine of x, in radians."""
    return _of_real("cos", x)


def tan(x, /):
    """Return the tangent of x, in radians."""
    return _of_real("tan", x)


def asin(x, /):
    """Return the angle between -pi/2 and pi/2 whose sine is x."""
    return _of_real("asin", x)


def acos(x, /):
    """Return the angle between 0 and pi whose cosine is x."""
    return _of_real("acos", x)


def atan(x, /):
    """Return the angle between -pi/2 and pi/2 whose tangent is x."""
    return _of_real("atan", x)


def sinh(x, /):
    """Return the hyperbolic sine."""
    return _of_real("sinh", x)


def cosh(x, /):
    """Return the hyperbolic cosine."""
    return _of_real("cosh", x)


def tanh(x, /):
    """Return the hyperbolic tangent."""
    return _of_real("tanh", x)


def asinh(x, /):
    """Return the inverse of sinh."""
    return _of_real("asinh", x)


def acosh(x, /):
    """Return the inverse of cosh, for x >= 1."""
    return _of_real("acosh", x)


def atanh(x, /):
    """Return the inverse of tanh, for -1 < x < 1."""
    return _of_real("atanh", x)


def abs(x, /):
    """Return |x|; its slope at 0 is 0."""
    return apply("abs", asarray(x))


def positive(x, /):
    """Return x itself."""
    return asarray(x)


def square(x, /):
    """Return x * x."""
    return multiply(x, x)


def reciprocal(x, /):
    """Return 1 / x."""
    return divide(1.0, real(x))


def remainder(x1, x2, /):
    """Return x1 - x2 floor(x1 / x2), which has the sign of x2."""
    return binary("remainder", x1, x2)


def atan2(x1, x2, /):
    """Return the angle of the point with ordinate x1 and abscissa x2, from -pi to pi."""
    return elementwise("atan2", *real_pair(x1, x2))


def hypot(x1, x2, /):
    """Return sqrt(x1 ** 2 + x2 ** 2) without overflow."""
    return elementwise("hypot", *real_pair(x1, x2))


def copysign(x1, x2, /):
    """Return x1 with the sign of x2."""
    x1, x2 = real_pair(x1, x2)
    same = apply("equal", *broadcast(apply("signbit", x1), apply("signbit", x2)))
    return where(same, x1, negative(x1))


def logaddexp(x1, x2, /):
    """Return log(exp(x1) + exp(x2)) without overflow."""
    return elementwise("logaddexp", *real_pair(x1, x2))


def clip(x, /, min=None, max=None):
    """Return x, or the bound that it crosses; on the bound the slope of x is 1."""
    x = asarray(x)
    if min is not None:
        x = where(less(x, min), min, x)
    if max is not None:
        x = where(less(max, x), max, x)
    return x
