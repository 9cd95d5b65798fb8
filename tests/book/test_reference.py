"""The reference pages: their code runs, and every cited work is introduced."""

import re

import yaml

from support import ROOT

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text(name):
    return (ROOT / "reference" / f"{name}.md").read_text()


def test_the_code_of_the_notes_holds():
    blocks = PYTHON.findall(text("published_pages"))
    assert len(blocks) >= 9
    scope = {}
    for block in blocks:  # one after the other, as a reader would run them
        assert "assert " in block
        exec(compile(block, "published_pages.md", "exec"), scope)


def test_every_work_has_a_line_on_the_bibliography_page():
    (file,) = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["bibtex_bibfiles"]
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / file).read_text(), re.MULTILINE)
    lines = re.findall(r"^- \{cite:t\}`(\w+)`: \S", text("bibliography"), re.MULTILINE)
    assert sorted(lines) == sorted(keys)


def test_every_term_of_the_glossary_is_defined_once():
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```", text("glossary"), re.DOTALL | re.MULTILINE)
    terms = [line for block in blocks for line in block.splitlines() if line and line[0] != " "]
    assert len(terms) > 40
    assert len({term.lower() for term in terms}) == len(terms)
