"""How far two computations of one number may differ: the only tolerances of the tests.

Relative and absolute at once, |a - b| <= t (1 + |b|): the tests' numbers are of order one.
"""

import numpy as np
from optree import tree_flatten

FLOAT64 = 1e-9
FLOAT32 = 1e-5
FINITE_DIFFERENCES = 1e-6

OF_DTYPE = {"float64": FLOAT64, "float32": FLOAT32}


def assert_close(actual, expected, tolerance=FLOAT64, what=""):
    """Compare two trees of arrays: structure, shapes, and values (NaN equals NaN).

    Where the actual tree has an array, a list of numbers may be expected.
    """
    actual, one = tree_flatten(actual)
    if one.is_leaf():
        expected = [expected]
    else:
        expected, other = tree_flatten(expected)
        assert one == other, f"{what}: structure {one} and {other}"
    for x, y in zip(actual, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, f"{what}: shape {x.shape} and {y.shape}"
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=what)
