"""A sample of `make tamper`: what the chapters store, altered, is noticed. The tool is tested too.

The chapters need no execution here: that what they store is what they give, other tests show.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from execute_notebooks import execute
from nbformat.v4 import new_code_cell, new_notebook
from notebook_rules import chapters
from tamper import code_cells, share, sweep_outputs
from tampering.outputs import alterations, spoiled_texts
from tampering.verdict import Judge, collect, flags

ROOT = Path(__file__).resolve().parents[1]
CELLS_OF_EACH = 3  # of each chapter, one of them with a figure
KEPT = ("conftest.py", "nbval_sanitize.cfg")


@pytest.fixture(scope="module")
def collected():
    return collect(chapters(ROOT), [*flags(ROOT), f"--rootdir={ROOT}"])


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
def test_a_sample_of_altered_outputs_is_noticed(collected, path):
    draw = random.Random(path.stem)
    stored = nbformat.read(path, as_version=4)
    cells = code_cells(stored)
    with_figure = [n for n, cell in enumerate(cells) if "image/png" in str(cell.outputs)[:200]]
    with_text = [n for n, cell in enumerate(cells) if cell.outputs and n not in with_figure]
    chosen = draw.sample(with_figure, min(1, len(with_figure)))  # a page may have none
    chosen += draw.sample(with_text, CELLS_OF_EACH - len(chosen))
    sample = new_notebook(cells=[cells[n] for n in chosen])
    sweep = sweep_outputs(
        path.stem, sample.cells, Judge([collected[path][n] for n in chosen], sample)
    )
    assert sweep.survivors == []
    assert sweep.noticed.total() > 50


TEXTS = """\
import sys
import warnings

print("1.25 and 37", file=sys.stdout, flush=True)
[0.5, -12]"""
FIGURE = """\
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(2, 1.5))
_ = axes.plot([1, 2, 4])
plt.show()"""
RAISES = {"tags": ["raises-exception"]}
IGNORED = {"tags": ["nbval-ignore-output"]}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the path of a notebook with every kind of output, beside the guards."""
    folder = tmp_path_factory.mktemp("small")
    for name in KEPT:
        shutil.copy(ROOT / name, folder)
    sources = {
        TEXTS: {},
        FIGURE.replace("2, 1.5", "10, 6"): {},  # where a small mark is little of the whole
        FIGURE.replace("4", "0"): {},
        "print('careful: 3', file=sys.stderr)": {},
        "raise ValueError('7 rows')": RAISES,
        "print('<object at 0x7f1234567890>')": {},
        "import time; print(time.time_ns())": IGNORED,
        "silent = 1": {},
    }
    path = folder / "small.ipynb"
    cells = [new_code_cell(source, metadata=data) for source, data in sources.items()]
    nbformat.write(new_notebook(cells=cells), path)
    nbformat.write(execute(path), path)
    return path


SWEEP = """\
import json, sys
from pathlib import Path
import nbformat
from tamper import ROOT, code_cells, sweep_outputs
from tampering.verdict import Judge, collect, flags

path = Path(sys.argv[1])
stored = nbformat.read(path, as_version=4)
items = collect([path], [*flags(ROOT), f"--rootdir={path.parent}"])[path]
sweep = sweep_outputs("small", code_cells(stored), Judge(items, stored))
print(json.dumps(vars(sweep)))"""


