"""The notebooks are plain Markdown with valid links, and the book turns them into MyST."""

import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from book_plain import (
    AUTHORS,
    CHECK,
    FENCED,
    INLINE,
    NUMBER,
    SOLUTION,
    WORK,
    Page,
    anchor,
    slug,
    terms,
)
from citations import ADDRESSES, KEYS, WORKS, corrected
from notebook_rules import chapters, prose

from support import ROOT

TERMS = terms((ROOT / "reference/glossary.md").read_text(encoding="utf-8"))
MYST = re.compile(
    r"^ *[`:]{3,}\{.*|\{[a-z:]+\}`.*|^\([\w-]+\)=$|[\])`]\{[.#].*|^:[\w-]+:(?: .*)?$", re.MULTILINE
)
KINDS = {
    "label",
    "to",
    "exercise",
    "predict",
    "told",
    "note",
    "tabs",
    "tab",
    "/tabs",
    "code",
    "install",
    "set",
}
FOLDED = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
PAGES = pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
MARKED = {
    "<!-- code: ": r"\n```python\n",
    "<!-- exercise: ": r"\n### \S",
    "<!-- predict": r"\n> \*\*",
}


def cells(path: Path) -> list[nbformat.NotebookNode]:
    return nbformat.read(path, as_version=4).cells


def without_code(text: str) -> str:
    return "".join(part for part in FENCED.split(text)[::3])


def headings(path: Path) -> set[str]:
    """Return the headings of a page in the form used in links."""
    named = anchor if path.suffix == ".ipynb" else slug
    found = re.findall(r"^#+ (.*)", without_code(prose(path)), re.MULTILINE)
    return {named(heading) for heading in found} | (
        set(TERMS) if path.stem == "glossary" else set()
    )


def labels() -> set[str]:
    """Return every label in the book's notebooks, and the names of figures in cell metadata."""
    text = "\n".join(prose(path) for path in chapters(ROOT))
    names = re.findall(r"^<!-- (?:label|exercise): ([\w-]+) -->$", text, re.MULTILINE)
    figures = (
        cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        for path in chapters(ROOT)
        for cell in cells(path)
    )
    return {*names, *filter(None, figures)}


@PAGES
def test_no_cell_of_text_has_a_role_a_directive_a_label_or_an_attribute(path):
    shown = [cell.source for cell in cells(path) if cell.cell_type == "markdown"]
    for cell in cells(path):
        outputs = cell.get("outputs", [])
        shown += [
            out.data["text/markdown"] for out in outputs if "text/markdown" in out.get("data", {})
        ]
    text = without_code("\n\n".join(shown))
    assert MYST.findall(text) == []
    kinds = {re.match(r"[^: ]+", mark)[0] for mark in re.findall(r"<!-- (.*?) -->", text)}
    assert {kind for kind in kinds if not kind.startswith("live-")} <= KINDS
    for mark, after in MARKED.items():
        for start in re.finditer(f"^{mark}.*", "\n\n".join(shown), re.MULTILINE):
            assert re.match(after, start.string[start.end() :]), start[0]


@PAGES
def test_links_lead_to_files_headings_and_terms(path):
    known, wrong = labels(), []
    for match in INLINE.finditer(without_code(prose(path))):
        for url in re.findall(r"\]\(([^()\s]+)\)", match[0] if not match["code"] else ""):
            name, _, place = unquote(url).partition("#")
            target = (path.parent / name).resolve() if name else path
            if ":" in name:
                continue
            if not target.is_file():
                wrong.append(f"{url} is not there")
            elif target.suffix == ".bib":
                wrong += [] if place in WORKS else [f"{url} is no work"]
            elif place and place not in headings(target):
                wrong.append(f"{url} has no such heading")
        if match["to"] and match["to"] not in known:
            wrong.append(f"there is no label {match['to']}")
        if NUMBER.fullmatch(match["words"] or ""):
            titles = re.findall(r"^<!-- exercise: .*\n#+ (.*)", prose(path), re.MULTILINE)
            number = [anchor(title) for title in titles].index(place) + 1
            assert match["words"] == f"Exercise {int(path.name[:2])}.{number}"
    assert wrong == []


@PAGES
def test_citations_have_the_words_of_the_list_of_works(path):
    text = prose(path)
    assert corrected(text) == text
    urls = re.findall(r"\[[^][]*,? \(?\d{4}\)?\]\(([^()\s]+)\)", without_code(text))
    assert [url for url in urls if url not in KEYS] == []


