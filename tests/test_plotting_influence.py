"""The figures about influence draw the numbers they are given."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from persample.book import plotting
from persample.book.colours import COLOURS


def points(axes):
    """Return (x, y, colour) of every scattered point, in the order of drawing."""
    found = []
    for drawn in axes.collections:
        colours = drawn.get_facecolors()
        for i, (x, y) in enumerate(np.asarray(drawn.get_offsets())):
            found.append((x, y, to_hex(colours[i % len(colours)])))
    return found


def test_responsible_shows_the_image_and_the_eight_with_both_labels():
    images = np.arange(9 * 4, dtype=float).reshape(9, 2, 2)
    figure = plotting.responsible(images[8], "a 9, read as 0", images[:8], range(8), "abcdefgh")
    first, *others = figure.axes
    assert first.get_title() == "a 9, read as 0"
    assert len(others) == 8
    for k, axes in enumerate(others):
        assert [text.get_text() for text in axes.texts] == [f"{k} → ", "abcdefgh"[k]]
        ink = np.asarray(axes.images[0].get_array())[..., 3]
        np.testing.assert_allclose(ink, 0.08 + 0.92 * images[k] / images[k].max())


def test_an_image_too_many_is_refused():
    images = np.ones((9, 2, 2))
    with pytest.raises(ValueError, match="zip"):
        plotting.responsible(images[0], "", images[:8], range(8), "abc")


def test_left_out_draws_points_lines_and_the_share():
    data = np.array([[0.0, 1.0], [1.0, 2.0], [9.0, 0.0]])
    lines = {"all": np.array([1.0, 0.5]), "without it": np.array([1.0, 1.0])}
    h, share = np.array([0.3, 0.2, 0.9]), np.array([0.7, 0.8, 0.1])
    above, below = plotting.left_out(data, lines, h, share, marked=2).axes
    assert [p[:2] for p in points(above)] == [tuple(point) for point in data]
    assert [p[:2] for p in points(below)] == list(zip(h, share, strict=True))
    marked = [p[2] == COLOURS[1].lower() for p in points(above)]
    assert marked == [p[2] == COLOURS[1].lower() for p in points(below)] == [False, False, True]
    drawn = {line.get_label(): list(line.get_ydata()) for line in above.lines}
    assert {text.get_text() for text in above.texts} == set(drawn)
    assert drawn == {"all": [1.0, 5.5], "without it": [1.0, 10.0]}
    (line,) = below.lines
    assert list(line.get_ydata()) == [1 - x for x in line.get_xdata()]


def test_against_refits_has_a_panel_each_and_marks_in_each_its_own():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 5)), rng.normal(size=(2, 3))
    marked = [np.array([True, False, False, True, False]), np.zeros(3, bool)]
    figure = plotting.against_refits({"one": tuple(one), "two": tuple(two)}, marked, "special")
    for axes, title, (x, y), chosen in zip(
        figure.axes, ("one", "two"), (one, two), marked, strict=True
    ):
        assert axes.get_title(loc="left") == title
        wanted = {(a, b, bool(c)) for a, b, c in zip(x, y, chosen, strict=True)}
        assert {(a, b, ink == COLOURS[1].lower()) for a, b, ink in points(axes)} == wanted
        assert [t.get_text() for t in axes.texts] == ["special"] * bool(chosen.any())
        (line,) = axes.lines
        assert list(line.get_xdata()) == list(line.get_ydata())
        low, high = axes.get_xlim()
        assert low < min(x.min(), y.min()) < max(x.max(), y.max()) < high
