"""Decisions that the last bit of a number cannot change."""

import numpy as np
import pytest

from persample_book.portable import MARGIN, below, rounded


@pytest.mark.parametrize("unit", [1, 0.25, 1e-4])
def test_rounding_gives_the_nearest_multiple_and_forgets_the_last_bits(unit):
    rng = np.random.default_rng(0)
    multiples = rng.integers(-1000, 1000, 500)
    x = (multiples + rng.uniform(-0.49, 0.49, 500)) * unit
    assert np.array_equal(rounded(x, unit), multiples * unit)
    for ulps in (-8, 8):
        assert np.array_equal(rounded(x + ulps * np.spacing(x), unit), rounded(x, unit))
    assert not np.signbit(rounded(np.array([-0.1, -0.0]), 1)).any()


def test_half_way_is_refused_and_nearly_half_way_is_rounded():
    text = r"rounded: a weight is .* units of 0.01, half-way between two multiples to within 1e-09"
    for share in (0.5, 0.5 - MARGIN / 2, 0.5 + MARGIN / 2, -0.5, 7.5):
        with pytest.raises(ArithmeticError, match=text):
            rounded(np.array([0.3, share]) * 0.01, 0.01, "a weight")
    for share in (0.5 - 3 * MARGIN, 0.5 + 3 * MARGIN):
        assert rounded(np.array([share]), 1) == round(share)


def test_what_is_no_number_is_refused():
    for bad in (np.nan, np.inf):
        with pytest.raises(ArithmeticError, match="rounded"), np.errstate(invalid="ignore"):
            rounded(np.array([bad]), 1)
    with pytest.raises(ArithmeticError, match="below"):
        below(np.array([np.nan]), np.array([0.5]))


def test_below_compares_and_refuses_what_is_too_close():
    bound = np.array([0.5, 0.5])
    assert np.array_equal(below(np.array([0.5 - 3 * MARGIN, 0.5 + 3 * MARGIN]), bound), [1, 0])
    for x in (0.5, 0.5 + MARGIN / 2, 0.5 - MARGIN / 2):
        with pytest.raises(ArithmeticError, match="below: a draw is its bound 0.5 to within"):
            below(np.array([0.1, x]), bound, "a draw")
