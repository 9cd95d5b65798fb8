"""The figure of outcomes draws every run and marks the ways that it is told to."""

import numpy as np

from persample_book import plotting


def test_every_run_is_a_dot_on_the_line_of_its_way():
    panels = {"left": {"a": [3.0, 50.0], "b": [90.0]}, "right": {"a": [4.0], "b": [80.0, 81.0]}}
    figure = plotting.outcomes(panels, "percent", {"b": "#112233"})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["left", "right"]
    for axes, runs in zip(figure.axes, panels.values(), strict=True):
        drawn = {line.get_label(): line for line in axes.lines}
        for place, way in enumerate("ab"):
            np.testing.assert_array_equal(drawn[way].get_xdata(), runs[way])
            heights = np.asarray(drawn[way].get_ydata())
            assert len(set(heights)) == len(runs[way])  # no dot hides another
            assert abs(heights - place).max() < 0.3  # far from the next line
        assert axes.get_xlim() == (0, 100)
        assert drawn["b"].get_color() == "#112233" != drawn["a"].get_color()
    names = figure.axes[0].get_yticklabels()
    assert [name.get_text() for name in names] == ["a", "b"]
    assert [name.get_weight() for name in names] == ["normal", "bold"]
    assert figure.get_supxlabel() == "percent"


def test_the_ink_is_that_of_the_page():
    figure = plotting.outcomes({"": {"a": [1.0]}}, "percent", {}, ink="#e6edf3")
    (axes,) = figure.axes
    assert {label.get_color() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())} == {
        "#e6edf3"
    }
