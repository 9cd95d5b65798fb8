"""Chapters are short, and run without any code that a reader cannot see."""

import ast
import re
import zipfile

import nbformat
import pytest
from execute_notebooks import run
from nbformat.v4 import new_code_cell, new_notebook
from notebook_rules import prose

from support import ROOT, pages

CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))
PAGES = CHAPTERS[:6]  # the core, which is run in an empty folder
# Cells with these tags are folded on the page, or left out of it.
UNSEEN = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
MOST_SECTIONS, MOST_WORDS, MOST_LINES, MOST_FOLDED = 5, 2_500, 160, 0.15
# Chapter 6 builds an engine: its code is its subject, and it has frameworks only to compare with.
ENGINE = "06_build_your_own"
MOST_OF_ENGINE = 5, 2_500, 285


def read(path):
    return nbformat.read(path, as_version=4)


def seen(cell):
    return not UNSEEN & set(cell.metadata.get("tags", []))


def before_the_exercises(notebook):
    """Return copies of the cells before the heading "Exercises"; the last one is cut there."""
    cells = []
    for cell in notebook.cells:
        text, exercises, _ = cell.source.partition("## Exercises")
        cells.append(nbformat.from_dict({**cell, "source": text}))
        if cell.cell_type == "markdown" and exercises:
            return cells
    raise ValueError("no exercises")


def sections(cells):
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [h for h in re.findall(r"^## (.*)$", text, re.MULTILINE) if h != "Summary"]


def words(cells):
    """Count the words of the running text, without code, tables, boxes and folds."""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    text = re.sub(r"<details>.*?</details>|```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^[|>].*$", "", text, flags=re.MULTILINE)
    return len(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


def code_lines(cells):
    """Return (number of visible lines of code, number of folded ones)."""
    counts = {True: 0, False: 0}
    for cell in cells:
        if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", []):
            counts[seen(cell)] += sum(bool(line.strip()) for line in cell.source.splitlines())
    return counts[True], counts[False]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_page_is_short_and_in_sight(path):
    cells = before_the_exercises(read(path))
    visible, folded = code_lines(cells)
    usual = MOST_SECTIONS, MOST_WORDS, MOST_LINES
    most_sections, most_words, most_lines = MOST_OF_ENGINE if path.stem == ENGINE else usual
    assert len(sections(cells)) <= most_sections
    assert words(cells) <= most_words
    assert visible <= most_lines
    assert folded <= MOST_FOLDED * (visible + folded)


def names(cells, context):
    """Return the names that cells read (``context`` ast.Load) or set (ast.Store); skip magics."""
    lines = [line for cell in cells for line in cell.source.splitlines()]
    kept = [line for line in lines if not line.startswith(("%", "!"))]
    found = set()
    for node in ast.walk(ast.parse("\n".join(kept))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, context):
            found.add(node.id)
        if context is ast.Store and isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if context is ast.Store and isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_visible_cell_needs_a_name_from_a_cell_out_of_sight(path):
    cells = [c for c in before_the_exercises(read(path)) if c.cell_type == "code"]
    cells = [c for c in cells if not c.source.startswith("%%writefile")]
    visible = [c for c in cells if seen(c)]
    hidden = names([c for c in cells if not seen(c)], ast.Store)
    assert hidden & names(visible, ast.Load) <= names(visible, ast.Store)
    assert "persample_book" not in "".join(c.source for c in visible)


def texts(cell):
    """Return (kind, text) of a cell's outputs except figures; memory addresses are replaced."""
    found = []
    for out in cell.outputs:
        if out.output_type == "stream":
            found.append((out.name, out.text))
        elif out.output_type == "error":
            found.append((out.ename, out.evalue))
        elif not any(kind.startswith("image/") for kind in out.data):
            found.append(("shown", out.data.get("text/plain", "")))
    return [(kind, re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)) for kind, text in found]


