"""A release: the version in three files, the scripts of its workflow, the paper's citations."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import release
import yaml
from release import problems, versions

from support import ROOT

PAPER = ROOT / "reference/paper"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_three_files_name_one_version():
    assert problems(versions(ROOT)) == []


def test_the_workflows_call_targets_that_exist():
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"run: make ([a-z-]+)", text):
            assert f"\n{target}:" in MAKEFILE


def test_the_paper_cites_what_its_bibliography_has_as_the_book_has_it():
    text = (PAPER / "paper.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(
        yaml.safe_load(front)
    )
    assert len(body.split()) < 1_000
    entry = re.compile(r"^@\w+\{(\w+),.*?^\}$", re.MULTILINE | re.DOTALL)
    ours = {m[1]: m[0] for m in entry.finditer((PAPER / "paper.bib").read_text("utf-8"))}
    book = (ROOT / "reference/references.bib").read_text("utf-8")
    assert set(re.findall(r"@([a-z]+\d*)", body)) == set(ours)
    assert all(found in book for found in ours.values())


@pytest.mark.parametrize("waiting", [[], ["zh/index: A paragraph.", "zh/index: Another."]])
def test_no_release_while_a_translation_waits(waiting, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(release, "unconfirmed", lambda root: waiting)
    for suffix in (".whl", ".gz"):
        Path(tmp_path, f"package{suffix}").touch()
    readme = Path(ROOT, "README.md").read_text("utf-8")
    printed = re.findall(r"```(?:python|text)\n(.*?)```", readme, re.DOTALL)[1]
    done = SimpleNamespace(stdout=printed, stderr="")
    monkeypatch.setattr(release.subprocess, "run", lambda *args, **options: done)
    assert release.main(tmp_path) == bool(waiting)
    said = capsys.readouterr().out
    for message in waiting:
        assert f"a translation waits to be confirmed: {message}" in said
