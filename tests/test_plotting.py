"""The book's figures: each is drawn by a page, and what they compute themselves is right.

That a page's figure is the stored one is nbval's to say; here stand only the numbers that a
plotting function works out from what it is given.
"""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from notebook_rules import chapters

from persample_book import plotting
from persample_book.plotting.curves import name_ends

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


@pytest.mark.parametrize("log", ["", "y"])
def test_names_at_the_ends_of_curves_stand_apart(log):
    lines = {"high": [1, 9.9], "low": [1, 2.0], "highest": [1, 10.0]}
    figure, axes = plt.subplots()
    for name, y in lines.items():
        axes.plot([1, 5], y, label=name)
    axes.set_yscale("log" if log else "linear")
    name_ends(axes, {name: (5, y[-1]) for name, y in lines.items()})
    figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
    assert not boxes["high"].overlaps(boxes["highest"])
    assert boxes["low"].y1 < boxes["high"].y0 < boxes["highest"].y0
