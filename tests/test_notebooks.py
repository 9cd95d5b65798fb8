"""Every chapter keeps the book's rules for notebooks, and is in normal form."""

from pathlib import Path

import nbformat
import pytest
from execute_notebooks import normalise
from notebook_rules import LOOP, LOOPS, RECIPE, RECIPES, chapters, problems

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
def test_a_chapter_keeps_the_rules_and_is_in_normal_form(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    assert problems(notebook) == []
    assert nbformat.writes(normalise(notebook)).rstrip("\n") + "\n" == text, "run make notebooks"
    code = [cell.cell_type == "code" for cell in notebook.cells]
    for tag, page in ((RECIPE, RECIPES), (LOOP, LOOPS)):
        tagged = [tag in cell.metadata.get("tags", []) for cell in notebook.cells]
        assert tagged == (code if path.stem == page else [False] * len(code))
