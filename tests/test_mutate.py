"""Mutation counts what it should: on a small module whose tests notice some faults only."""

import json
import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from mutants import mutants, sample

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


pairs = list(zip([1], [2], strict=True))
'''
TESTS = """
from toy import clamp, pairs

def test_clamp():
    assert clamp(12) == 10
    assert clamp(11) == 10
    assert clamp(3, 4) == 3
    assert clamp() == 0
    assert pairs == [(1, 2)]
"""
# `n + 1` is never executed. A `top` of 11 is noticed, and so is `x > top` as `x >= top`.
SURVIVORS = {
    ("if n < 0:", "if n <= 0:"),
    ("if n < 0:", "if n < 1:"),
    ('raise ValueError("n is negative")', "raise ValueError(None)"),
    ("return n + 1", "return n - 1"),
    ("return n + 1", "return n + 2"),
}
EXPLAINED = """
[[mutant]]
file = "toy.py"
function = "unused"
before = "return n + 1"
after = "return n - 1"
reason = "A reason in a sentence."
"""


@pytest.fixture
def toy(tmp_path) -> Path:
    (tmp_path / "toy.py").write_text(MODULE)
    (tmp_path / "test_toy.py").write_text(TESTS)
    (tmp_path / "explained.toml").write_text(EXPLAINED)
    return tmp_path


def run(folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "scripts/mutate.py", "--workers", "2", "--file", "toy.py"]
    command += ["--tests", "test_toy.py", "--explained", "explained.toml", "--log", "log.json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_noticed_and_unnoticed_faults_are_told_apart(toy):
    done = run(toy)
    assert done.returncode == 1, done.stderr  # some faults are neither noticed nor explained
    rows = json.loads((toy / "log.json").read_text())["mutants"]
    outcomes = {(before, after): outcome for _, _, before, after, _, outcome, *_ in rows}
    survivors = {change for change, outcome in outcomes.items() if outcome == "passed"}
    assert survivors == SURVIVORS
    assert outcomes["while x > top:", "while x >= top:"] == "killed"
    assert outcomes["x -= 1", "x += 1"] == "endless"
    noticed = len(outcomes) - len(survivors)
    total = len(outcomes) - 1  # without the one that is explained
    assert f"{100 * noticed // total} % of {total}, 1 more explained" in done.stdout
    assert "SURVIVED: toy.py, unused\n    - return n + 1\n    + return n + 2" in done.stdout
    assert (toy / "toy.py").read_text() == MODULE


@pytest.mark.slow
def test_tests_that_cannot_judge_are_refused(toy):
    (toy / "test_toy.py").write_text(TESTS.replace("== 3", "== 4"))
    assert "The tests fail without any mutant; mend them first." in run(toy).stderr
    (toy / "test_toy.py").write_text("def test_nothing():\n    pass\n")
    assert "No test of toy.py imports it" in run(toy).stderr


def test_prose_annotations_and_guards_are_not_mutated(toy):
    found = list(mutants(toy / "toy.py", "toy.py"))
    changed = {(mutant.before, mutant.after) for mutant in found}
    assert not any("__all__" in line or '"""' in line for line, _ in changed)
    assert all("int | None" in after for before, after in changed if "def clamp" in before)
    assert ('raise ValueError("n is negative")', "raise ValueError(None)") in changed
    assert not any("XX" in after for _, after in changed)
    assert "pairs = list(zip([1], strict=True))" in {after for _, after in changed}
    assert not any("[1], [2]" in after and "strict=True" not in after for _, after in changed)


def test_a_sample_is_reproducible_and_keeps_its_members_when_other_code_changes(toy):
    def draw(seed, size=6):
        found = list(mutants(toy / "toy.py", "toy.py"))
        return [mutant.key for mutant in sample(found, size, seed)]

    one = draw(0)
    assert one == draw(0) != draw(1)
    assert len(set(one)) == 6
    (toy / "toy.py").write_text("limit = 7\n\n" + MODULE)
    assert len(set(one) & set(draw(0))) >= 4


def test_every_module_of_the_package_has_its_tests():
    assert mutate.check_table() == []
