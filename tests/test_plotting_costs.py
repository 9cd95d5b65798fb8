"""The figures about cost draw the numbers they are given."""

import numpy as np
import pytest

from persample.book import plotting
from persample.book.plotting.decisions import WHICH_METHOD


def test_bars_have_their_lengths_and_their_places():
    figure = plotting.bars({"a": {"x": 3.0, "y": 40.0}, "b": {"y": 0.5}}, "ratio", dark=["y"])
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches] == [3.0, 40.0]
    assert np.isnan(right.patches[0].get_width())
    assert right.patches[1].get_width() == 0.5
    assert [text.get_text() for text in left.texts] == ["3", "40"]
    assert left.patches[0].get_facecolor() != left.patches[1].get_facecolor()
    low, high = left.get_xlim()
    assert low < 0.5
    assert high > 40
    assert left.get_xscale() == "log"


def test_bars_draw_the_level():
    figure = plotting.bars({"": {"x": 3.0}}, "ratio", level=2.0)
    assert list(figure.axes[0].lines[0].get_xdata()) == [2.0, 2.0]


def test_changes_draw_both_states():
    figure = plotting.changes({"a": (10.0, 2.0), "b": (5.0, 4.0)}, ("before", "after"), "ratio")
    *_, before, after = figure.axes[0].lines
    assert list(before.get_xdata()) == [10.0, 5.0]
    assert list(after.get_xdata()) == [2.0, 4.0]


def test_outer_products_shows_each_product_and_the_mean():
    delta, images = np.array([[1.0, -2.0], [0.5, 3.0]]), np.arange(12.0).reshape(2, 2, 3)
    grid = np.array(plotting.outer_products(delta, images, "ab").axes).reshape(3, 3)
    shown = [[axes.images[0].get_array() for axes in line[1:]] for line in grid]
    np.testing.assert_allclose(shown[1][1], 3.0 * images[1])
    np.testing.assert_allclose(shown[2][0], (images[0] + 0.5 * images[1]) / 2)
    assert [axes.get_title() for axes in grid[0]] == ["h", "a", "b"]


@pytest.mark.parametrize("figure", [plotting.which_method, plotting.why_none])
def test_decisions_ask_every_question(figure):
    texts = {text.get_text() for text in figure().axes[0].texts}
    assert {"yes", "no"} <= texts
    if figure is plotting.which_method:
        assert {question for question, *_ in WHICH_METHOD} <= texts
