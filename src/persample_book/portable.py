"""Decisions on floating-point numbers that come out the same on every machine.

The last bits of exp, of a sum, of a matrix product differ between processors, libraries and
numbers of threads. Nobody sees them until they decide something: one action flips, and the rest
of a simulation is another one. These functions refuse a decision that is too close to call.
"""

import numpy as np

# In the book's runs a rounding error is below 1e-11 here (as a number, or as a share of the
# unit), and one decision in five hundred million comes within 1e-9 by chance.
MARGIN = 1e-9


def rounded(x: np.ndarray, unit: float, what: str = "a number") -> np.ndarray:
    """Return x rounded to the nearest whole multiple of ``unit``.

    This forgets the last bits of x, so that they cannot grow in what is computed from the result.
    They could still choose between two multiples where x lies half-way, and this is refused.

    Parameters
    ----------
    x : floats, of any shape. unit : a positive number. what : names x in an error.

    Returns
    -------
    np.ndarray : of the shape of x.

    Raises
    ------
    ArithmeticError
        "rounded: a number is 2.5 units of 0.1, half-way between two multiples to within 1e-09, so
        its rounding would depend on the machine; take another seed or another unit."

    Example
    -------
    >>> rounded(np.array([0.1, 0.1 + 1e-16, 0.74]), 0.25)
    array([0.  , 0.  , 0.75])
    """
    multiples = np.asarray(x) / unit
    nearest = np.rint(multiples)
    close = ~(np.abs(multiples - nearest) < 0.5 - MARGIN)  # nan is refused as well
    if np.any(close):
        raise ArithmeticError(
            f"rounded: {what} is {multiples[close][0]:g} units of {unit:g}, half-way between two"
            f" multiples to within {MARGIN:g}, so its rounding would depend on the machine; take"
            " another seed or another unit."
        )
    return nearest * unit + 0.0  # no -0


def below(x: np.ndarray, bound: np.ndarray, what: str = "a number") -> np.ndarray:
    """Return where x < bound, unless a rounding error could turn the answer.

    Parameters
    ----------
    x, bound : floats of one shape. what : names x in an error.

    Raises
    ------
    ArithmeticError
        "below: a number is its bound 0.5 to within 1e-09, so which is less would depend on the
        machine; take another seed."

    Example
    -------
    >>> below(np.array([0.2, 0.7]), np.array([0.5, 0.5]))
    array([ True, False])
    """
    close = ~(np.abs(x - bound) > MARGIN)  # nan is refused as well
    if np.any(close):
        raise ArithmeticError(
            f"below: {what} is its bound {bound[close][0]:g} to within {MARGIN:g}, so which is"
            " less would depend on the machine; take another seed."
        )
    return x < bound
