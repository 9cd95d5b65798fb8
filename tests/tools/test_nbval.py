"""nbval notices a stored output that differs from the cell's: text, kinds, order, pictures.

One notebook is executed once. Then cells get a source whose output differs from the stored one in
a single way; nbval, as conftest.py changes it, must fail for exactly these cells.
"""

import shutil
import subprocess
import sys
from xml.etree import ElementTree

import nbformat
import pytest
from execute_notebooks import execute
from nbformat.v4 import new_code_cell, new_notebook

from support import ROOT

pytestmark = pytest.mark.slow

START = """\
import io
import sys
import warnings
from base64 import b64encode

import matplotlib.pyplot as plt
from IPython.display import SVG, Image, display


def png(shade):
    target = io.BytesIO()
    plt.imsave(target, [[0, shade], [1, 0]], cmap="gray", vmin=0, vmax=1)
    return target.getvalue()


def sketch(x=10, word="0.10", colour="#0072b2", wide=0.5, shade=0.5):
    picture = b64encode(png(shade)).decode()
    display(SVG(f'''<svg xmlns="http://www.w3.org/2000/svg"
        xmlns:xlink="http://www.w3.org/1999/xlink"><path d="M {x} 3.25 L -4 5"
        style="stroke: {colour}; stroke-width: {wide}"/><text x="7">{word}</text>
        <image xlink:href="data:image/png;base64,{picture}"/></svg>'''))


def draw(third=4, mark=False, paper="white", inside="white", label="x"):
    figure, axes = plt.subplots(figsize=(6, 4), facecolor=paper)
    axes.plot([1, 2, third])
    axes.set(xlabel=label, facecolor=inside)
    if mark:
        axes.plot([0.5], [1.5], "k.", markersize=4)
    plt.show()"""
# From PyTorch 2.14 at the first forward-mode derivative, and its build for CUDA at a compilation.
OF_TORCH = """/x/torch/jit/_script.py:1491: FutureWarning: `torch.jit.script` is deprecated.
  warnings.warn(
W1127 21:30:12.385 12095 torch/utils/cpp_extension.py:183] [0/0] No CUDA runtime is found, using
"""
# What is stored, and what the cell gives when it is compared; equal where it must pass.
CELLS = {
    "start": (START, START),
    "same text": ("print('1.25 and 37')", "print('1.25 and 37')"),
    "same picture": ("draw()", "draw()"),
    "an address": ("print('<object at 0x7f1234567890>')", "print('<object at 0x7f9876543210>')"),
    "of torch itself": ("silent = 1", f"_ = sys.stderr.write({OF_TORCH!r})"),
    "of torch, and more": ("silent = 1", f"_ = sys.stderr.write({OF_TORCH!r} + 'more')"),
    "of torch, about the cell": (
        "silent = 1",
        f"_ = sys.stderr.write({OF_TORCH.replace('Future', 'User')!r})",
    ),
    "a warning": ("silent = 1", "warnings.warn('x', FutureWarning)"),
    "a digit": ("print('1.25 and 37')", "print('1.26 and 37')"),
    "an output less": ("print('x')", "silent = 1"),
    "a line moved": ("draw()", "draw(4.1)"),
    "another label": ("draw()", "draw(label='y')"),
    "a small mark": ("draw()", "draw(mark=True)"),
    "no ground": ("draw(paper='none')", "draw(paper='none', inside='none')"),
    "the same drawing": ("sketch()", "sketch()"),
    "a line hardly moved": ("sketch(10)", "sketch(10.04)"),
    "a line drawn elsewhere": ("sketch(10)", "sketch(10.3)"),
    "another number written": ("sketch(word='0.10')", "sketch(word='0.12')"),
    "another colour": ("sketch(colour='#0072b2')", "sketch(colour='#0072b3')"),
    "another width": ("sketch(wide=0.5)", "sketch(wide=0.52)"),
    "another picture in it": ("sketch(shade=0.5)", "sketch(shade=0.7)"),
    "a line less": ("sketch(10)", "sketch('10 3 L 2')"),
    "the same pixels": ("display(Image(png(0.5)))", "display(Image(png(0.5)))"),
    "other pixels": ("display(Image(png(0.5)))", "display(Image(png(0.7)))"),
    "two pictures exchanged": ("draw()\ndraw(1)", "draw(1)\ndraw()"),
    "no error": ("raise ValueError('7 rows')", "1"),
    "never executed": ("silent = 1", "silent = 1"),
    "the last": ("print('end')", "print('end')"),
}
PASS = {"start", "same text", "same picture", "an address", "of torch itself", "the last"}
PASS |= {"the same drawing", "a line hardly moved", "the same pixels"}


@pytest.fixture(scope="module")
def failed(tmp_path_factory) -> set[str]:
    """Return the names of the cells that fail under nbval."""
    folder = tmp_path_factory.mktemp("nbval")
    shutil.copy(ROOT / "conftest.py", folder)
    cells = [new_code_cell(stored) for stored, _ in CELLS.values()]
    path = folder / "altered.ipynb"
    for cell in cells:
        if "raise " in cell.source:
            cell.metadata["tags"] = ["raises-exception"]
    nbformat.write(new_notebook(cells=cells), path)
    notebook = execute(path)
    for cell, (name, (_, given)) in zip(notebook.cells, CELLS.items(), strict=True):
        cell.source = given
        if name == "never executed":
            cell.execution_count = None
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "pytest", "--nbval", "-q"]
    command += ["-p", "no:cacheprovider", "--junitxml=report.xml", path.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    cases = list(ElementTree.parse(folder / "report.xml").iter("testcase"))
    assert len(cases) == len(CELLS), done.stdout
    return {
        name
        for name, case in zip(CELLS, cases, strict=True)
        if case.find("failure") is not None or case.find("error") is not None
    }


@pytest.mark.parametrize("name", CELLS)
def test_what_differs_fails_and_what_is_equal_passes(name, failed):
    assert (name in failed) == (name not in PASS)
