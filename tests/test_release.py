"""A release: one version in three files, a workflow with parts that exist, a paper and sources."""

import re
from pathlib import Path

import pytest
import yaml
from release import problems, versions

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "reference/paper"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_three_files_name_one_version():
    assert problems(versions(ROOT)) == []


@pytest.mark.parametrize(
    ("file", "says", "tag", "wrong"),
    [
        ("CITATION.cff", "1.0.1", "", "two versions"),
        ("CHANGELOG.md", "1.0.1 (2026-01-31)", "", "two versions"),
        ("pyproject.toml", "1.0.0", "v1.0.1", "the tag is v1.0.1"),
        ("CHANGELOG.md", "1.0.0 (not yet published)", "v1.0.0", "no date"),
    ],
)
def test_what_keeps_a_version_from_being_released(file, says, tag, wrong):
    said = {"pyproject.toml": "1.0.0", "CITATION.cff": "1.0.0"}
    said["CHANGELOG.md"] = "1.0.0 (2026-01-31)"
    assert problems(said, "v1.0.0") == []
    (found,) = problems(said | {file: says}, tag)
    assert wrong in found


def test_the_workflows_call_targets_that_exist_and_name_jobs_that_exist():
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        jobs = yaml.safe_load(text)["jobs"]
        for job in jobs.values():
            needs = job.get("needs", [])
            assert {needs} <= set(jobs) if isinstance(needs, str) else set(needs) <= set(jobs)
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
