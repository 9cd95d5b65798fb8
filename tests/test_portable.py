"""A planted cell that depends on the last bit is caught under a simulated machine."""

import shutil

import nbformat
import pytest
from execute_notebooks import execute
from nbformat.v4 import new_code_cell, new_notebook
from portable import ROOT, compare

COMPUTED = """\
import numpy as np
draw = np.random.default_rng(0).normal
a, b = draw(size=(50, 133)), draw(size=(133, 47))
parts = a @ b, np.exp(a), np.tanh(a)
x = np.concatenate([part.ravel() for part in parts])
x.mean().round(6)"""
# The doubling of a difference, a hundred times over, makes 1e-16 into 1.
CHAOTIC = """\
x = np.abs(x) % 1
for _ in range(100):
    x = 3.9999 * x * (1 - x)
x.sum().round(3)"""
OTHERS = "Prescott", "Sandybridge", "Haswell", "SkylakeX", "ARMV8", "NEOVERSEN1"


@pytest.mark.slow
def test_a_cell_that_depends_on_the_last_bit_is_caught_and_no_other(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    path = tmp_path / "planted.ipynb"
    cells = [new_code_cell(COMPUTED), new_code_cell(CHAOTIC)]
    nbformat.write(new_notebook(cells=cells), path)
    nbformat.write(execute(path), path)
    *_, different = compare([path], {}, root=tmp_path)
    assert different == []
    for core in OTHERS:
        *_, different = compare([path], {"OPENBLAS_CORETYPE": core}, root=tmp_path)
        if different:
            assert [name.split()[-1] for name in different] == ["1"]
            return
    pytest.skip("no kernel of OpenBLAS changes the last bits on this processor")


@pytest.mark.slow
def test_what_cannot_be_collected_is_no_success(tmp_path):
    (tmp_path / "conftest.py").write_text("raise SystemExit('broken on purpose')")
    with pytest.raises(RuntimeError):
        compare([tmp_path / "none.ipynb"], {}, root=tmp_path)
