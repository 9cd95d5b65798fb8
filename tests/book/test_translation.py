"""The Chinese translations: every message of a page has one, with its links and formulas."""

import json
import re
import tomllib
from collections import Counter

import pytest
from book_live import COMMON
from book_plain import Page, terms
from book_translation import ROOT, SEARCH, SITE, catalog, messages, pages
from citations import KEYS

LANGUAGE = "zh_CN"
LOCALE = ROOT / "locale" / LANGUAGE
CATALOGS = sorted((LOCALE / "LC_MESSAGES").rglob("*.po"))
SHOWN = [name for name in pages(ROOT, LANGUAGE) if name != SEARCH]
TABLE = tomllib.loads((LOCALE / "terms.toml").read_text(encoding="utf-8"))
# What has to stand in a translation as it stands in the English: code, formulas, where links
# lead, HTML, numbers with a point, what is filled in.
KEPT = re.compile(
    r"\{[a-z:]+\}`[^`<]*<([^`>]+)>`|(\{cite:[a-z]\}`[^`]+`|\{doc\}`[^`<]+`)|(?<!\})(`[^`]+`)"
    r"|(\$[^$]+\$)|\]\(([^)\s]+)\)|(</?a\b[^>]*>)|(?<![\w.{])(-?\d+\.\d+)(?!\w|\.\d)|(\{\d\})"
)
NAMES = ("The Per-Sample Gradients authors.",)  # a work to cite keeps its own language


def kept(text: str) -> Counter:
    return Counter("".join(groups) for groups in KEPT.findall(text))


def faults(english: str, chinese: str) -> list[str]:
    """List the faults of a translation, such as a missing link or a term unlike the table's."""
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
    found += [f"space after {mark}" for mark in re.findall(r"([。，：；？！、）”]) +\S", chinese)]
    return found + [f"{word}: not a term" for word in TABLE["rejected"] if word in chinese]


def said(name: str) -> str:
    """Return a page's text as the build reads it, with the cells' metadata, on one line."""
    if (path := ROOT / f"{name}.md").exists():
        return " ".join(path.read_text(encoding="utf-8").split())
    path = path.with_suffix(".ipynb")
    known = terms((ROOT / "reference/glossary.md").read_text(encoding="utf-8"))
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    made = Page(path, KEYS, known).cells(cells)
    texts = [cell["source"] for cell in made if cell["cell_type"] == "markdown"]
    about = json.dumps([cell["metadata"] for cell in cells], ensure_ascii=False)
    return " ".join(" ".join([*texts, about]).split())


def in_script(text: str) -> list[str]:
    """Return the messages of a script: say`a ${b} c` is "a {1} c"."""
    found = []
    for start in (match.end() for match in re.finditer(r"\bsay`", text)):
        message, count, depth, at = "", 0, 0, start
        while depth or text[at] != "`":
            opens, closes = text.startswith("${", at) and not depth, depth and text[at] == "}"
            count += opens
            message += f"{{{count}}}" if opens else "" if depth else text[at]
            depth += (depth > 0 and text[at] == "{") + opens - bool(closes)
            at += 1 + opens
        found.append(message)
    return found


def about(name: str) -> dict[str, str]:
    return messages(catalog(ROOT, LANGUAGE, name))


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.stem)
def test_each_message_keeps_links_formulas_and_terms(path):
    """Check translated messages only: unconfirmed ones are shown in English."""
    found = {en: zh for en, zh in messages(path).items() if zh}
    assert not {en[:60]: wrong for en, zh in found.items() if (wrong := faults(en, zh))}


@pytest.mark.parametrize("name", SHOWN)
def test_each_message_of_a_page_is_there_and_its_changes_are_counted(name):
    text, known = said(name), about(name)
    left = [english for english, chinese in known.items() if not chinese or english not in text]
    assert len(left) < len(known) / 2
    if left:
        pytest.skip(f"{name}: {len(left)} messages to confirm, such as {left[0][:60]!r}")


@pytest.mark.parametrize("name", SHOWN)
def test_a_changed_and_a_lost_paragraph_are_found(name):
    text = said(name)
    chosen = max(about(name), key=len)
    assert chosen in text
    assert chosen not in text.replace(chosen[-9:], f"else {chosen[-9:]}")


def test_scripts_and_settings_say_only_what_has_a_message():
    figures = re.findall(r"live-(\w+)\b", " ".join(map(said, SHOWN)))
    scripts = [f"_ext/live/{name}.js" for name in {*figures, COMMON}]
    texts = [(ROOT / p).read_text("utf-8") for p in [*scripts, "_static/book.js"]]
    found = [m for text in texts for m in in_script(text) if re.search("[a-z]{2}", m)]
    assert len(found) > 40
    assert set(found) <= set(about(SITE))
    described = tomllib.loads((ROOT / "chapters/pages.toml").read_text("utf-8"))
    assert {described[name]["description"] for name in SHOWN if name in described} <= set(
        about(SITE)
    )


def test_the_messages_of_a_script_are_found():
    text = "say`a ${f({b: 1})} and ${c}` + say`no` + `not ${say`in ${d}`}`"
    assert in_script(text) == ["a {1} and {2}", "no", "in {1}"]


def test_the_glossary_has_the_words_of_the_table():
    found = about("reference/glossary")
    known = terms((ROOT / "reference/glossary.md").read_text(encoding="utf-8")).values()
    assert set(known) <= set(found)
    table = TABLE["terms"] | TABLE["entries"]
    assert not {en: (zh, found[en]) for en, zh in table.items() if en in found and found[en] != zh}


EXAMPLE = (
    "The norm of $g_i$ is 0.5, see [chapter 1](one.ipynb) and `vmap`, or {term}`row <row>`, {1}.",
    "$g_i$ 的范数是 0.5，见[第 1 章](one.ipynb)和 `vmap`，或{term}`行 <row>`，{1}。",
)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("$g_i$", "$g_j$", "lost $g_i$"),
        ("0.5", "0.6", "lost 0.5"),
        ("one.ipynb", "two.ipynb", "lost one.ipynb"),
        ("`vmap`", "vmap", "lost `vmap`"),
        ("<row>", "<行>", "lost row"),
        ("{1}", "{2}", "lost {1}"),
        ("范数", "模", "norm: not 范数"),
        ("的范数", "的范数（规范）", "规范: not a term"),
        ("0.5，见", "0.5， 见", "space after ，"),
        (EXAMPLE[1], "", "missing"),
    ],
)
def test_a_fault_is_found(old, new, fault):
    english, chinese = EXAMPLE
    assert not faults(english, chinese)
    assert fault in faults(english, chinese.replace(old, new))
