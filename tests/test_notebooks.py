"""Every chapter keeps the book's rules for notebooks, and every rule can fail."""

from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from execute_notebooks import METADATA, normalise
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
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


TEXT = "Figure with 1 axes, 640 px wide, text from {} px"


def good():
    """Return a notebook that keeps every rule."""
    drawn = {"image/png": "iVBORw0KGgo=", "text/plain": TEXT.format(18.0)}
    figure = new_output("display_data", drawn)
    error = new_output("error", ename="ValueError", evalue="no", traceback=["ValueError: no"])
    return new_notebook(
        metadata=METADATA,
        cells=[
            new_markdown_cell("# Rows"),
            new_code_cell("1 + 1", execution_count=1),
            new_code_cell(
                "draw()",
                execution_count=2,
                outputs=[figure],
                metadata={"mystnb": {"image": {"alt": "Three curves that fall towards zero"}}},
            ),
            new_markdown_cell("A wrong way."),
            new_code_cell(
                "fail()",
                execution_count=3,
                outputs=[error],
                metadata={"tags": ["raises-exception"]},
            ),
        ],
    )


HOME = "/" + "home/ann"  # nobody's; put together, as no file may hold a path of a machine


def _printed(cell, text):
    cell.outputs = [new_output("stream", name="stdout", text=text)]


def _program(cell, lines, tag=RECIPE):
    cell.source = "\n".join(f"x{i} = {i}" for i in range(lines))
    cell.metadata["tags"] = [tag]


def _small_text(notebook, classes=""):
    notebook.cells[2].outputs[0].data["text/plain"] = TEXT.format(16.0)
    notebook.cells[2].metadata.mystnb.image["classes"] = classes


SPOILED = {
    "text of 8.6 pixels on a phone": _small_text,
    "a path of one machine": lambda nb: _printed(nb.cells[1], f"{HOME}/book/x.py"),
    "'ipykernel_1'": lambda nb: _printed(nb.cells[1], "ipykernel_17/3.py:1"),
    "16 lines of code": lambda nb: nb.cells[1].update(source="1\n\n" * 16),
    "23 lines of code": lambda nb: _program(nb.cells[1], 23),
    "40 lines of code": lambda nb: _program(nb.cells[1], 40, LOOP),
    "more than 2 code cells": lambda nb: nb.cells.pop(3),
    "never executed": lambda nb: nb.cells[1].update(execution_count=None),
    "not run in order": lambda nb: nb.cells[1].update(execution_count=7),
    "is empty": lambda nb: nb.cells[1].update(source="\n"),
    "without alt text": lambda nb: nb.cells[2].metadata.clear(),
    "metadata.execution": lambda nb: nb.cells[1].metadata.update(execution={"idle": "now"}),
    "does not announce": lambda nb: nb.cells[4].metadata.clear(),
    "was to raise": lambda nb: nb.cells[4].update(outputs=[]),
    "kernel is not python3": lambda nb: nb.metadata.kernelspec.update(name="my-env"),
    "Python version": lambda nb: nb.metadata.language_info.update(version="3.11.7"),
}


def test_a_good_notebook_has_no_problems():
    assert problems(good()) == []
    notebook = good()
    _program(notebook.cells[1], 22)
    _small_text(notebook, "wide")  # it scrolls in its own box
    assert problems(notebook) == []


@pytest.mark.parametrize("problem", SPOILED)
def test_a_rule_that_is_broken_is_named(problem):
    notebook = deepcopy(good())
    SPOILED[problem](notebook)
    (found,) = problems(notebook)
    assert problem in found
