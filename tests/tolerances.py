"""How far two computations of one number may differ: the only tolerances of the tests.

Relative and absolute at once, |a - b| <= t (1 + |b|): the tests' numbers are of order one.
"""

import numpy as np

FLOAT64 = 1e-9
FLOAT32 = 1e-5
FINITE_DIFFERENCES = 1e-6

OF_DTYPE = {"float64": FLOAT64, "float32": FLOAT32}


def assert_close(actual, expected, tolerance=FLOAT64):
    """Compare two trees of arrays leaf by leaf, shapes included."""
    if isinstance(expected, dict):
        assert set(actual) == set(expected)
        for key in expected:
            assert_close(actual[key], expected[key], tolerance)
    elif isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            assert_close(a, b, tolerance)
    else:
        assert np.shape(actual) == np.shape(expected)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