def swept(path) -> dict:
    """Sweep a notebook in a process of its own, as its folder's guards say, and no others'."""
    done = subprocess.run(
        [sys.executable, "-c", SWEEP, path],
        cwd=path.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts"), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_kind_of_output_is_compared(small):
    sweep = swept(small)
    assert sweep["survivors"] == []
    assert {"a digit changed", "figure: label blurred", "stderr: a digit changed"} <= set(
        sweep["noticed"]
    )
    assert {"figure: two exchanged", "two outputs exchanged", "all outputs stripped"} <= set(
        sweep["noticed"]
    )
    # Hidden on purpose, and counted apart: the address, and the cell whose tag says so.
    assert sweep["sanitised"]["a digit changed"] >= 2
    assert sweep["exempt"]["a digit changed"] == 2


WITHOUT = {
    "": {
        "a cell marked never run",
        "figure: half transparent",
        "figure: label blurred",
        "figure: line moved",
        "figure: two exchanged",
        "two outputs exchanged",
        "an output's metadata changed",
    },
    "worst > BLOCK_TOLERANCE": {"figure: mark erased"},
    "in (over_black, over_white)": {"figure: background switched"},
    "IPyNbCell.runtest = runtest": {"a cell marked never run"},
}
INSTEAD = {"worst > BLOCK_TOLERANCE": "False", "in (over_black, over_white)": "in (over_white,)"}


@pytest.mark.slow
@pytest.mark.parametrize("removed", WITHOUT, ids=lambda removed: removed or "no guards")
def test_a_guard_switched_off_leaves_survivors(small, tmp_path, removed):
    guards = (ROOT / "conftest.py").read_text()
    assert removed in guards
    spoiled = guards.replace(removed, INSTEAD.get(removed, "")) if removed else ""
    (tmp_path / "conftest.py").write_text(spoiled)
    shutil.copy(ROOT / "nbval_sanitize.cfg", tmp_path)
    shutil.copy(small, tmp_path)
    assert WITHOUT[removed] <= set(swept(tmp_path / small.name)["survived"])


REAL = (
    "a digit changed",
    "two outputs exchanged",
    "an output added to a silent cell",
    "figure: mark erased",
)


@pytest.mark.slow
def test_the_verdict_is_that_of_a_real_run(small, tmp_path):
    """Run pytest on altered files: noticed, hidden by the sanitiser, and exempt."""
    stored = nbformat.read(small, as_version=4)
    cells, options = code_cells(stored), flags(ROOT)
    judge = Judge(collect([small], [*options, f"--rootdir={small.parent}"])[small], stored)
    found = list(alterations(cells))
    chosen = [next(one for one in found if one.kind == kind) for kind in REAL]
    digits = [one for one in found if one.kind == "a digit changed"]
    chosen += [[one for one in digits if number in one.cells][-1] for number in (5, 6)]
    expected = {}
    for number, one in enumerate(chosen):
        copy = new_notebook(cells=[one.cells.get(n, cell) for n, cell in enumerate(cells)])
        name = f"altered_{number}"
        nbformat.write(copy, tmp_path / f"{name}.ipynb")
        expected[name] = any(judge.notices(n, cell) for n, cell in one.cells.items())
    assert Counter(expected.values()) == {True: len(REAL), False: 2}
    for name in KEPT:
        shutil.copy(ROOT / name, tmp_path)
    report = tmp_path / "report.xml"
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", "-q"],
        cwd=tmp_path,
        capture_output=True,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
        check=False,
    )
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert len(cases) == len(chosen) * len(cells)
    seen = dict.fromkeys(expected, False)
    for case in cases:
        name = next(n for n in seen if n in f"{case.get('classname')} {case.get('name')}")
        seen[name] |= any(case.find(kind) is not None for kind in ("failure", "error"))
    assert seen == expected


def test_a_notebook_that_differs_from_its_run_is_refused(small):
    stored = nbformat.read(small, as_version=4)
    items = collect([small], [*flags(ROOT), f"--rootdir={small.parent}"])[small]
    stale = deepcopy(stored)
    stale.cells[0].outputs[0].text = "1.26 and 37\n"
    with pytest.raises(RuntimeError, match="small, code cell 0: differs from what it gives"):
        sweep_outputs("small", code_cells(stale), Judge(items, stored))


def test_every_number_is_altered_at_both_ends():
    found = {text for kind, _, text in spoiled_texts("x 1.95e-3\n") if kind == "a digit changed"}
    assert found == {"x 2.95e-3\n", "x 1.05e-3\n", "x 1.96e-3\n", "x 1.95e-4\n"}


def test_every_spoiled_text_differs_from_the_text():
    text = "loss -0.5, 12\n\nnorm 3"
    assert all(spoiled != text for _, _, spoiled in spoiled_texts(text))
    assert {"loss 0.5, 12\n\nnorm 3"} <= {spoiled for _, _, spoiled in spoiled_texts(text)}


def test_a_share_is_100_percent_only_if_it_is_all():
    assert share(9999, 10_000) == "9,999 (99.9 %)"
    assert share(99_999, 100_000) == "99,999 (99.9 %)"
    assert share(10, 10) == "10 (100 %)"