@pytest.fixture(scope="module")
def reader(tmp_path_factory, wheel):
    """Return a folder with the wheel in `site`, in which persample_book cannot be imported."""
    folder = tmp_path_factory.mktemp("reader")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    (folder / "site/persample_book.py").write_text("raise ImportError('not of a reader')\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_is_in_sight_runs_by_itself_and_prints_the_same(path, reader, monkeypatch):
    stored = read(path)
    cells = [c for c in stored.cells if c.cell_type == "code" and seen(c)]
    assert not any("persample_book" in cell.source for cell in cells)
    copies = [
        new_code_cell(c.source, metadata={"tags": c.metadata.get("tags", [])}) for c in cells
    ]
    where = new_code_cell("import persample\nprint(persample.__file__)")
    fresh = new_notebook(metadata=stored.metadata, cells=[*copies, where])
    monkeypatch.setenv("PYTHONPATH", str(reader / "site"))
    run(fresh, reader)
    assert fresh.cells[-1].outputs[0].text.startswith(str(reader / "site/persample"))
    for cell, again in zip(cells, fresh.cells[:-1], strict=True):
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            assert texts(again) == texts(cell), cell.source


def test_the_table_of_chapter_1_is_what_was_measured():
    stored, text = pages.stored("broken_inputs")["networks"], prose(PAGES[0])
    rows = re.findall(r"^\| (plain|mean|each loss|rows)(.*?) \|(.*)\|$", text, re.MULTILINE)
    names = {word + rest: cells.split("|") for word, rest, cells in rows}
    shown = {
        name.replace("plain training", "plain").replace("each ", ""): [c.strip() for c in cells]
        for name, cells in names.items()
    }
    columns = (("linear", "Adam"), ("MLP", "SGD"), ("MLP", "Adam"))

    def after(network, optimiser, way, epochs):
        return stored[network][optimiser][way][f"{epochs} epochs"]["10%"]["mean"]

    assert len(shown) == 4
    errors = [
        stored[network][optimiser][way][f"{epochs} epochs"]["10%"]["error"]
        for network, optimiser in columns
        for way in shown
        for epochs in (10, 100)
    ]
    assert f"(Means of twelve draws, with standard errors of at most {max(errors)};" in text
    for way, cells in shown.items():
        found = [[after(*column, way, epochs) for epochs in (10, 100)] for column in columns]
        assert cells == [f"{ten} / {hundred}" for ten, hundred in found]
    assert f"({after('linear', 'SGD', 'plain', 100)} after 100 epochs)" in text
    assert f"({after('GroupNorm', 'SGD', 'plain', 10)} after ten epochs of SGD)" in text
    ahead = [
        after("MLP", "SGD", "plain", e) - after("MLP", "SGD", "rows clipped at 4", e)
        for e in (10, 100)
    ]
    assert [round(points) for points in ahead] == [-35, 1]
    for epochs in (10, 100):
        together = [after("MLP", "Adam", way, epochs) for way in shown]
        assert max(together) - min(together) < 3
    capped = [after("linear", o, "loss capped at 3", 100) for o in ("SGD", "Adam")]
    clipped = [after("linear", o, "rows clipped at 4", 100) for o in ("SGD", "Adam")]
    assert abs(capped[0] - clipped[0]) < 1 < capped[1] - clipped[1]
    price = {
        epochs: max(
            ways["plain"][f"{epochs} epochs"]["0%"]["mean"]
            - ways["rows clipped at 4"][f"{epochs} epochs"]["0%"]["mean"]
            for optimisers in stored.values()
            for ways in optimisers.values()
        )
        for epochs in (10, 100)
    }
    assert f"at most {price[10]:.1f} points after ten epochs, and {price[100]:.1f} after" in text


def test_the_table_of_times_of_chapter_5_is_what_was_measured():
    stored, text = pages.stored("td0_ladder"), prose(PAGES[4])
    rows = re.findall(r"^\| (JAX|PyTorch|NumPy)[^|]* \|(.*)\|$", text, re.MULTILINE)
    names = {"JAX": "jax", "PyTorch": "torch", "NumPy": "numpy"}
    assert len(rows) == 3
    for name, cells in rows:
        times = [stored["times"][names[name]][rung]["1024"] for rung in ("loop", "vmap", "jit")]
        shown = [float(cell.replace(",", "")) for cell in cells.split("|")]
        assert shown[0] == round(times[0])
        assert shown[1:] == [float(f"{time:.2g}") for time in times[1:]]


def test_the_loop_at_the_top_of_chapter_4_runs_and_the_agent_learns():
    import numpy as np
    import torch

    cells = read(PAGES[3]).cells
    (loop,) = re.findall(r"```python\n(for _ in range\(100\).*?)```", cells[0].source, re.DOTALL)
    names: dict = {}
    for cell in [c for c in cells if c.cell_type == "code"][:2]:
        exec(cell.source, names)
    names["optimizer"] = torch.optim.Adam(names["policy"].parameters(), lr=0.02)
    names["rng"] = np.random.default_rng(0)
    exec(loop, names)
    games = [names["play"](np.random.default_rng(seed))[1][-1][2] for seed in range(100)]
    assert np.mean(games) > 0.5
