"""Mutation counts what it should: on a small module whose tests notice some faults only."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULE = '''"""A module with a docstring."""

__all__ = ["clamp", "unused"]


def clamp(x: int = 0, top: int | None = 10) -> int:
    """Return x, at most ``top``."""
    while x > top:
        x -= 1
    return x


def unused(n):
    if n < 0:
        raise ValueError("n is negative")
    return n + 1
'''
TESTS = """
from toy import clamp

def test_clamp():
    assert clamp(12) == 10
    assert clamp(11) == 10
    assert clamp(3, 4) == 3
    assert clamp() == 0
"""
# `n + 1` is never executed. A `top` of 11 is noticed, and so is `x > top` as `x >= top`.
SURVIVORS = {
    ("if n < 0:", "if n <= 0:"),
    ("if n < 0:", "if n < 1:"),
    ('raise ValueError("n is negative")', "raise ValueError(None)"),
    ("return n + 1", "return n - 1"),
    ("return n + 1", "return n + 2"),
}


@pytest.fixture
def toy(tmp_path) -> Path:
    (tmp_path / "toy.py").write_text(MODULE)
    (tmp_path / "test_toy.py").write_text(TESTS)
    return tmp_path


RUN = """
import sys
from pathlib import Path
import mutate, mutants
path, test = Path("toy.py").resolve(), str(Path("test_toy.py").resolve())
trials = [("toy", one, path, [test]) for one in mutants.mutants(path, "toy.py")]
for trial, (outcome, _) in zip(trials, mutate.try_all(trials, 2)):
    print(repr((trial[1].before, trial[1].after)), outcome, sep=" -> ")
"""


def run(folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_noticed_and_unnoticed_faults_are_told_apart(toy):
    done = run(toy)
    lines = [line.rpartition(" -> ") for line in done.stdout.splitlines() if line[:1] == "("]
    outcomes = {ast.literal_eval(change): outcome for change, _, outcome in lines}
    assert {change for change, outcome in outcomes.items() if outcome == "passed"} == SURVIVORS
    assert outcomes["while x > top:", "while x >= top:"] == "killed"
    assert outcomes["x -= 1", "x += 1"] == "killed"  # it never ends
    assert "SURVIVED:" in done.stdout
    assert (toy / "toy.py").read_text() == MODULE
