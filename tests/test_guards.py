"""The guards are tested by what they must catch: notebooks spoiled on purpose.

They run as `make test` runs them.
"""

import os
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from execute_notebooks import execute
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow

SETUP = """\
import numpy as np
import matplotlib.pyplot as plt
from persample_book import notebook

notebook.setup(())"""
PLOT = """\
figure, axes = plt.subplots(figsize=(4, 3))
_ = axes.plot([1, {}, 2], color='{}')
plt.show()"""


def untouched(notebook):
    pass


def changed_number(notebook):
    text = notebook.cells[1].outputs[0]
    text.data["text/plain"] = text.data["text/plain"].replace("0.5", "0.6")


def swapped_figure(notebook):
    first, second = notebook.cells[3].outputs[0].data, notebook.cells[4].outputs[0].data
    first["image/png"], second["image/png"] = second["image/png"], first["image/png"]


def other_data_not_rerun(notebook):
    notebook.cells[3].source = PLOT.format(1.0002, "black")


def stripped(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)


def expected_error_gone(notebook):
    notebook.cells[5].source = "1 / 1"


SPOILED = [changed_number, swapped_figure, other_data_not_rerun, stripped, expected_error_gone]


@pytest.fixture(scope="module")
def failures(tmp_path_factory) -> dict[str, int]:
    """Run the suite on an untouched notebook and its spoiled copies; count failures in each."""
    folder = tmp_path_factory.mktemp("book")
    shutil.copy(ROOT / "conftest.py", folder)
    expected = new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]})
    notebook = new_notebook(
        cells=[
            new_code_cell(SETUP),
            new_code_cell("np.array([0.5, 1.25])"),
            new_markdown_cell("Two figures."),
            new_code_cell(PLOT.format(1, "black")),
            new_code_cell(PLOT.format(3, "black")),
            expected,
        ]
    )
    nbformat.write(notebook, folder / "original.ipynb")
    original = execute(folder / "original.ipynb")
    (folder / "original.ipynb").unlink()
    for spoil in (untouched, *SPOILED):
        copy = deepcopy(original)
        spoil(copy)
        nbformat.write(copy, folder / f"{spoil.__name__}.ipynb")
    report = folder / "report.xml"
    subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", f"--junitxml={report}", "-q"],
        cwd=folder,
        capture_output=True,
        env=os.environ | {"PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""},
        check=False,
    )
    counts = dict.fromkeys((f.__name__ for f in (untouched, *SPOILED)), 0)
    cases = list(ElementTree.parse(report).iter("testcase"))
    for case in cases:
        name = next(
            name for name in counts if name in f"{case.get('classname')} {case.get('name')}"
        )
        counts[name] += any(case.find(kind) is not None for kind in ("failure", "error"))
    # Five cells of code each: nothing was skipped, nothing was left out.
    assert len(cases) == 5 * len(counts)
    return counts


def test_spoiled_notebooks_fail_and_an_untouched_one_passes(failures):
    assert [name for name, count in failures.items() if not count] == ["untouched"]
