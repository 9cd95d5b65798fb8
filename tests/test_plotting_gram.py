"""The figure about one step draws each image once, in the group it belongs to."""

import numpy as np
from matplotlib.colors import to_hex

from persample.book import plotting
from persample.book.colours import COLOURS


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
