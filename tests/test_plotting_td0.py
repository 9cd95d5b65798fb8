"""The figures of the two pages on TD(0) draw the numbers they are given, and name them."""

import numpy as np
import pytest

from persample_book import plotting
from persample_book.colours import METHODS


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_rows_end_with_their_mean_and_say_what_a_sign_means():
    figure = plotting.rows(np.array([[1.0, -2.0], [3.0, 2.0]]), ["a", "b"], ["x", "y"])
    (axes,) = figure.axes
    assert texts(axes) == ["1", "-2", "3", "2", "2", "0"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "mean"]
    negative, positive = axes.patches[1], axes.patches[3]  # -2 and 2
    (legend,) = figure.legends
    keys = dict(zip([t.get_text() for t in legend.get_texts()], legend.get_patches(), strict=True))
    (raises,) = (patch for text, patch in keys.items() if text.startswith("negative"))
    (lowers,) = (patch for text, patch in keys.items() if text.startswith("positive"))
    # The hue of a number is that of its key: orange has more red than blue, purple less.
    for patch, key in ((negative, raises), (positive, lowers)):
        sides = [np.sign(p.get_facecolor()[0] - p.get_facecolor()[2]) for p in (patch, key)]
        assert sides[0] == sides[1] != 0
    assert not plotting.rows(np.ones((1, 1)), ["a"], ["x"], key=False).legends


def test_a_small_number_of_rows_is_told_from_zero_by_its_colour():
    figure = plotting.rows(np.array([[1.0, 0.06, 0.0]]), ["a"], ["x", "y", "z"])
    _, small, zero = [np.array(p.get_facecolor()) for p in figure.axes[0].patches[:3]]
    assert np.abs(small - zero).max() > 0.05


def test_the_ladder_has_a_panel_for_each_backend_and_marks_one_gradient():
    times = {
        name: {"loop": {"1": 1.0, "10": 9.0}, "jit": {"1": 0.1, "10": 0.2}} for name in ("a", "b")
    }
    figure = plotting.ladder(times)
    first, second = figure.axes
    assert first.get_position().y0 > second.get_position().y1  # stacked
    for axes in (first, second):
        loop, jit, unit = axes.lines
        assert (list(loop.get_ydata()), list(jit.get_xdata())) == ([1.0, 9.0], [1, 10])
        assert (loop.get_color(), jit.get_color()) == (METHODS["loop"], METHODS["vmap + jit"])
        assert list(unit.get_ydata()) == [1, 1]
        assert {"loop", "vmap + jit"} <= set(texts(axes))
    assert "one gradient" in texts(second)


def test_values_of_states_are_marked_at_the_true_ones():
    truth = np.array([0.25, 0.5, 0.75])
    (axes,) = plotting.values_of_states("ABC", truth, {"learned": [0.2, 0.5, 0.8]}).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1/4", "2/4", "3/4"]
    assert list(axes.get_yticks()) == list(truth)
    assert list(axes.lines[0].get_ydata()) == [0.2, 0.5, 0.8]


def test_learned_values_are_drawn_against_the_counted_ones():
    counted, learned = np.array([-2.0, 0.0]), np.array([-1.0, 0.5])
    (axes,) = plotting.against_truth(counted, learned, "value").axes
    assert np.array_equal(axes.collections[0].get_offsets(), np.stack([counted, learned], 1))
    (equal,) = axes.lines
    assert list(equal.get_xdata()) == list(equal.get_ydata()) == [-2.0, 0.5]


def test_rewards_are_drawn_as_a_mean_and_the_range_of_the_seeds():
    totals = {"a": np.array([[-4, -2, 0, 0], [-8, -6, 0, -4]])}  # means over two: -3, 0; -7, -2
    (axes,) = plotting.rewards(totals, 2, (-1.0, "best")).axes
    assert list(axes.lines[0].get_xdata()) == [2, 4]
    assert list(axes.lines[0].get_ydata()) == [-5, -1]
    area = axes.collections[0].get_paths()[0].vertices
    assert {tuple(corner) for corner in area} >= {(2, -7), (2, -3), (4, -2), (4, 0)}
    assert list(axes.lines[1].get_ydata()) == [-1, -1]
    assert sorted(texts(axes)) == ["a", "best"]


