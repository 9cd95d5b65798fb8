"""Functions whose derivative is zero: steps, comparisons, booleans and bits."""

import numpy as np

from ..operations import asarray, astype, binary, elementwise, less, less_equal
from ..primitives import apply
from .elementwise import real, real_pair


def sign(x, /):
    """Return -1, 0 or 1, the sign of x; its derivative is zero."""
    return apply("sign", asarray(x))


def floor(x, /):
    """Return the largest integer that is not above x; its derivative is zero."""
    return apply("floor", asarray(x))


def ceil(x, /):
    """Return the smallest integer that is not below x; its derivative is zero."""
    return apply("ceil", asarray(x))


def trunc(x, /):
    """Return x without its fraction; the derivative is zero."""
    return apply("trunc", asarray(x))


def round(x, /):
    """Return the nearest integer, the even one of two; its derivative is zero."""
    return apply("round", asarray(x))


def isfinite(x, /):
    """Say for each element whether it is neither infinite nor NaN."""
    return apply("isfinite", asarray(x))


def isinf(x, /):
    """Say for each element whether it is infinite."""
    return apply("isinf", asarray(x))


def isnan(x, /):
    """Say for each element whether it is NaN."""
    return apply("isnan", asarray(x))


def signbit(x, /):
    """Say for each element whether its sign is minus, that of -0.0 included."""
    return apply("signbit", asarray(real(x)))


def floor_divide(x1, x2, /):
    """Return the largest integer that is not above x1 / x2; its derivative is zero."""
    return binary("floor_divide", x1, x2)


def nextafter(x1, x2, /):
    """Return the number next to x1 in the direction of x2; its derivative is zero."""
    return elementwise("nextafter", *real_pair(x1, x2))


def greater(x1, x2, /):
    """Say for each element whether x1 > x2."""
    return less(x2, x1)


def greater_equal(x1, x2, /):
    """Say for each element whether x1 >= x2."""
    return less_equal(x2, x1)


def _of_bits(name, *xs):
    wrong = [x.dtype for x in map(asarray, xs) if x.dtype.kind not in "iub"]
    if wrong:
        raise TypeError(f"{name}: {wrong[0]} has no bits; give integers or booleans.")
    return binary(name, *xs) if len(xs) == 2 else apply(name, asarray(*xs))


def bitwise_and(x1, x2, /):
    """Return the bits set in both; of booleans: both hold."""
    return _of_bits("bitwise_and", x1, x2)


def bitwise_or(x1, x2, /):
    """Return the bits set in x1 or x2; of booleans: one holds."""
    return _of_bits("bitwise_or", x1, x2)


def bitwise_xor(x1, x2, /):
    """Return the bits that differ; of booleans: just one holds."""
    return _of_bits("bitwise_xor", x1, x2)


def bitwise_invert(x, /):
    """Return x with every bit inverted; of booleans: it does not hold."""
    return _of_bits("bitwise_invert", x)


def bitwise_left_shift(x1, x2, /):
    """Return x1 with its bits moved to the left by x2 places."""
    return _of_bits("bitwise_left_shift", x1, x2)


def bitwise_right_shift(x1, x2, /):
    """Return x1 with its bits moved to the right by x2 places."""
    return _of_bits("bitwise_right_shift", x1, x2)


def _boolean(x):
    return astype(asarray(x), np.bool)


def logical_not(x, /):
    """Say for each element whether it is zero or False."""
    return bitwise_invert(_boolean(x))


def logical_and(x1, x2, /):
    """Say for each element whether both inputs hold."""
    return bitwise_and(_boolean(x1), _boolean(x2))


def logical_or(x1, x2, /):
    """Say for each element whether at least one input holds."""
    return bitwise_or(_boolean(x1), _boolean(x2))


def logical_xor(x1, x2, /):
    """Say for each element whether just one input holds."""
    return bitwise_xor(_boolean(x1), _boolean(x2))
