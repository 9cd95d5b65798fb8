"""The oldest and newest packages come from pyproject.toml, and what cannot be had is said."""

import sys

import matrix
import pytest


def test_every_lower_bound_of_the_project_is_tried():
    named = matrix.required()
    assert all(">=" in requirement for requirement in named), named
    assert {"numpy", "torch", "jax"} <= {requirement.split(">=")[0] for requirement in named}
    assert {line.split("==")[0] for line in matrix.test_tools()} >= {"pytest", "hypothesis"}


def test_an_interpreter_that_is_not_there_is_reported(tmp_path):
    pytest.importorskip("uv")
    with pytest.raises(matrix.NotHad, match=r"3\.1\b"):
        matrix.make("3.1", "oldest", tmp_path / "none")


def test_a_reason_names_no_place():
    said = "hint: a\nerror: no wheel\n  at `https://host/simple/` nor in /opt/wheels/here, alas"
    assert matrix.reason(said) == "no wheel at ... nor in ... alas"


def test_a_failure_and_an_absence_reach_the_table():
    rows = [
        {"python": "3.12.1", "packages": "oldest", "versions": {"numpy": "2.2.0"}}
        | {"passed": 9, "failed": 1},
        {"python": "3.13", "packages": "newest", "not had": "no interpreter"},
    ]
    assert matrix.summary(rows) == [
        ("Python 3.12.1, oldest: numpy 2.2.0", "9 passed, 1 failed"),
        ("Python 3.13, newest", "not had: no interpreter"),
    ]


@pytest.mark.slow
def test_failed_tests_are_counted(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "src").mkdir()
    text = "def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): assert 0\n"
    (tmp_path / "tests" / "test_three.py").write_text(text)
    (tmp_path / "tests" / "test_pages_of_the_book.py").write_text("raise OSError")
    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    passed, failed, end = matrix.unit_tests(sys.executable)
    assert (passed, failed) == (1, 2)
    assert "test_b" in end
