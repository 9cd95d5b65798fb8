"""The figures about cost draw the numbers they are given."""

import numpy as np
import pytest
from contrast import contrast, on_a_dark_page
from matplotlib.colors import to_rgb

from persample_book import measured, plotting
from persample_book.plotting.style import for_text

INKS = {"x": "#112233", "y": "#445566"}


def test_a_single_dot_stands_at_its_number_and_says_it():
    figure = plotting.dots({"a": {"x": 3.0, "y": 40.0}, "b": {"y": 0.5}}, "ratio", colours=INKS)
    first, second = figure.axes
    dots = [line for line in first.lines if line.get_marker() == "o"]
    assert [list(dot.get_xdata()) for dot in dots] == [[3.0], [40.0]]
    assert [list(dot.get_ydata()) for dot in dots] == [[0], [1]]
    assert [dot.get_color() for dot in dots] == ["#112233", "#445566"]
    assert [text.get_text() for text in first.texts] == ["3", "40"]
    assert [text.get_text() for text in second.texts] == ["0.5"]
    assert [label.get_text() for label in second.get_yticklabels()] == ["y"]
    assert first.get_xscale() == "log"


def test_dots_of_several_states_have_a_marker_for_each_and_leave_out_what_is_not_there():
    states = ("before", "between", "after")
    values = {"x": (10.0, 2.0, np.nan), "y": (5.0, 7.0, 4.0)}
    figure = plotting.dots({"": values}, "time", colours=INKS, states=states)
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata())]
    joined = [tuple(line.get_xdata()) for line in lines if line.get_marker() == "None"]
    assert joined == [(2.0, 10.0), (4.0, 7.0)]
    squares = [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "s"]
    assert squares == [2.0, 7.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(states)


def test_states_that_agree_do_not_hide_one_another():
    figure = plotting.dots({"": {"x": (3.0, 3.0, 3.0)}}, "time", colours=INKS, states="abc")
    drawn = [line for line in figure.axes[0].lines if list(line.get_xdata()) == [3.0]]
    heights = [float(line.get_ydata()[0]) for line in drawn]
    assert len(drawn) == 3
    assert heights == sorted(set(heights))
    assert -0.5 < heights[0] < heights[1] == 0 < heights[2] < 0.5


def test_dots_draw_the_level_with_its_name():
    figure = plotting.dots({"": {"x": 3.0}}, "ratio", colours=INKS, level=(2.0, "reference"))
    axes = figure.axes[0]
    assert [2.0, 2.0] in [list(line.get_xdata()) for line in axes.lines]
    assert "reference" in [text.get_text() for text in axes.texts]


def test_gram_or_direct_says_on_which_side_which_is_cheaper():
    axes = plotting.gram_or_direct([1.0, 4.0], {"products": [0.5, 2.0]}).axes[0]
    places = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert places["direct form cheaper"] > places["Gram form cheaper"]
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.5, 2.0], [1, 1]]


def test_outer_products_shows_each_product_and_the_mean():
    z_bar, images = np.array([[1.0, -2.0], [0.5, 3.0]]), np.arange(12.0).reshape(2, 2, 3)
    grid = np.array(plotting.outer_products(z_bar, images, "ab").axes).reshape(3, 3)
    shown = [[axes.images[0].get_array() for axes in line[1:]] for line in grid]
    np.testing.assert_allclose(shown[1][1], 3.0 * images[1])
    np.testing.assert_allclose(shown[2][0], (images[0] + 0.5 * images[1]) / 2)
    assert [axes.get_title() for axes in grid[0]] == ["image h", "class a", "class b"]


def test_peak_memory_names_each_curve_beside_it_and_hides_none():
    names = ("Opacus", "torch.func vmap", "record", "chunks of 32", "clipped sum")
    names += ("clipped sum, Opacus",)
    peaks = {name: {2**n: 2.0**n for n in range(5, 12)} for name in names}
    axes = plotting.peak_memory(peaks, dict.fromkeys(names, "#112233"), (500.0, "full")).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines["Opacus"].get_xdata()) == list(peaks["Opacus"])
    assert lines["torch.func vmap"].get_zorder() > lines["record"].get_zorder()
    assert lines["torch.func vmap"].get_linestyle() == "--" != lines["record"].get_linestyle()
    texts = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert texts == [*names, "full"]


DARK = to_rgb("#14181d")  # the ground of a dark page


@pytest.mark.parametrize("name", measured.PEAKS)
def test_the_names_of_curves_can_be_read_on_a_light_and_a_dark_page(name):
    colour = for_text(measured.COLOURS[name])
    assert contrast(colour, (1, 1, 1)) >= 4.5
    assert contrast(on_a_dark_page(colour), DARK) >= 4.5
