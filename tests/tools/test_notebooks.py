"""Every chapter follows the book's rules for notebooks, and is in normal form."""

import nbformat
import pytest
from execute_notebooks import normalise
from notebook_rules import chapters, problems

from support import ROOT


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
def test_a_chapter_keeps_the_rules_and_is_in_normal_form(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    assert problems(notebook) == []
    assert nbformat.writes(normalise(notebook)).rstrip("\n") + "\n" == text, "run make notebooks"
