"""The Chinese messages: one for each of the pages' own, with its links, formulas and terms."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from book_plain import Page, terms
from citations import KEYS

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "locale" / "zh_CN"
CATALOGS = sorted((LOCALE / "LC_MESSAGES").rglob("*.po"))
WHOLE = ["index", "chapters/01_one_gradient_per_sample", "chapters/05_td0"]
TABLE = tomllib.loads((LOCALE / "terms.toml").read_text(encoding="utf-8"))
# What has to stand in a translation as it stands in the English: code, formulas, where links
# lead, HTML, numbers with a point.
KEPT = re.compile(
    r"\{[a-z:]+\}`[^`<]*<([^`>]+)>`|(\{cite:[a-z]\}`[^`]+`|\{doc\}`[^`<]+`)|(?<!\})(`[^`]+`)"
    r"|(\$[^$]+\$)|\]\(([^)\s]+)\)|(</?a\b[^>]*>)|(?<![\w.])(-?\d+\.\d+)(?!\w|\.\d)"
)
BEGIN = re.compile(r"^(`{3,}|~{3,})(?:\{([\w:-]+)\}\s*(.*))?.*$")
# What stands in a notebook in place of a live figure; the build leaves it out.
LIVE = ("Live figure", "It runs on the built page")
CAPTIONS = (ROOT / "_toc.yml").read_text(encoding="utf-8")
NAMES = ("The Per-Sample Gradients authors.",)  # a work to cite keeps its own language
MARK = re.compile(r"^(?:#+|-|\d+\.|>)\s+")


def messages(path: Path) -> dict[str, str]:
    """Return English -> Chinese of a catalog; what is marked as unsure counts as missing."""
    with path.open("rb") as file:
        catalog = read_po(file)
    return {m.id: "" if m.fuzzy else m.string for m in catalog if m.id}


def kept(text: str) -> Counter:
    return Counter("".join(groups) for groups in KEPT.findall(text))


def faults(english: str, chinese: str) -> list[str]:
    """Return what is wrong with a translation."""
    if not chinese:
        return ["missing"]
    if english.startswith(NAMES):
        return ["changed"] * (chinese != english)
    found = [f"lost {part}" for part in kept(english) - kept(chinese)]
    found += [f"added {part}" for part in kept(chinese) - kept(english)]
    plain = KEPT.sub(" ", english)
    for word, wanted in TABLE["terms"].items():
        if re.search(rf"(?<![\w-]){re.escape(word)}s?(?![\w-])", plain) and wanted not in chinese:
            found.append(f"{word}: not {wanted}")
    return found + [f"{word}: not a term" for word in TABLE["rejected"] if word in chinese]


def myst(name: str) -> str:
    """Return the text cells of a page as the build reads them."""
    if (path := ROOT / f"{name}.md").exists():
        return path.read_text(encoding="utf-8")
    path = path.with_suffix(".ipynb")
    known = terms((ROOT / "reference/glossary.md").read_text(encoding="utf-8"))
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    made = Page(path, KEYS, known).cells(cells)
    return "\n\n".join(cell["source"] for cell in made if cell["cell_type"] == "markdown")


def blocks(text: str) -> set[str]:
    """Return the messages of a text: paragraphs, headings, items, cells and titles of boxes."""
    found, lines, code, fences = set(), [], "", []
    for line in [*text.splitlines(), ""]:
        fence = BEGIN.match(line.strip())
        if code:
            code = "" if line.strip() == code else code
            continue
        if fence and line.strip() == fence[1] and fences[-1:] == [fence[1]]:
            fences.pop()
        elif fence and fence[2]:
            fences.append(fence[1])
            if fence[2] == "admonition":
                found.add(fence[3])
        elif fence:
            code = fence[1]
        elif line.startswith("|"):
            found |= {cell.strip() for cell in line.strip("| ").split("|")}
        elif line.strip() and not re.match(r"^:[\w-]+:|^\([\w-]+\)=$|^<!--|^\$\$", line):
            if MARK.match(line) and lines:
                found.add("\n".join(lines))
                lines = []
            lines.append(MARK.sub("", line).strip())
            if not line.startswith("#"):
                continue
        if lines:
            found.add("\n".join(lines))
            lines = []
    found = {block for block in found if not block.startswith(LIVE)}
    return {block for block in found if re.search(r"[A-Za-z]{2}", re.sub(r"`[^`]*`", "", block))}


def unconfirmed(page: str, english: set[str]) -> list[str]:
    """Return what a page says that no message has, and messages that the page has no longer."""
    return sorted(blocks(page) - english) + sorted(m for m in english if m not in page + CAPTIONS)


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.stem)
def test_each_message_keeps_links_formulas_and_terms(path):
    wrong = {en[:60]: found for en, zh in messages(path).items() if (found := faults(en, zh))}
    assert not wrong


@pytest.mark.parametrize("name", WHOLE)
def test_each_message_of_a_page_is_translated_as_it_stands(name):
    """English may change before its translation: what is to be confirmed is only counted."""
    page = myst(name)
    english = set(messages(LOCALE / "LC_MESSAGES" / f"{name}.po"))
    if left := unconfirmed(page, english):
        assert len(left) < len(english) / 2, left
        pytest.skip(f"{name}: {len(left)} messages to translate or to confirm")


def test_the_glossary_has_the_words_of_the_table():
    found = messages(LOCALE / "LC_MESSAGES" / "reference" / "glossary.po")
    known = terms((ROOT / "reference/glossary.md").read_text(encoding="utf-8")).values()
    assert set(known) <= set(found)
    table = TABLE["terms"] | TABLE["entries"]
    assert not {en: (zh, found[en]) for en, zh in table.items() if en in found and found[en] != zh}


EXAMPLE = (
    "The norm of $g_i$ is 0.5, see [chapter 1](one.ipynb) and `vmap`, or {term}`row <row>`.",
    "$g_i$ 的范数是 0.5，见[第 1 章](one.ipynb)和 `vmap`，或{term}`行 <row>`。",
)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("$g_i$", "$g_j$", "lost $g_i$"),
        ("0.5", "0.6", "lost 0.5"),
        ("one.ipynb", "two.ipynb", "lost one.ipynb"),
        ("`vmap`", "vmap", "lost `vmap`"),
        ("<row>", "<行>", "lost row"),
        ("范数", "模", "norm: not 范数"),
        ("的范数", "的范数（规范）", "规范: not a term"),
        (EXAMPLE[1], "", "missing"),
    ],
)
def test_a_fault_is_found(old, new, fault):
    english, chinese = EXAMPLE
    assert not faults(english, chinese)
    assert fault in faults(english, chinese.replace(old, new))


@pytest.mark.parametrize("name", WHOLE)
def test_a_changed_a_new_and_a_lost_paragraph_are_found(name):
    page = myst(name)
    english = blocks(page)
    assert not unconfirmed(page, english)
    chosen = next(block for block in sorted(english) if block.count(" ") > 10)
    assert len(unconfirmed(page.replace(chosen, f"{chosen} More."), english)) >= 1
    assert unconfirmed(f"{page}\n\nA new paragraph.", english) == ["A new paragraph."]
    assert chosen in unconfirmed(page.replace(chosen, ""), english)
