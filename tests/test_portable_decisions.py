"""Decisions that the last bit of a number cannot change."""

import numpy as np
import pytest

from persample_book.portable import MARGIN, first_largest


def test_the_first_of_equal_values_is_chosen_whatever_their_last_bits():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (200, 4)) / 3
    shaken = values + rng.integers(-8, 9, values.shape) * np.spacing(values)
    assert np.array_equal(first_largest(shaken), values.argmax(1))
    assert not np.array_equal(shaken.argmax(1), values.argmax(1))  # why it is needed
    for behind in (MARGIN, np.nan):
        with pytest.raises(ArithmeticError, match="a value is .* below the largest"):
            first_largest(np.array([1.0, 1.0 - behind]), "a value")
    assert first_largest(np.array([1.0 - 2 * MARGIN, 1.0])) == 1
    assert first_largest(np.array([1.0 - MARGIN / 2, 1.0])) == 0
