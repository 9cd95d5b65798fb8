"""CONTRIBUTING.md shows the stored figures of the long-running commands, and no others."""

import json

import pytest
from figures import END, FOLDER, PAGE, START, store, table, with_table


def test_the_page_shows_what_the_files_hold():
    text = PAGE.read_text(encoding="utf-8")
    assert with_table(text) == text, "run make figures"


def test_every_command_of_the_table_is_a_target():
    makefile = (PAGE.parent / "Makefile").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.json"):
        word, target = json.loads(path.read_text(encoding="utf-8"))["command"].split()[:2]
        assert word == "make"
        assert f"\n{target}:" in makefile, path.name


def test_a_stored_figure_reaches_the_table(tmp_path):
    store("second", "make second", [("cells | counted", 391)], tmp_path, rows=[1, 2])
    store("first", "make first", [("rounds\nthat agree", "10 of 10"), ("left", 0)], tmp_path)
    lines = table(tmp_path).splitlines()[2:]
    assert len(lines) == 2
    assert lines[0].startswith("| `make first` | rounds that agree **10 of 10**; left **0** | 20")
    assert lines[1].startswith("| `make second` | cells \\| counted **391** | 20")
    assert json.loads((tmp_path / "second.json").read_text())["rows"] == [1, 2]


def test_only_the_text_between_the_marks_changes(tmp_path):
    store("only", "make only", [("counted", 3)], tmp_path)
    text = with_table(f"before\n{START}\nold\n{END}\nafter\n", tmp_path)
    assert text == f"before\n{START}\n\n{table(tmp_path)}\n\n{END}\nafter\n"
    assert with_table(text, tmp_path) == text


@pytest.mark.parametrize("text", ["", START, END, START + END + END])
def test_a_page_without_its_marks_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match="needs the two marks"):
        with_table(text, tmp_path)


def test_an_incomplete_file_is_refused(tmp_path):
    (tmp_path / "half.json").write_text('{"date": "2026-01-01", "figures": []}')
    with pytest.raises(ValueError, match=r"half\.json has no command"):
        table(tmp_path)
