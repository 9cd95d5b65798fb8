"""The figures of chapter 3: each draws what it is given, with names and axes."""

import numpy as np

from persample.book.plotting import arrows, clouds, spread


def test_arrows_end_at_the_rows_and_the_named_vectors():
    rows, mean = np.array([[1.0, 2], [3, -4]]), np.array([2.0, -1])
    figure = arrows({"rows": (rows, {"mean": mean}), "none": (rows, {})}, "x", "y", circle=0.5)
    left, right = figure.axes
    tips = [tuple(line.get_xydata()[-1]) for line in left.lines[:3]]
    assert tips == [(1, 2), (3, -4), (2, -1)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mean"]
    assert (left.get_title(), left.get_xlabel(), left.get_ylabel()) == ("rows", "x", "y")
    assert left.get_xlim() == right.get_xlim()


def test_clouds_mark_the_means():
    points = np.array([[0.0, 0], [2, 4]])
    figure = clouds({"a": points, "b": -points}, "x", "y")
    assert [tuple(axes.lines[0].get_xydata()[0]) for axes in figure.axes] == [(1, 2), (-1, -2)]


def test_spread_draws_the_median_between_the_quartiles():
    runs = np.arange(5.0)[:, None] * np.ones(3)
    (axes,) = spread([0, 1, 2], {"a": runs}, "x", "y", level=(4, "limit")).axes
    assert np.array_equal(axes.lines[0].get_ydata(), [2, 2, 2])
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1, 3)
    assert axes.texts[0].get_text() == "limit"
