"""The figure of rows on several devices draws the rows it is given."""

import numpy as np

from persample.book import plotting


def test_equal_rows_are_one_arrow_with_all_their_samples():
    rows = np.array([[1.0, 2], [3, 1], [-1, -2], [0, -3]])
    alike = np.array([[1.0, 2], [3, 1], [1, 2], [3, 1]])
    figure = plotting.rows_by_devices({"one": rows, "two": alike, "four": rows[[0, 0, 0, 0]]})
    one, two, four = figure.axes[:3]
    for axes, tips, names in (
        (one, rows, {"0", "1", "2", "3"}),
        (two, alike[:2], {"0, 2", "1, 3"}),
        (four, rows[:1], {"all"}),
    ):
        drawn = {text.get_text(): tuple(text.xy) for text in axes.texts if text.get_text()}
        assert set(drawn) == names
        assert set(drawn.values()) == set(map(tuple, tips))
        arrows = [text for text in axes.texts if not text.get_text()]
        assert {tuple(arrow.xy) for arrow in arrows} == set(map(tuple, tips))
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        assert all(left < x < right and low < y < high for x, y in [*tips, (0, 0)])
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["one", "two", "four"]
    colours = [axes.lines[0].get_color() for axes in (one, two, four)]
    assert colours[0] != colours[1] == colours[2]
    assert one.get_xlim() == two.get_xlim()
