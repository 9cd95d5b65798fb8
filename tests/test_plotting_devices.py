"""The figure of rows on several devices draws the rows it is given."""

import numpy as np

from persample.book import plotting


def arrows(axes):
    return [text for text in axes.texts if hasattr(text, "arrow_patch") and text.arrow_patch]


def names(axes):
    """What stands at the tips, and where; the key at the bottom is no annotation."""
    found = [text for text in axes.texts if hasattr(text, "xy") and text.get_text()]
    return {text.get_text(): tuple(text.xy) for text in found}


def test_equal_rows_are_one_arrow_with_all_their_samples():
    rows = np.array([[1.0, 2], [3, 1], [-1, -2], [0, -3]])
    returned = np.array([[0.0, 1], [4, 1], [0, 1], [4, 1]])
    figure = plotting.rows_by_devices(rows, returned)
    left, right = figure.axes
    assert names(left) == {str(k): tuple(row) for k, row in enumerate(rows)}
    assert names(right) == {"0, 2": (0, 1), "1, 3": (4, 1)}
    assert [tuple(arrow.xy) for arrow in arrows(left)] == [tuple(row) for row in rows]
    pale = [tuple(a.xy) for a in arrows(right) if a.arrow_patch.get_alpha() < 1]
    strong = {tuple(a.xy) for a in arrows(right) if a.arrow_patch.get_alpha() == 1}
    assert pale == [tuple(row) for row in rows]
    assert strong == {(0, 1), (4, 1)}
    for axes, tips in ((left, rows), (right, [*rows, *returned])):
        (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
        assert all(west < x < east and south < y < north for x, y in [*tips, (0, 0)])


def test_colours_tell_the_devices_and_the_returned_rows_apart():
    rows = np.array([[1.0, 2], [3, 1], [-1, -2], [0, -3]])
    left, right = plotting.rows_by_devices(rows, rows[[0, 1, 0, 1]]).axes
    first, second = ({line.get_color() for line in part}
                     for part in (left.lines[:2], left.lines[2:]))  # fmt: skip
    wrong = {line.get_color() for line in right.lines[4:]}
    assert len(first) == len(second) == len(wrong) == 1
    assert len(first | second | wrong) == 3
    keys = {text.get_text(): text.get_color() for text in left.texts if not hasattr(text, "xy")}
    assert keys == {"device 0: samples 0 to 1": first.pop(),
                    "device 1: samples 2 to 3": second.pop()}  # fmt: skip