@PAGES
def test_no_link_citation_term_or_exercise_is_lost_on_the_page(path):
    shown = nbformat.read(path, as_version=4)
    plain = without_code(prose(path))
    myst = "\n\n".join(
        cell["source"]
        for cell in Page(path, KEYS, TERMS).cells(shown.cells)
        if cell["cell_type"] == "markdown"
    )
    links = [m for m in INLINE.finditer(plain) if m["words"] is not None]
    urls = [url for m in INLINE.finditer(plain) for url in re.findall(AUTHORS, m["works"] or "")]
    in_text = [m["url"] for m in links if m["url"] in KEYS and re.fullmatch(WORK, m["words"])]
    cited = re.findall(r"\{cite:[pt]\}`([^`]+)`", myst)
    keys = [key for keys in cited for key in keys.split(",")]
    assert sorted(keys) == sorted(KEYS[url] for url in urls + in_text)
    terms_of_page = [m for m in links if "glossary.md#" in m["url"]]
    assert len(re.findall(r"\{term\}`", myst)) == len(terms_of_page)
    assert re.findall(r"\]\([^():\s]*#[^()\s]*\)", without_code(myst)) == []  # all are labels
    exercises = re.findall(r"^<!-- exercise: ([\w-]+) -->$", plain, re.MULTILINE)
    assert re.findall(r"^`+\{exercise\} .*\n:label: (.*)", myst, re.MULTILINE) == exercises
    assert re.findall(r"^`+\{solution-start\} (.*)", myst, re.MULTILINE) == exercises
    assert myst.count("{solution-end}") == len(exercises)


def test_every_work_has_an_address_of_its_own_and_words_are_made_from_it():
    assert len(KEYS) == len(ADDRESSES) == len(WORKS)
    url = ADDRESSES["abadi2016"]
    assert corrected("So [@abadi2016; @goodfellow2015].") == (
        f"So ([Abadi et al., 2016]({url}); [Goodfellow, 2015]({ADDRESSES['goodfellow2015']}))."
    )
    assert corrected(f"@[abadi2016] and [Abadi (2061)]({url})") == (
        f"[Abadi et al. (2016)]({url}) and [Abadi et al. (2016)]({url})"
    )


@PAGES
def test_code_that_stands_in_a_file_is_the_code_of_the_file(path):
    blocks = r"^<!-- code: (\S+)(?: (\[\w+\]))? -->\n(`{3,})python\n(.*?)\n\3$"
    for name, part, _, code in re.findall(blocks, prose(path), re.MULTILINE | re.DOTALL):
        text = (path.parent / name).read_text(encoding="utf-8")
        if part:
            text = text.split(f"# {part}\n", 1)[1].split("# [end]", 1)[0]
        assert text.strip() in code
        if not part:
            assert code == text.strip()


