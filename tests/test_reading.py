"""Pages are short enough to be read, and written in plain English; so are docstrings."""

from pathlib import Path

import pytest
from notebook_rules import chapters
from reading import MOST_WORDS, comments, phrases, prose, visible, words

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*chapters(ROOT), ROOT / "index.md", *sorted(ROOT.glob("reference/*.md"))]
FILES = [*ROOT.glob("src/**/*.py"), *ROOT.glob("scripts/*.py"), *ROOT.glob("_ext/*.py")]


@pytest.mark.parametrize("page", chapters(ROOT), ids=lambda page: page.stem)
def test_a_chapter_is_read_in_twenty_minutes(page):
    assert words(page) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_avoids_odd_phrases(page):
    assert phrases(prose(page)) == []


def test_docstrings_and_comments_avoid_odd_phrases():
    read = [path for path in FILES if path.name != "reading.py"]  # it lists the phrases
    assert {path.name: found for path in read if (found := phrases(comments(path)))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "a b\n```{note}\nc\n```",
        "a b\n:::{tip}\n:name: x\nc\n:::",
        "a\n````{note}\nb\n```{tip} d\n:class: dropdown\ne\n```\nc\n````",
    ],
)
def test_what_shows_is_counted(text):
    assert visible(text).split() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        "a\n```{admonition} Title\n:class: note dropdown\nb c\n```",
        "a\n````{dropdown} Title\n```python\nx = 1\n```\nb\n````",
        "a\n```{solution-start} x\n:class: dropdown\n```\nb\n```{solution-end}\n```",
        "a\n```python\nb = 1\n```",
        "(label)=\na",
    ],
)
def test_what_is_folded_is_not_counted(text):
    assert visible(text).split() == ["a"]


@pytest.mark.parametrize(
    "text", ["one gradient a sample", "the derivative by theta", "one\nentry an argument"]
)
def test_an_odd_phrase_is_found(text):
    assert phrases(text)
    assert not phrases("one gradient per sample; one entry for each argument; one row a day")


def test_comments_and_strings_are_read(tmp_path):
    file = tmp_path / "x.py"
    file.write_text('"""One."""\nx = 1  # two\n')
    assert comments(file) == '"""One."""\n# two'
