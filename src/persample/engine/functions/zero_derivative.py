"""Functions whose derivative is zero: step functions, comparisons, booleans and bits.

`operations` has ``less``, ``less_equal``, ``equal`` and ``not_equal``, because VJP rules use them.
"""

import numpy as np

from ..operations import asarray, astype, binary, elementwise, less, less_equal, promote, titled
from .elementwise import real_pair, unary

# Names that namespace exports.
__all__ = ["bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or"]
__all__ += ["bitwise_right_shift", "bitwise_xor", "ceil", "floor", "floor_divide", "greater"]
__all__ += ["greater_equal", "isfinite", "isinf", "isnan", "logical_and", "logical_not"]
__all__ += ["logical_or", "logical_xor", "nextafter", "round", "sign", "signbit", "trunc"]

# True: integers and booleans are not converted to float64, as they are for signbit.
sign = unary("sign", "Return -1, 0 or 1, the sign of x; its derivative is zero.", True)
floor = unary("floor", "Return the largest integer not above x; its derivative is zero.", True)
ceil = unary("ceil", "Return the smallest integer not below x; its derivative is zero.", True)
trunc = unary("trunc", "Return x without its fraction; the derivative is zero.", True)
round = unary("round", "Return the nearest integer, in a tie the even one; derivative 0.", True)
isfinite = unary("isfinite", "Return whether each element is neither infinite nor NaN.", True)
isinf = unary("isinf", "Return whether each element is infinite.", True)
isnan = unary("isnan", "Return whether each element is NaN.", True)
signbit = unary("signbit", "Return whether the sign bit of each element is set, as it is of -0.0.")
floor_divide = binary("floor_divide", "Return the floor of x1 / x2; its derivative is zero.")
nextafter = binary(
    "nextafter", "Return the float next to x1 towards x2; its derivative is zero.", real_pair
)


def greater(x1, x2, /):
    """Return x1 > x2 for each element."""
    return less(x2, x1)


def greater_equal(x1, x2, /):
    """Return x1 >= x2 for each element."""
    return less_equal(x2, x1)


def _of_bits(name, *xs):
    wrong = [x.dtype for x in map(asarray, xs) if x.dtype.kind not in "iub"]
    if wrong:
        raise TypeError(f"{name}: {wrong[0]} has no bits; give integers or booleans.")
    return elementwise(name, *promote(*xs))


def _pair_of_bits(name, doc):
    def function(x1, x2, /):
        return _of_bits(name, x1, x2)

    return titled(function, name, doc)


bitwise_and = _pair_of_bits("bitwise_and", "Return the bits set in both; for booleans, x1 and x2.")
bitwise_or = _pair_of_bits(
    "bitwise_or", "Return the bits set in x1 or x2; for booleans, x1 or x2."
)
bitwise_xor = _pair_of_bits("bitwise_xor", "Return the bits that differ; for booleans, x1 != x2.")
bitwise_left_shift = _pair_of_bits(
    "bitwise_left_shift", "Return x1 with its bits moved to the left by x2 places."
)
bitwise_right_shift = _pair_of_bits(
    "bitwise_right_shift", "Return x1 with its bits moved to the right by x2 places."
)


def bitwise_invert(x, /):
    """Return x with every bit inverted; for booleans, not x."""
    return _of_bits("bitwise_invert", x)


def _boolean(x):
    return astype(asarray(x), np.bool)


def logical_not(x, /):
    """Return whether each element is zero or False."""
    return bitwise_invert(_boolean(x))


def logical_and(x1, x2, /):
    """Return whether both inputs are true, for each element."""
    return bitwise_and(_boolean(x1), _boolean(x2))


def logical_or(x1, x2, /):
    """Return whether at least one input is true, for each element."""
    return bitwise_or(_boolean(x1), _boolean(x2))


def logical_xor(x1, x2, /):
    """Return whether exactly one input is true, for each element."""
    return bitwise_xor(_boolean(x1), _boolean(x2))
