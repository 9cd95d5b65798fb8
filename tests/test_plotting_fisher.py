"""The figures about the Fisher draw the weights and the lines that they are given."""

import numpy as np

from persample_book import plotting


def test_against_fisher_draws_the_weights_above_the_least_one_panel_for_each_program():
    exact = np.array([1e-6, 1e-3, 1e-2, 0.0])
    programs = {"one": exact * 0.5, "other": exact[::-1]}
    figure = plotting.against_fisher(exact, programs, least=1e-4)
    for axes, (title, estimate) in zip(figure.axes, programs.items(), strict=True):
        assert axes.get_title(loc="left") == title
        (drawn,) = axes.collections
        wanted = np.column_stack([exact, estimate / np.where(exact, exact, 1)])[1:3]
        np.testing.assert_allclose(np.asarray(drawn.get_offsets()), wanted)
        (line,) = axes.lines
        np.testing.assert_allclose(line.get_ydata(), 1)
        assert axes.get_xscale() == axes.get_yscale() == "log"


def test_steps_of_a_line_draws_each_line_over_the_points():
    points = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 0.0]])
    lines = {"start": np.array([1.0, 1.0]), "end": np.array([0.0, 2.0])}
    figure = plotting.steps_of_a_line(points, lines)
    (axes,) = figure.axes
    np.testing.assert_allclose(np.asarray(axes.collections[0].get_offsets()), points)
    for drawn, name in zip(axes.lines, lines, strict=True):
        intercept, slope = lines[name]
        np.testing.assert_allclose(
            drawn.get_xydata(), [[0, intercept], [2, intercept + 2 * slope]]
        )
        assert drawn.get_label() == name
    assert {text.get_text() for text in axes.texts} == set(lines)
