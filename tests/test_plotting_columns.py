"""Bars beside lines of text, and the paths of sums, show the numbers that they were given."""

import numpy as np

from persample_book import plotting
from persample_book.plotting.columns import LETTERS

COLUMNS = {"loss": np.array([3.0, 2.0, 2.5]), "norm": np.array([1.0, 4.0, 1.5])}


def test_each_line_has_a_bar_of_its_number_in_every_column():
    lines = ["short", "x" * LETTERS, "y" * (LETTERS + 1)]
    names, *columns = plotting.text_and_bars(lines, COLUMNS, marked=1).axes
    assert [text.get_text() for text in names.texts] == [
        "short",
        "x" * LETTERS,
        "y" * (LETTERS - 1) + "…",
    ]
    for axes, (title, numbers) in zip(columns, COLUMNS.items(), strict=True):
        assert axes.get_title(loc="left") == title
        np.testing.assert_allclose([bar.get_width() for bar in axes.patches], numbers)
        assert [text.get_text() for text in axes.texts] == [f"{n:.1f}" for n in numbers]
        inks = [bar.get_facecolor() for bar in axes.patches]
        assert inks[0] == inks[2] != inks[1]
        assert axes.get_xlim()[0] == 0 < max(numbers) < axes.get_xlim()[1]
    heights = [text.get_position()[1] for text in names.texts]
    middles = [bar.get_y() + bar.get_height() / 2 for bar in columns[0].patches]
    np.testing.assert_allclose(heights, middles)  # a text stands by its own bars


def test_a_dot_is_as_far_from_the_start_as_its_sum_is_long():
    rng = np.random.default_rng(0)
    terms = {"a": rng.normal(size=(7, 40)), "b": 1 + 0.1 * rng.normal(size=(7, 40))}
    figure = plotting.sum_of_terms(terms)
    for axes, (name, of) in zip(figure.axes, terms.items(), strict=True):
        assert axes.get_title(loc="left") == name
        places = axes.lines[0].get_xydata()
        typical = np.sqrt(np.mean([np.sum(term**2) for term in of]))
        sums = [np.linalg.norm(of[:n].sum(0)) / typical for n in range(8)]
        np.testing.assert_allclose(np.hypot(*places.T), sums, atol=1e-12)
        np.testing.assert_allclose(places[-1], [sums[-1], 0], atol=1e-12)
        assert [text.get_text() for text in axes.texts] == [f"{sums[-1]:.1f}"]
        assert axes.get_aspect() == 1
        assert axes.get_xlim()[0] < 0 < sums[-1] < axes.get_xlim()[1]
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()


def test_equal_terms_go_straight_and_orthogonal_ones_reach_the_root():
    straight, bent = plotting.sum_of_terms({"=": np.ones((9, 4)), "+": np.eye(9)}).axes
    np.testing.assert_allclose(straight.lines[0].get_xydata()[:, 0], range(10))
    np.testing.assert_allclose(straight.lines[0].get_xydata()[:, 1], 0, atol=1e-7)
    np.testing.assert_allclose(bent.lines[0].get_xydata()[-1], [3, 0], atol=1e-7)
