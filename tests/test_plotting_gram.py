"""The figures about one step draw each image or pair of tasks once, where it belongs."""

import numpy as np
from matplotlib.colors import to_hex

from persample_book import plotting
from persample_book.colours import COLOURS


def test_one_step_draws_three_groups_and_names_the_sample_of_the_step():
    estimated, real = np.array([-1.0, 0.1, 0.2, 0.3, 0.0]), np.array([-0.8, 0.2, 0.3, 0.5, 0.1])
    was_wrong = np.array([True, False, False, True, False])
    broken = np.array([False, False, True, False, False])
    figure = plotting.one_step(estimated, real, was_wrong, broken, 0)
    (axes,) = figure.axes
    right, wrong, since = axes.collections
    for drawn, which in ((right, [1, 4]), (wrong, [0, 3]), (since, [2])):
        np.testing.assert_allclose(
            np.asarray(drawn.get_offsets()), np.column_stack([estimated, real])[which]
        )
    assert len(wrong.get_facecolors()) == 0
    assert to_hex(since.get_facecolors()[0]) == COLOURS[1].lower()
    (line,) = axes.lines
    np.testing.assert_allclose(*line.get_data())
    named = [text for text in axes.texts if text.get_text() == "the 8 of the step"]
    assert named[0].xy == (-1.0, -0.8)


def test_one_step_within_limits_marks_zero_and_names_its_quantity():
    numbers = np.array([-0.5, 0.2, 3.0])
    none = np.zeros(3, bool)
    figure = plotting.one_step(numbers, numbers, none, none, 0, "margin", limits=(-1.0, 1.0))
    (axes,) = figure.axes
    assert axes.get_xlim() == axes.get_ylim() == (-1.0, 1.0)
    assert axes.get_xlabel() == "estimated margin"
    assert len(axes.lines) == 3  # the diagonal, and 0 on both axes


def test_conflicts_draw_the_pairs_and_leave_the_diagonal_blank():
    cosine = np.array([[1.0, -0.3, 0.1], [-0.3, 1.0, 0.2], [0.1, 0.2, 1.0]])
    figure = plotting.conflicts(cosine, "abc")
    drawn = figure.axes[0].images[0]
    shown = np.ma.filled(drawn.get_array(), np.nan)
    np.testing.assert_array_equal(np.isnan(shown), np.eye(3, dtype=bool))
    np.testing.assert_allclose(shown[~np.eye(3, dtype=bool)], cosine[~np.eye(3, dtype=bool)])
    assert drawn.get_clim() == (-0.3, 0.3)  # so that 0 has the middle colour
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == list("abc")


def test_a_frame_marks_one_image_and_its_label():
    images = np.random.default_rng(0).random((3, 8, 8))
    figure = plotting.relabelled(images, [1, 2, 3], [4, 5, 6], columns=3, framed=0)
    framed = [bool(axes.patches) for axes in figure.axes]
    assert framed == [True, False, False]
    colours = [to_hex(axes.texts[1].get_color()) for axes in figure.axes]
    assert colours == [c.lower() for c in (COLOURS[0], COLOURS[1], COLOURS[1])]
