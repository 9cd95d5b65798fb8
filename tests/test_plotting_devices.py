"""The figures of several devices draw the rows, the stages and the amounts they are given."""

import numpy as np
from matplotlib.colors import to_rgba

from persample_book import plotting

ROWS = np.array([[1.0, 2], [3, 1], [-1, -2], [0, -3]])  # two on each device
SUMS = np.array([[0.0, 0], [3, -2], [0, 0], [3, -2]])


def arrows(axes):
    return [text for text in axes.texts if hasattr(text, "arrow_patch") and text.arrow_patch]


def names(axes):
    """What stands at the tips, and where."""
    found = [text for text in axes.texts if hasattr(text, "xy") and text.get_text()]
    return {text.get_text(): tuple(text.xy) for text in found}


def test_equal_rows_are_one_arrow_with_all_their_samples():
    left, right = plotting.rows_by_devices(ROWS, SUMS, chosen=1).axes
    assert names(left) == {str(k): tuple(row) for k, row in enumerate(ROWS)}
    assert [tuple(arrow.xy) for arrow in arrows(left)] == [tuple(row) for row in ROWS]
    assert names(right) == {"0, 2": (0, 0), "1, 3": (3, -2), "1": (3, 1), "3": (0, -3)}
    for axes, tips in ((left, ROWS), (right, [*ROWS, *SUMS])):
        (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
        assert all(west < x < east and south < y < north for x, y in [*tips, (0, 0)])


def test_the_chosen_pair_and_its_sum_are_strong_and_span_a_parallelogram():
    for chosen in (1, 3):  # the same place on both devices
        right = plotting.rows_by_devices(ROWS, SUMS, chosen).axes[1]
        pale = [tuple(a.xy) for a in arrows(right) if a.arrow_patch.get_alpha() < 1]
        strong = [tuple(a.xy) for a in arrows(right) if a.arrow_patch.get_alpha() == 1]
        assert pale == [(0, 0)]
        assert strong == [(3, 1), (0, -3), (3, -2)]
        sides = [np.array(line.get_xydata()) for line in right.lines if len(line.get_xdata()) == 2]
        assert [[tuple(end) for end in side] for side in sides] == [
            [(3, 1), (3, -2)], [(0, -3), (3, -2)]
        ]  # fmt: skip


def test_colours_tell_the_devices_and_the_returned_rows_apart():
    figure = plotting.rows_by_devices(ROWS, SUMS)
    left = figure.axes[0]
    first, second = ({line.get_color() for line in part}
                     for part in (left.lines[:2], left.lines[2:]))  # fmt: skip
    key = figure.legends[0]
    colours = dict(zip([text.get_text() for text in key.get_texts()],
                       [line.get_color() for line in key.get_lines()], strict=True))  # fmt: skip
    assert {colours["device 0"]} == first
    assert {colours["device 1"]} == second
    assert len(set(colours.values())) == 3
    assert arrows(figure.axes[1])[-1].arrow_patch.get_edgecolor() == to_rgba(colours["returned"])


def test_what_stays_is_a_box_for_each_process_and_what_is_sent_is_one_bar():
    panels = {
        "mine": [
            ("rows", ["1", "2", "3"]),
            (None, "clip"),
            ("", "all_reduce"),
            ("sum", ["4", "5", "6"]),
        ],
        "theirs": [(".grad", ["7", "8", "9"]), ("", "hooks")],
    }
    (axes,) = plotting.exchanges(panels).axes
    said = [text.get_text() for text in axes.texts if text.get_text()]
    assert said == ["mine", "rows", "1", "2", "3", "clip", "all_reduce", "sum", "4", "5", "6",
                    "theirs", ".grad", "7", "8", "9", "hooks"]  # fmt: skip
    place = {text.get_text(): text.get_position() for text in axes.texts if text.get_text()}
    assert place["1"][0] == place["4"][0] == place["7"][0] < place["2"][0] < place["3"][0]
    down = [
        place[name][1] for name in ("mine", "rows", "clip", "all_reduce", "sum", "theirs", "hooks")
    ]
    assert down == sorted(down)
    colours = [box.get_facecolor() for box in axes.patches]
    stays, sent = colours[0], colours[3]
    assert colours == [stays] * 3 + [sent] + [stays] * 6 + [sent]
    assert stays != sent
    bar = axes.patches[3].get_window_extent()
    assert all(
        bar.x0 - 1 <= box.get_window_extent().x0 and box.get_window_extent().x1 <= bar.x1 + 1
        for box in axes.patches
    )
    assert len(arrows(axes)) == 3 * (3 + 1)  # what is done has arrows too, and no box


def test_what_does_not_fit_is_shaded_from_the_limit_upwards():
    lines = {"rows": [2000.0, 200, 20], "sum": [0.5, 0.05, 0.005]}
    (axes,) = plotting.memory_by_devices([8, 80, 800], lines, 70).axes
    *drawn, ring = axes.lines
    assert [line.get_label() for line in drawn] == ["rows", "sum"]
    assert [list(line.get_ydata()) for line in drawn] == list(lines.values())
    np.testing.assert_allclose(ring.get_xydata(), [[8 * 2000 / 70, 70]])
    (shaded,) = axes.patches
    corners = shaded.get_extents().transformed(axes.transData.inverted())
    assert np.isclose(corners.y0, 70)
    assert np.isclose(corners.y1, axes.get_ylim()[1])
    assert axes.get_xscale() == axes.get_yscale() == "log"
    said = [text.get_text() for text in axes.texts]
    assert said == ["does not fit in 70 GB", "fits", "229 devices", "sum", "rows"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["8", "80", "800"]
