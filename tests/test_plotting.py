"""The book's figures: each is drawn by a page, and what they compute themselves is right.

That a page's figure is the stored one is nbval's to say; here stand only the numbers that a
plotting function works out from what it is given.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from notebook_rules import chapters

from persample_book import plotting

ROOT = Path(__file__).resolve().parents[1]


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_every_figure_is_drawn_by_a_page_or_by_the_script_of_pictures():
    cells = [
        "".join(cell["source"])
        for path in chapters(ROOT)
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]
    drawn = "\n".join([*cells, (ROOT / "scripts/draw_pictures.py").read_text(encoding="utf-8")])
    functions = [name for name in plotting.__all__ if callable(getattr(plotting, name))]
    assert [name for name in functions if not re.search(rf"plotting\.{name}\b", drawn)] == []


def test_bars_of_pulls_are_the_numbers_and_the_last_is_their_sum():
    panels = {"one": np.array([-0.2, 0.5]), "two": np.array([0.1, -0.4])}
    figure = plotting.pulls(["a", "b"], panels, [True, False])
    for axes, values in zip(figure.axes, panels.values(), strict=True):
        widths = [bar.get_width() for bar in axes.patches]
        np.testing.assert_allclose(widths, [*values, values.sum()])


def test_coloured_points_are_those_of_opposite_sign():
    x, y = np.linspace(-1, 1, 41), np.linspace(-1, 1, 31)
    truth, values = y[:, None] - 0.5 * x, y[:, None] + 0 * x  # two lines through the origin
    axes = plotting.sign_map(x, y, truth, {"a": values}, "x", "y", (0.3, 0.2)).axes[0]
    paths = [path for path in axes.collections[0].get_paths() if len(path.vertices)]
    for point, turned in (((0.8, 0.2), True), ((-0.8, -0.2), True), ((0.8, 0.7), False)):
        assert any(path.contains_point(point) for path in paths) == turned
    with pytest.raises(ValueError, match=r"sign_map: 'a' has 1 numbers that are NaN or infinite"):
        plotting.sign_map([0], [0, 1], np.ones((2, 1)), {"a": [[1], [np.nan]]}, "x", "y", (0, 0))


@pytest.mark.parametrize("log", ["", "y"])
def test_names_at_the_ends_of_curves_stand_apart(log):
    lines = {"high": [1, 9.9], "low": [1, 2.0], "highest": [1, 10.0]}
    figure = plotting.curves([1, 5], lines, "x", "y", log=log, legend="ends")
    figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
    assert not boxes["high"].overlaps(boxes["highest"])
    assert boxes["low"].y1 < boxes["high"].y0 < boxes["highest"].y0