@PAGES
def test_a_notebook_says_what_to_install_and_folds_what_the_page_folds(path):
    first, *rest = cells(path)
    assert re.search(
        r"\A(?:<!-- label.*\n)?# .*\n\n<!-- install -->\n.*`pip install ", first.source
    )
    solving = checking = False
    for cell in rest:
        if cell.cell_type == "markdown":
            solving = cell.source == SOLUTION or (
                solving and not cell.source.startswith(("<", "## "))
            )
            checking = cell.source == CHECK
            assert cell.metadata.get("jp-MarkdownHeadingCollapsed", False) == (
                cell.source == SOLUTION
            )
        elif solving or FOLDED & set(cell.metadata.get("tags", [])):
            assert cell.metadata["jupyter"]["source_hidden"]  # JupyterLab
            assert cell.metadata["cellView"] == "form"  # Colab
        else:
            assert not checking
            assert "jupyter" not in cell.metadata
    text = prose(path)
    assert text.count("<!-- exercise: ") == text.count(SOLUTION)
    marks = re.findall("<!-- (predict|told) -->", text)
    assert marks == ["predict", "told"] * (len(marks) // 2)


# What becomes of it ---------------------------------------------------------------------------

DOI = ADDRESSES["abadi2016"]
ANSWER = "<details><summary>Answer</summary>\n\n(b), as $x$ is `x`.\n\n</details>"
FOLDED_ANSWER = "```{admonition} Answer\n:class: dropdown\n(b), as $x$ is `x`.\n```"
INTO = {
    "<!-- label: td0-mean -->\n## A *mean*": "(td0-mean)=\n## A *mean*",
    "[row](../reference/glossary.md#per-sample-gradient) x": "{term}`row <per-sample gradient>` x",
    f"x ([Abadi et al., 2016]({DOI})).": "x {cite:p}`abadi2016`.",
    f"([Abadi et al., 2016]({DOI}); [Goodfellow, 2015]({ADDRESSES['goodfellow2015']}))": (
        "{cite:p}`abadi2016,goodfellow2015`"
    ),
    f"[Abadi et al. (2016)]({DOI}) say": "{cite:t}`abadi2016` say",
    f"[their paper]({DOI})": f"[their paper]({DOI})",
    "[`a` b](02_b.ipynb#How-does-a-go?)": "[`a` b](b-go)",
    "[c](#Here)<!-- to: other -->": "[c](other)",
    "[Exercise 1.1](#Recall:-it)": "{numref}`ex-it`",
    "[steps](files/td0_in_mindspore.ipynb)": "[steps](path:files/td0_in_mindspore.ipynb)",
    "`[Abadi](x.md#y)` ![A b](../c.svg)": "`[Abadi](x.md#y)` ![A b](../c.svg)",
    "| a | ● |\n| - | - |\n| b | ● |": "| a | ● |\n| - | - |\n| b | [●]{.right} |",
    "<!-- predict -->\n> **Predict.** What?\n>\n> (a) x; (b) y.": (
        "```{admonition} Predict\n:class: predict\nWhat?\n\n(a) x; (b) y.\n```\n"
    ),
    f"{ANSWER}\n\nSo.\n\n<!-- told -->": f'{FOLDED_ANSWER}\n\nSo.\n\n<div class="told"></div>',
    f"<!-- note -->\n{ANSWER}": FOLDED_ANSWER.replace("dropdown", "dropdown note"),
    "<!-- live-clip -->\n> **Try.**\n>\n> "
    + ANSWER.replace("\n", "\n> ")
    + "\n>\n> *It moves.*": (
        "````{admonition} Live figure\n:class: live-clip\n**Try.**\n\n"
        f"{FOLDED_ANSWER}\n\n*It moves.*\n````\n"
    ),
    "with *a bound of 2*<!-- set: bound=2 y=1,0 -->, *so*": (
        "with {set}`a bound of 2 <bound=2 y=1,0>`, *so*"
    ),
    "<!-- tabs: x -->\n<!-- tab: a -->\n**A**\n\nb\n<!-- /tabs -->": (
        "````{tab-set}\n:sync-group: x\n```{tab-item} A\n:sync: a\nb\n```\n````"
    ),
    "<!-- code: a.py [b] -->\n```python\n# <!-- label: x -->\n[r](#s)\n```": (
        "```python\n# <!-- label: x -->\n[r](#s)\n```"
    ),
    "# T\n\n<!-- install -->\n*To run:* `pip`\n\nText": "# T\n\nText",
}


@pytest.fixture
def page(tmp_path):
    other = nbformat.v4.new_notebook()
    other.cells = [nbformat.v4.new_markdown_cell("<!-- label: b-go -->\n## How does `a` go?")]
    nbformat.write(other, tmp_path / "02_b.ipynb")
    other.cells = [nbformat.v4.new_markdown_cell("<!-- exercise: ex-it -->\n### Recall: it")]
    nbformat.write(other, tmp_path / "01_a.ipynb")
    return Page(tmp_path / "01_a.ipynb", KEYS, TERMS)


@pytest.mark.parametrize("plain", INTO)
def test_what_is_plain_becomes_myst(plain, page):
    assert page.blocks(plain) == INTO[plain]


def test_exercises_checks_and_solutions_become_what_the_page_folds(page):
    texts = ["## Exercises", "<!-- exercise: ex-it -->\n### Recall: it\n\nOne.\n\n(1) Two.", CHECK]
    texts += [SOLUTION, "It is so.", "## Sources\n\nNone."]
    made = page.cells([nbformat.v4.new_markdown_cell(text) for text in texts])
    assert [cell["source"].strip() for cell in made] == [
        "## Exercises",
        "```{exercise} Recall: it\n:label: ex-it\nOne.\n\n(1) Two.\n```",
        "```{solution-start} ex-it\n:class: dropdown\n```",
        "It is so.",
        "```{solution-end}\n```\n\n## Sources\n\nNone.",
    ]


def test_a_fold_of_code_is_named_after_what_it_holds_and_joins_the_one_above(page):
    def code(text, tags=("hide-input",), **data):
        outputs = [nbformat.v4.new_output("display_data", data)] if data else []
        return nbformat.v4.new_code_cell(text, outputs=outputs, metadata={"tags": list(tags)})

    plot, helpers = code("plot()", **{"image/png": ""}), [code("a = 1"), code("b = 2")]
    checks = [code("c = 3"), code("check()", **{"text/plain": "your turn"})]
    seen = code("d", (), **{"text/plain": "4"})
    texts = [f"<!-- exercise: ex-it -->\n### Recall: it\n\nOne.{end}" for end in ("", " Two.")]
    ask, again = map(nbformat.v4.new_markdown_cell, texts)
    check, solution = map(nbformat.v4.new_markdown_cell, (CHECK, SOLUTION))
    made = page.cells([plot, *helpers, ask, seen, check, *checks, solution, seen, again, *helpers])
    made = [cell for cell in made if cell["cell_type"] == "code"]
    names = [cell["metadata"].get("mystnb", {}).get("code_prompt_show") for cell in made]
    assert names == [
        "Show the code of the figure",
        "Show the helper functions",
        None,
        "Show the check",
        None,
        "Show the helper functions",
    ]
    assert [cell["source"] for cell in made[1:4:2]] == ["a = 1\n\n\nb = 2", "c = 3\n\n\ncheck()"]
    assert [len(cell["outputs"]) for cell in made] == [1, 0, 1, 0, 1, 0]
