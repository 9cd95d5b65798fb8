"""Simulated machines: a planted cell that depends on the last bit is caught, an empty one is not.

One tiny notebook, and one setting under which NumPy's last bits differ on this processor.
"""

import os
import shutil
import sys
from unittest import mock

import machines
import nbformat
import portable
import pytest
from execute_notebooks import execute
from machines import Setting, effect, environment, settings, state
from nbformat.v4 import new_code_cell, new_notebook
from portable import ROOT, Row, compare, table

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


@pytest.fixture(scope="module")
def own():
    return state({}, frameworks=False)


@pytest.fixture(scope="module")
def other(own) -> Setting:
    """Return the first setting under which NumPy's digits differ on this processor."""
    for setting in settings(own):
        if setting.looks_at not in ("OpenBLAS kernels", "NumPy features") or not setting.env:
            continue
        now = state(setting.env, frameworks=False)
        if now["digits of NumPy"] != own["digits of NumPy"]:
            return setting
    pytest.skip("no setting changes NumPy's last bits on this processor")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Write a notebook of a stable and a chaotic cell, executed without any setting."""
    folder = tmp_path_factory.mktemp("planted")
    for name in ("conftest.py", "nbval_sanitize.cfg"):
        shutil.copy(ROOT / name, folder)
    notebook = new_notebook(cells=[new_code_cell(COMPUTED), new_code_cell(CHAOTIC)])
    path = folder / "planted.ipynb"
    nbformat.write(notebook, path)
    with mock.patch.dict(os.environ, environment({}), clear=True):
        nbformat.write(execute(path), path)
    return path


@pytest.mark.slow
def test_a_cell_that_depends_on_the_last_bit_is_caught(planted, other):
    assert compare([planted], {}, root=planted.parent) == (2, 0, [])
    cells, tests, different = compare([planted], other.env, root=planted.parent)
    assert (cells, tests) == (2, 0)
    assert [name.split()[-1] for name in different] == ["1"], "the chaotic cell and no other"


@pytest.fixture
def numpy_alone(monkeypatch):
    """Ask NumPy alone what it runs with: the other libraries take seconds to load."""
    monkeypatch.setattr(machines, "state", lambda env: state(env, frameworks=False))


@pytest.mark.slow
def test_a_setting_that_does_nothing_does_not_count(own, numpy_alone):
    for env in ({"OPENBLAS_CORETYPE": "Nonesuch"}, {"PERSAMPLE_NONESUCH": "1"}):
        changed, skipped = effect(Setting("none", env, "OpenBLAS kernels"), own, {"own": own})
        assert changed == ""
        assert skipped.startswith(("changes nothing here", "the library is not part"))
    assert effect(Setting("empty", {}, "OpenBLAS kernels"), own, {})[0] == ""


@pytest.mark.slow
def test_two_names_of_one_machine_count_once(own, other, numpy_alone):
    seen = {"as it is": own}
    changed, skipped = effect(other, own, seen)
    assert changed.startswith(other.looks_at)
    assert skipped == ""
    again = effect(other._replace(name="again"), own, seen)
    assert again[0] == ""
    assert again[1].startswith(f"the same as {other.name} here")


def test_a_setting_is_not_added_to_one_that_is_on_already(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert environment({}).keys().isdisjoint({"OPENBLAS_CORETYPE", "OMP_NUM_THREADS"})
    assert environment({"OMP_NUM_THREADS": "4"})["OMP_NUM_THREADS"] == "4"


@pytest.mark.slow
def test_what_cannot_be_collected_is_no_success(tmp_path):
    (tmp_path / "conftest.py").write_text("raise SystemExit('broken on purpose')")
    shutil.copy(ROOT / "nbval_sanitize.cfg", tmp_path)
    with pytest.raises(RuntimeError, match="broken on purpose"):
        compare([tmp_path / "none.ipynb"], {}, root=tmp_path)


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([Row("a", "kernels b", "", 391, 10)], 0),
        ([Row("a", "kernels b", "", 391, 10, ("chapter 3 Cell 63",))], 1),
        ([Row("a", "", "this processor has no such features")], 1),
    ],
)
def test_the_exit_status_says_whether_anything_differed(rows, status, monkeypatch, capsys):
    monkeypatch.setattr(portable, "run", lambda options: rows)
    monkeypatch.setattr(sys, "argv", ["portable.py", "--small"])
    assert portable.main() == status
    assert table(rows) in capsys.readouterr().out


def test_numeric_tests_are_files_of_the_suite():
    names = {path.name for path in portable.numeric_tests()}
    assert {"test_per_sample.py", "test_engine_rules.py", "test_record.py"} <= names
    assert "test_pages.py" not in names


def test_the_long_chapters_are_chapters_of_the_book():
    assert set(portable.LONG) <= {path.stem for path in portable.chapters(ROOT)}
