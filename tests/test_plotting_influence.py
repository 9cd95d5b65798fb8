"""The figures about influence draw the numbers they are given."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from persample_book import plotting
from persample_book.colours import COLOURS


def points(axes):
    """Return (x, y, colour) of every scattered point, in the order of drawing."""
    found = []
    for drawn in axes.collections:
        colours = drawn.get_facecolors()
        for i, (x, y) in enumerate(np.asarray(drawn.get_offsets())):
            found.append((x, y, to_hex(colours[i % len(colours)])))
    return found


def ink(axes):
    return np.asarray(axes.images[0].get_array())[..., 3]


def labels(axes):
    return [text.get_text() for text in axes.texts]


def test_responsible_shows_the_image_and_the_eight_with_both_labels_and_amounts():
    images = np.arange(9 * 4, dtype=float).reshape(9, 2, 2)
    amounts = [-0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.304]
    figure = plotting.responsible(
        images[8], "a 9, read as 0", images[:8], range(8), [3] * 8, amounts
    )
    first, *others = figure.axes
    assert first.get_title() == "a 9, read as 0"
    assert len(others) == 8
    written = ["−0.40", "−0.30", "−0.20", "−0.10", "+0.00", "+0.10", "+0.20", "+0.30"]
    for k, axes in enumerate(others):
        assert labels(axes) == [f"{k} → ", "3", written[k]]
        given = axes.texts[1]
        assert (to_hex(given.get_color()) == COLOURS[1].lower()) == (k != 3)
        np.testing.assert_allclose(ink(axes), 0.08 + 0.92 * images[k] / images[k].max())


def test_blamed_by_shows_a_line_for_each_score():
    images = np.arange(1.0, 5 * 4 + 1).reshape(5, 2, 2)
    lines = {"one": (images[:2], [1, 1], [1, 7]), "other": (images[2:4], [8, 1], [8, 3])}
    first, *others = plotting.blamed_by(images[4], "a 1, read as 3", lines).axes
    assert first.get_title() == "a 1, read as 3"
    np.testing.assert_allclose(ink(first), 0.08 + 0.92 * images[4] / images[4].max())
    wanted = [["1→", "1", "one"], ["1→", "7"], ["8→", "8", "other"], ["1→", "3"]]
    assert [labels(axes) for axes in others] == wanted
    orange = [to_hex(axes.texts[1].get_color()) == COLOURS[1].lower() for axes in others]
    assert orange == [False, True, False, True]
    for image, axes in zip(images, others, strict=False):
        np.testing.assert_allclose(ink(axes), 0.08 + 0.92 * image / image.max())


def test_an_image_too_many_is_refused():
    images = np.ones((9, 2, 2))
    with pytest.raises(ValueError, match="zip"):
        plotting.responsible(images[0], "", images[:8], range(8), "abc", range(8))
    with pytest.raises(ValueError, match="zip"):
        plotting.blamed_by(images[0], "", {"one": (images[:3], [1, 2], [1, 2, 3])})


def test_left_out_draws_points_and_lines():
    data = np.array([[0.0, 1.0], [1.0, 2.0], [9.0, 0.0]])
    lines = {"all": np.array([1.0, 0.5]), "without it": np.array([1.0, 1.0])}
    (axes,) = plotting.left_out(data, lines, marked=2).axes
    dots, hollow = axes.collections
    assert np.asarray(dots.get_offsets()).tolist() == data[:2].tolist()
    assert np.asarray(hollow.get_offsets()).tolist() == data[2:].tolist()
    assert len(hollow.get_facecolors()) == 0
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert {text.get_text() for text in axes.texts} == {*drawn, "left out"}
    assert drawn == {"all": [1.0, 5.5], "without it": [1.0, 10.0]}
    colours = [to_hex(line.get_color()) for line in axes.lines]
    assert colours == [plotting.INK, COLOURS[2].lower()]


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
        assert axes.get_ylim() == (low, high)
        assert list(axes.get_xticks()) == list(axes.get_yticks())


def test_against_refits_rings_points_of_the_first_panel():
    panels = {"one": (np.arange(4.0), np.arange(4.0) ** 2), "two": (np.ones(2), np.zeros(2))}
    ringed = np.array([False, True, False, True])
    marked = [np.zeros(4, bool), np.zeros(2, bool)]
    first, second = plotting.against_refits(panels, marked, ringed=("the two", ringed)).axes
    rings = first.collections[-1]
    assert np.asarray(rings.get_offsets()).tolist() == [[1, 1], [3, 9]]
    assert len(rings.get_facecolors()) == 0
    assert labels(first) == ["the two"]
    assert labels(second) == []
    assert len(second.collections) == 2
