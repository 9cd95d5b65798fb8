"""The tolerances of all tests, and the comparison of trees.

Relative and absolute at once, |a - b| <= t (1 + |b|): the tests' numbers are of order one.
"""

import numpy as np
from optree import tree_flatten

FLOAT64 = 1e-9
FLOAT32 = 1e-5
FINITE_DIFFERENCES = 1e-6

OF_DTYPE = {"float64": FLOAT64, "float32": FLOAT32}


def assert_close(actual, expected, tolerance=FLOAT64, what=""):
    """Assert that two trees have equal structure and shapes, and values within ``tolerance``.

    The condition is |a - b| <= tolerance (1 + |b|); NaN equals NaN. If ``actual`` is one array,
    ``expected`` may be a list of numbers. ``what`` is put into the message of a failure.
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
