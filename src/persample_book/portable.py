"""Decisions on floating-point numbers that come out the same on every machine.

The last bits of exp, of a sum, of a matrix product differ between processors, libraries and
numbers of threads. Nobody sees them until they decide something: one action flips, and the rest
of a simulation is another one. These functions refuse a decision that is too close to call.
"""

import numpy as np

# In the book's runs a rounding error is below 1e-11 here (as a number, or as a share of the
# unit), and one decision in five hundred million comes within 1e-9 by chance.
MARGIN = 1e-9


def first_largest(values: np.ndarray, what: str = "a number") -> np.ndarray:
    """Return the index of the largest value along the last axis; of equal ones the first.

    Values count as equal if they differ by less than ``MARGIN``. A plain ``argmax`` chooses
    between such values by their last bits.

    Raises
    ------
    ArithmeticError
        "first_largest: a number is 1e-09 below the largest, just where it begins to count as
        equal, so the choice would depend on the machine; take another seed."

    Example
    -------
    >>> first_largest(np.array([[1.0, 3.0, 3.0 + 1e-15], [0.0, 0.0, -1.0]]))
    array([1, 0])
    """
    behind = values.max(axis=-1, keepdims=True) - values
    close = ~(np.abs(behind - MARGIN) > MARGIN / 1000)  # nan is refused as well
    if np.any(close):
        raise ArithmeticError(
            f"first_largest: {what} is {behind[close][0]:g} below the largest, just where it"
            " begins to count as equal, so the choice would depend on the machine; take another"
            " seed."
        )
    return (behind < MARGIN).argmax(axis=-1)
