"""The bars of the answers, the map of wrong signs and the walks show what they were given."""

import numpy as np
import pytest

from persample_book import plotting


def test_bars_are_the_numbers_and_the_last_is_their_sum():
    panels = {"one": np.array([-0.2, 0.5]), "two": np.array([0.1, -0.4])}
    figure = plotting.pulls(["a", "b"], panels, [True, False])
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    (key,) = figure.legends
    assert [text.get_text() for text in key.get_texts()] == ["right answer", "wrong answer"]
    assert all(axes.get_xlabel() for axes in figure.axes)
    for axes in figure.axes:
        shown = [patch.get_facecolor() for patch in key.get_patches()]
        assert [bar.get_facecolor() for bar in axes.patches[:2]] == shown
    colours = set()
    for axes, values in zip(figure.axes, panels.values(), strict=True):
        widths = [bar.get_width() for bar in axes.patches]
        np.testing.assert_allclose(widths, [*values, values.sum()])
        texts = [text.get_text() for text in axes.texts]
        assert texts == [f"{value:+.3f}".replace("-", "−") for value in [*values, values.sum()]]
        assert len({bar.get_facecolor() for bar in axes.patches}) == 3  # right, wrong, the sum
        colours.add(tuple(bar.get_facecolor() for bar in axes.patches))
    assert len(colours) == 1  # an answer keeps its colour, whatever the sign


@pytest.mark.parametrize("values", [np.ones(4), np.zeros(4)])
def test_every_bar_is_inside_the_axes(values):
    (axes,) = plotting.pulls(list("abcd"), {"one": values}, [True] * 4).axes
    low, high = axes.get_xlim()
    assert low < min(0, values.sum()) <= max(0, values.sum()) < high


def test_a_note_stands_at_the_height_of_its_bar():
    panels = {"one": np.array([-0.2, 0.5]), "two": np.array([0.1, -0.4])}
    one, two = plotting.pulls(["a", "b"], panels, [1, 0], notes={"two": ["x", "y"]}).axes
    assert [len(one.texts), len(two.texts)] == [3, 5]
    notes = {text.get_text(): text.xy[1] for text in two.texts[3:]}
    middles = [bar.get_y() + bar.get_height() / 2 for bar in two.patches[:2]]
    np.testing.assert_allclose([notes["x"], notes["y"]], middles)


def coloured(axes, x, y):
    """Say whether the point lies in a filled region."""
    paths = axes.collections[0].get_paths()
    return any(path.contains_point((x, y)) for path in paths if len(path.vertices))


def test_coloured_points_are_those_of_opposite_sign():
    x, y = np.linspace(-1, 1, 41), np.linspace(-1, 1, 31)
    truth, values = y[:, None] - 0.5 * x, y[:, None] + 0 * x  # two lines through the origin
    figure = plotting.sign_map(x, y, truth, {"a": values, "b": truth}, "x", "y", (0.3, 0.2))
    turned, same = figure.axes
    between, outside = [(0.8, 0.2), (-0.8, -0.2)], [(0.8, 0.7), (-0.8, 0.2), (0.8, -0.5)]
    assert all(coloured(turned, *point) for point in between)
    assert not any(coloured(turned, *point) for point in outside)
    assert not any(coloured(same, *point) for point in between + outside)
    line = turned.collections[1].get_paths()[0].vertices  # where the truth is zero
    np.testing.assert_allclose(line[:, 1], 0.5 * line[:, 0], atol=1e-12)
    assert tuple(turned.lines[0].get_xydata()[0]) == (0.3, 0.2)


def test_a_number_without_a_sign_is_refused():
    with pytest.raises(ValueError, match=r"sign_map: 'a' has 1 numbers that are NaN or infinite"):
        plotting.sign_map([0, 1], [0, 1], np.ones((2, 2)), {"a": np.array([[1, 2], [3, np.nan]])},
                          "x", "y", (0, 0))  # fmt: skip


def test_the_dots_of_a_walk_lie_where_it_went_and_the_ring_at_its_start():
    x = np.linspace(-1, 1, 21)
    walks = {"down": (np.array([0.2, -0.3, -0.8]), np.array([0.04, 0.09, 0.64])),
             "up": (np.array([0.2, 0.6]), np.array([0.04, 0.36]))}  # fmt: skip
    (axes,) = plotting.valley(x, x**2, walks, "x", "y").axes
    curve, down, up, ring = axes.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.stack([x, x**2], 1))
    np.testing.assert_array_equal(down.get_xydata(), [[-0.3, 0.09], [-0.8, 0.64]])
    np.testing.assert_array_equal(up.get_xydata(), [[0.6, 0.36]])
    np.testing.assert_array_equal(ring.get_xydata(), [[0.2, 0.04]])
    names = {text.get_text(): text for text in axes.texts}
    assert [names[name].get_ha() for name in ("down", "up")] == ["left", "right"]
    for name, dots in (("down", down), ("up", up)):
        assert names[name].get_color() == dots.get_color()
        assert names[name].xy == tuple(dots.get_xydata()[-1])
    assert down.get_color() != up.get_color()
