"""Figures of rows, of the losses of a list, and of repeated runs: each draws what it is given."""

import numpy as np
import pytest

from persample_book.plotting import (
    arrows,
    clouds,
    curves,
    held,
    lifetimes,
    spread,
    token_weights,
    walks,
)


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_arrows_end_at_the_rows_and_the_named_vectors():
    rows, mean = np.array([[1.0, 2], [3, -4]]), np.array([2.0, -1])
    (axes,) = arrows(rows, {"mean": mean}, "x", "y", circle=5.0).axes
    assert [tuple(line.get_xydata()[-1]) for line in axes.lines[:3]] == [(1, 2), (3, -4), (2, -1)]
    assert texts(axes) == ["1", "2", "mean"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert all(left < x < right and low < y < high for x, y in [*rows, mean, (-5, 0), (5, 5)])
    assert np.allclose(np.hypot(*axes.lines[-1].get_xydata().T), 5)


def test_what_was_held_is_drawn_in_kibibytes():
    (axes,) = held([1, 64], {"in a list": np.array([2048, 131072])}).axes
    assert axes.lines[0].get_ydata().tolist() == [2, 128]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["3", "10", "30", "100"]


@pytest.mark.parametrize(("beside", "alignment"), [((2.0, 1.0), "right"), ((-1.0, 1.0), "left")])
def test_a_name_stands_away_from_the_other_arrows(beside, alignment):
    (axes,) = arrows(np.array([beside]), {"mean": np.array([0.2, 1.0])}, "x", "y").axes
    (name,) = (text for text in axes.texts if text.get_text() == "mean")
    assert name.get_horizontalalignment() == alignment  # a name that ends at the tip: "right"


KINDS = ["one sample", "noise", "mean"]


def test_clouds_show_mean_and_noise():
    points = np.array([[0.0, 0], [2, 4]])
    figure = clouds({"a": points, "b": -3 * points}, "x", "y")
    first, second = figure.axes
    for axes, factor in (first, 1), (second, -3):
        circle, arrow = (line.get_xydata() for line in axes.lines)
        assert np.array_equal(arrow, [[0, 0], [factor, 2 * factor]])
        distances = np.hypot(*(circle - arrow[1]).T)
        assert np.allclose(distances, abs(factor) * np.sqrt(5))  # each point is that far away
    assert first.get_xlim() == second.get_xlim()
    assert first.get_ylim() == second.get_ylim()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == KINDS


def test_the_legend_of_clouds_takes_the_place_of_a_missing_panel():
    figure = clouds(dict.fromkeys("abc", np.eye(2)), "x", "y")
    *panels, rest = figure.axes
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in panels] == [
        ("", "y"), ("x", ""), ("x", "y")
    ]  # fmt: skip
    assert not figure.legends
    assert [text.get_text() for text in rest.get_legend().get_texts()] == KINDS


def test_curves_may_mark_their_points():
    marked = curves([1, 2], {"a": [1, 2]}, "x", "y", marker="o").axes[0].lines[0]
    plain = curves([1, 2], {"a": [1, 2]}, "x", "y").axes[0].lines[0]
    assert (marked.get_marker(), plain.get_marker()) == ("o", "")


def test_spread_draws_the_median_between_the_quartiles():
    runs = np.arange(5.0)[:, None] * np.ones(3)
    (axes,) = spread([0, 1, 2], {"a": runs}, "x", "y", level=(4, "limit")).axes
    assert np.array_equal(axes.lines[0].get_ydata(), [2, 2, 2])
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1, 3)
    assert texts(axes) == ["limit", "a"]


@pytest.mark.parametrize("log", ["", "y"])
def test_names_stand_at_the_ends_and_apart(log):
    lines = {"high": [1, 9.9], "low": [1, 2.0], "highest": [1, 10.0]}
    figure = curves([1, 5], lines, "x", "y", log=log, legend="ends", colours={"low": "#010203"})
    (axes,) = figure.axes
    assert axes.get_legend() is None
    figure.canvas.draw()
    names = {text.get_text(): text for text in axes.texts}
    boxes = {name: text.get_window_extent() for name, text in names.items()}
    assert not boxes["high"].overlaps(boxes["highest"])
    assert boxes["low"].y1 < boxes["high"].y0 < boxes["highest"].y0
    assert names["low"].get_color() == axes.lines[1].get_color() == "#010203"
    assert names["low"].xy == (5, 2.0)


def test_a_loop_carries_zeros_and_vmap_does_not():
    loop, vmap = walks(3).axes
    assert texts(loop) == ["1", "0", "0", "0", "1", "0", "0", "0", "1"]
    assert texts(vmap) == ["1", "1", "1"]
    assert len({patch.get_facecolor() for patch in loop.patches}) == 2


def test_a_graph_lives_from_its_building_to_its_end():
    (one, other) = lifetimes({"a": [(0, 2, 3), (1, 2, 5)], "b": [(0, 1, 4)]}).axes
    assert one.get_title(loc="left") == "a"
    assert [tuple(line.get_xdata()) for line in one.lines[::2]] == [(0, 3), (1, 5)]
    assert [line.get_xdata()[0] for line in one.lines[1::2]] == [2, 2]
    assert other.get_xlim() == (0, 5)


def test_the_weights_of_tokens_add_up_to_one():
    (axes,) = token_weights([1, 4], "wanted").axes
    heights = [patch.get_height() for patch in axes.patches]
    assert np.allclose(heights, [0.5, 0.125, 0.125, 0.125, 0.125])
    assert np.allclose(axes.lines[0].get_ydata(), 0.2)
    assert texts(axes) == ["micro-batch 1:\n1 tokens", "micro-batch 2: 4 tokens", "wanted"]
