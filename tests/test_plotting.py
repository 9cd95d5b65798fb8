"""The book's figures: each function is used by a page; nbval compares the drawings."""

import json
import re
from pathlib import Path

from notebook_rules import chapters

from persample_book import plotting

ROOT = Path(__file__).resolve().parents[1]


def test_every_figure_is_drawn_by_a_page_or_by_the_script_of_pictures():
    cells = [
        "".join(cell["source"])
        for path in chapters(ROOT)
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]
    drawn = "\n".join([*cells, (ROOT / "scripts/draw_pictures.py").read_text(encoding="utf-8")])
    functions = [name for name in plotting.__all__ if callable(getattr(plotting, name))]
    assert [name for name in functions if not re.search(rf"plotting\.{name}\b", drawn)] == []
