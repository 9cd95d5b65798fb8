"""The page on frameworks: its claims agree with the stored results of the programs it shows."""

import json
import re
import sys

import frameworks as runner
import numpy as np
import pytest

import persample as ps
from persample_book import frameworks
from support import ROOT
from support.processes import python

PROGRAMS = ROOT / "benchmarks" / "frameworks"
STORED = json.loads(runner.STORED.read_text(encoding="utf-8"))["frameworks"]
PAGE = (ROOT / "reference" / "frameworks.ipynb").read_text(encoding="utf-8")
OWN = ("numpy_engine", "pytorch", "jax")  # those of the book's own environment

sys.path.insert(0, str(PROGRAMS))
import common  # noqa: E402, the data of the programs

sys.path.remove(str(PROGRAMS))


def rows_of_the_book(*data):
    return ps.loop_grad(ps.td_loss, (None, 0, 0, 0))(*map(np.array, data))


FOUR = rows_of_the_book(common.THETA, common.S, common.R, common.S_NEXT)


# The programs, and what is stored of them.
def test_the_closed_form_is_the_books_gradient():
    four = common.closed_form(common.THETA, common.S, common.R, common.S_NEXT)
    np.testing.assert_allclose(four, FOUR, atol=1e-15)
    batch = common.batch(7)
    np.testing.assert_allclose(common.closed_form(*batch), rows_of_the_book(*batch), atol=1e-14)


@pytest.mark.parametrize("name", frameworks.WAYS)
def test_what_a_program_found_is_stored(name):
    facts, program = STORED[name], PROGRAMS / f"with_{name}.py"
    precision = 1e-7 if name in ("mindspore", "mlx") else 1e-15
    for rows in facts["rows"]:
        assert np.abs(np.array(rows) - FOUR).max() < precision
    assert (facts["leaf"]["value"], facts["leaf"]["v1"]) == (12, [2, 2])
    assert common.shared(program, facts["shared"])
    assert common.shared(program, frameworks.CALLS[name][0])
    if name not in OWN:
        pins = (PROGRAMS / f"requirements-{name}.txt").read_text(encoding="utf-8")
        versions = re.findall(r"^[\w-]+(?:\[\w+\])?==([\d.]+)", pins, re.MULTILINE)
        assert facts["version"] in versions


def cells_with_outputs(name):
    cells = json.loads((ROOT / "chapters" / name).read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell.get("outputs")]


def numbers_of(cell):
    """Return the decimal numbers in a cell's outputs, as floats."""
    texts = [out.get("text") or out["data"]["text/plain"] for out in cell["outputs"]]
    return [float(x) for x in re.findall(r"-?\d+\.\d*", "".join(map("".join, texts)))]


def test_the_notebook_in_mindspore_prints_the_numbers_of_chapter_5():
    assert STORED["mindspore"]["notebook"] is True
    ids = ["b89c9376", "a6c3c4ee", "de3b83d9", "c0ffee14", "b0cf4ee4", "d507f66d"]
    of_page = {cell["id"]: numbers_of(cell) for cell in cells_with_outputs("05_td0.ipynb")}
    found = [numbers_of(cell) for cell in cells_with_outputs("files/td0_in_mindspore.ipynb")]
    assert len(found) == len(ids)
    for key, numbers in zip(ids, found, strict=True):
        wanted = of_page[key][: len(numbers)]  # the mean of the rows is the first of three lines
        assert len(numbers) >= 3
        np.testing.assert_allclose(numbers, wanted, atol=5e-4)


def test_every_program_is_stored():
    programs = {path.stem.removeprefix("with_") for path in PROGRAMS.glob("with_*.py")}
    assert programs == set(runner.NAMES) == set(STORED)


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_the_programs_of_the_books_own_frameworks_still_find_that(name, tmp_path):
    done = python(PROGRAMS / f"with_{name}.py", cwd=tmp_path)
    found = json.loads(done.stdout.splitlines()[-1])
    keys = "rows leaf unused vector branch twice words shared keeps_grad same_tensor_twice kept"
    for key in keys.split():
        assert found.get(key) == STORED[name].get(key), key


# The page.
@pytest.mark.parametrize("name", frameworks.WAYS)
def test_the_page_shows_the_program(name):
    source = (PROGRAMS / f"with_{name}.py").read_text(encoding="utf-8")
    blocks = re.findall(rf"<!-- code: \S+/with_{name}.py \[(\w+)\] -->", PAGE)
    assert blocks
    for block in blocks:
        assert "# [end]" in source.partition(f"# [{block}]\n")[2]
