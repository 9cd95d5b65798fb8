"""Every chapter keeps the book's rules for notebooks, and every rule can fail."""

from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from execute_notebooks import METADATA, normalise, shorten
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_rules import LOOP, LOOPS, RECIPE, RECIPES, chapters, problems

ROOT = Path(__file__).resolve().parents[1]


def test_there_are_chapters():
    assert chapters(ROOT)


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
def test_a_chapter_keeps_the_rules(path):
    assert problems(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
def test_a_chapter_is_in_normal_form(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    assert nbformat.writes(normalise(notebook)).rstrip("\n") + "\n" == text, "run make notebooks"


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
@pytest.mark.parametrize(("tag", "page"), [(RECIPE, RECIPES), (LOOP, LOOPS)])
def test_only_one_page_has_whole_programs(path, tag, page):
    cells = nbformat.read(path, as_version=4).cells
    tagged = [tag in cell.metadata.get("tags", []) for cell in cells]
    code = [cell.cell_type == "code" for cell in cells]
    assert tagged == (code if path.stem == page else [False] * len(cells))


def good():
    """Return a notebook that keeps every rule."""
    text = "Figure with 1 axes, 640 px wide, text from 18.0 px"
    figure = new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": text})
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


def test_a_good_notebook_has_no_problems():
    assert problems(good()) == []


def _path(notebook):
    notebook.cells[1].outputs = [new_output("stream", name="stdout", text=f"{HOME}/book/x.py")]


def _cell_file(notebook):
    notebook.cells[1].outputs = [new_output("stream", name="stderr", text="ipykernel_17/3.py:1")]


def _long_cell(notebook):
    notebook.cells[1].source = "\n\n".join(f"x{i} = {i}" for i in range(16))


def _long_recipe(notebook):
    notebook.cells[1].source = "\n".join(f"x{i} = {i}" for i in range(23))
    notebook.cells[1].metadata["tags"] = [RECIPE]


def _long_loop(notebook):
    notebook.cells[1].source = "\n".join(f"x{i} = {i}" for i in range(40))
    notebook.cells[1].metadata["tags"] = [LOOP]


def _three_in_a_row(notebook):
    del notebook.cells[3]


def _undo_error(notebook):
    notebook.cells[4].outputs = []


def _small_text(notebook):
    text = "Figure with 1 axes, 640 px wide, text from 16.0 px"
    notebook.cells[2].outputs[0].data["text/plain"] = text


SPOILED = {
    "text of 8.6 pixels on a phone": _small_text,
    "a path of one machine": _path,
    "'ipykernel_1'": _cell_file,
    "16 lines of code": _long_cell,
    "23 lines of code": _long_recipe,
    "40 lines of code": _long_loop,
    "more than 2 code cells": _three_in_a_row,
    "never executed": lambda nb: nb.cells[1].update(execution_count=None),
    "not run in order": lambda nb: nb.cells[1].update(execution_count=7),
    "is empty": lambda nb: nb.cells[1].update(source="\n"),
    "without alt text": lambda nb: nb.cells[2].metadata.clear(),
    "metadata.execution": lambda nb: nb.cells[1].metadata.update(execution={"idle": "now"}),
    "does not announce": lambda nb: nb.cells[4].metadata.clear(),
    "was to raise": _undo_error,
    "kernel is not python3": lambda nb: nb.metadata.kernelspec.update(name="my-env"),
    "Python version": lambda nb: nb.metadata.language_info.update(version="3.11.7"),
}


@pytest.mark.parametrize("problem", SPOILED)
def test_a_rule_that_is_broken_is_named(problem):
    notebook = deepcopy(good())
    SPOILED[problem](notebook)
    found = problems(notebook)
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize("lengthen", [_long_recipe, _long_loop])
def test_a_whole_program_may_be_longer_than_a_cell(lengthen):
    notebook = good()
    lengthen(notebook)
    notebook.cells[1].source = notebook.cells[1].source.rpartition("\n")[0]
    assert problems(notebook) == []


def test_a_figure_that_scrolls_may_have_smaller_text():
    notebook = good()
    _small_text(notebook)
    notebook.cells[2].metadata.mystnb.image["classes"] = "wide"
    assert problems(notebook) == []


def test_a_traceback_keeps_the_cell_and_the_message():
    traceback = [
        "\x1b[31m------\x1b[39m",
        "\x1b[31mValueError\x1b[39m                Traceback (most recent call last)",
        "\x1b[36mCell\x1b[39m\x1b[36m In[3]\x1b[39m\x1b[32m, line 1\x1b[39m\n----> 1 f(x)",
        f"File \x1b[32m{HOME}/.venv/lib/python3.11/site-packages/torch/func.py:7\x1b[39m",
        f"File \x1b[32m{HOME}/book/src/persample/trees.py:7\x1b[39m",
        "\x1b[31mValueError\x1b[39m: no rows\nfor this",
    ]
    assert "\n".join(shorten(traceback)) == (
        "Traceback (most recent call last)\n"
        "Cell In[3], line 1\n----> 1 f(x)\n"
        "    ... inside torch, persample ...\n"
        "\n"
        "ValueError: no rows\nfor this"
    )
    assert shorten(shorten(traceback)) == shorten(traceback)
