"""What the page on frameworks says is what their programs found, and the programs are its code."""

import json
import re
import subprocess
import sys
from pathlib import Path

import frameworks as runner
import numpy as np
import pytest

import persample as ps
from persample.book import frameworks

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "frameworks"
STORED = json.loads(runner.STORED.read_text(encoding="utf-8"))["frameworks"]
OWN = ("numpy_engine", "pytorch", "jax")  # those of the book's own environment

sys.path.insert(0, str(PROGRAMS))
import common  # noqa: E402, the data of the programs

sys.path.remove(str(PROGRAMS))


def rows_of_the_book():
    arguments = [np.array(x) for x in (common.THETA, common.S, common.R, common.S_NEXT)]
    return ps.loop_grad(ps.td_loss, (None, 0, 0, 0))(*arguments)


def test_the_closed_form_is_the_books_gradient():
    four = common.THETA, common.S, common.R, common.S_NEXT
    np.testing.assert_allclose(common.closed_form(*four), rows_of_the_book(), atol=1e-15)
    theta, s, r, s_next = common.batch(7)
    loop = ps.loop_grad(ps.td_loss, (None, 0, 0, 0))(*map(np.array, (theta, s, r, s_next)))
    np.testing.assert_allclose(common.closed_form(theta, s, r, s_next), loop, atol=1e-14)


@pytest.mark.parametrize("name", frameworks.WAYS)
def test_the_stored_rows_are_those_of_the_book(name):
    facts = STORED[name]
    precision = 1e-7 if name in ("mindspore", "mlx") else 1e-15
    for rows in facts["rows"]:
        assert np.abs(np.array(rows) - rows_of_the_book()).max() < precision
    assert (facts["leaf"]["value"], facts["leaf"]["v1"]) == (12, [2, 2])
    assert set(facts["times"]) == {str(size) for size in common.SIZES}


def test_every_program_is_stored_with_the_version_that_is_pinned():
    programs = {path.stem.removeprefix("with_") for path in PROGRAMS.glob("with_*.py")}
    assert programs == set(runner.NAMES) == set(STORED)
    for name in programs - set(OWN):
        pins = (PROGRAMS / f"requirements-{name}.txt").read_text(encoding="utf-8")
        versions = re.findall(r"^[\w-]+(?:\[\w+\])?==([\d.]+)", pins, re.MULTILINE)
        assert STORED[name]["version"] in versions, name


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("with_*.py")), ids=lambda path: path.stem)
def test_what_the_page_shows_is_there(path):
    page = (ROOT / "reference" / "frameworks.ipynb").read_text(encoding="utf-8")
    source, shown = path.read_text(encoding="utf-8"), 0
    for mark in re.findall(r"^# \[(\w+)\]$", source, re.MULTILINE):
        if mark != "end":
            assert "# [end]" in source.partition(f"[{mark}]")[2]
    for block in re.findall(rf"{path.name}\\n.*?start-after: .*?\[(\w+)\]", page, re.DOTALL):
        assert f"# [{block}]\n" in source
        shown += 1
    assert shown or path.stem.removeprefix("with_") not in frameworks.WAYS


def test_a_name_that_a_framework_lacks_is_found():
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        common.named({"np": np}, {"stop": "np.absent"})


def test_a_framework_that_was_not_had_leaves_the_tables(tmp_path):
    stored = {"frameworks": STORED | {"mlx": {"name": "MLX", "not had": "no wheel"}}}
    path = tmp_path / "stored.json"
    path.write_text(json.dumps(stored), encoding="utf-8")
    found = frameworks.load(path)
    assert list(found) == [name for name in frameworks.WAYS if name != "mlx"]
    assert "MLX" not in frameworks.ways(found, rows_of_the_book())


def test_a_wrong_row_is_seen():
    found = frameworks.load(runner.STORED)
    wrong = rows_of_the_book() * -1
    assert min(frameworks.differences(found, wrong).values()) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_the_programs_of_the_books_own_frameworks_still_find_that(name, tmp_path):
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"with_{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    for key in ("rows", "leaf", "unused", "vector", "branch", "twice", "words"):
        assert found[key] == STORED[name][key], key