def test_the_names_of_a_grid_do_not_stand_on_the_paths():
    (axes,) = plotting.grid_paths((2, 3), {"p": [3, 0, 1, 2, 5], "q": [3, 4, 5]}, [4]).axes
    named = {text.get_text(): text for text in axes.texts}
    lowest = max(line.get_ydata().max() for line in axes.lines)
    for name in "SG":
        assert named[name].get_position()[1] > lowest + 0.2
    for line in axes.lines:
        assert named[line.get_label()].get_color() == line.get_color()


@pytest.mark.parametrize(
    ("figure", "wanted"),
    [
        (plotting.a_split, {"A", "B", "C", "1/2", "reward 1", "reward 0"}),
        (plotting.a_presplit, {"A1", "A2", "B", "C", "one weight", "reward 1", "reward 0"}),
        (plotting.seven_states, {*"1234567", "$2\\theta_6$\n$+\\theta_8$"}),
    ],
)
def test_a_diagram_names_its_states_and_rewards(figure, wanted):
    assert wanted <= set(texts(figure().axes[0]))


def test_a_level_may_be_named_on_the_left():
    for side, x in (("left", 0.01), ("right", 1)):
        lines = {"a": [1.0, 2.0]}
        figure = plotting.curves([0, 1], lines, "x", "y", level=(1.5, "half"), level_side=side)
        (name,) = figure.axes[0].texts
        assert (name.get_text(), name.xy, name.get_ha()) == ("half", (x, 1.5), side)


def test_names_at_ends_are_moved_apart_only_where_the_ends_are_close():
    for lengths, shifts in (((30, 60), [0, 0]), ((60, 60), [0, 14])):
        lines = {str(i): np.linspace(1, 2, n) for i, n in enumerate(lengths)}
        (axes,) = plotting.curves(np.arange(60), lines, "x", "y", legend="ends").axes
        assert np.allclose([text.xyann[1] for text in axes.texts], shifts)


def test_curves_take_a_dash_and_a_height():
    figure = plotting.curves([0, 1], {"a": [1, 2]}, "x", "y", dashes={"a": ":"}, height=2.0)
    assert figure.axes[0].lines[0].get_linestyle() == ":"
    assert figure.get_figheight() == 2.0


def test_a_mark_may_be_for_some_curves_only_and_a_figure_narrow():
    lines = {"a": [1, 2], "b": [2, 1]}
    figure = plotting.curves([0, 1], lines, "x", "y", marker={"a": "o"}, width=4.0)
    assert [line.get_marker() for line in figure.axes[0].lines] == ["o", ""]
    assert figure.get_figwidth() == 4.0
    both = plotting.curves([0, 1], lines, "x", "y", marker="s").axes[0]
    assert [line.get_marker() for line in both.lines] == ["s", "s"]


def test_no_arrow_leads_back_from_an_exit():
    (axes,) = plotting.chain("AB", "left", "right").axes
    arrows = [text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None)]
    heads = [arrow.get_arrowstyle().arrow for arrow in arrows]
    assert heads == ["<-", "<->", "->"]  # drawn from left to right


def test_the_cells_of_one_sample_are_coloured():
    arguments = {"theta": (1, 2, None), "x": (3, 4, 0)}
    (axes,) = plotting.axes_of_arguments(arguments, chosen=2).axes
    colours = [patch.get_facecolor() for patch in axes.patches]
    own = [colour == colours[0] for colour in colours]
    assert own == [True] * 2 + [False] * 8 + [True] * 4 + [False] * 4 + [True] * 2
    assert {"theta", "x", "rows", "None", "0"} <= set(texts(axes))
