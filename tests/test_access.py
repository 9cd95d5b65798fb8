"""What axe finds wrong with the pages: nothing, in light and dark, whatever is unfolded."""

import re
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_ext"))
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

import book_access  # noqa: E402
from browser import HTML, pages, serve, settle  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (HTML / "index.html").is_file(), reason="the book is not built: run make book"
)

# All rules that axe has, the experimental ones as well.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
OPTIONS = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": [*TAGS, "experimental"]},
}
UNFOLD = """
() => {
  for (const e of document.querySelectorAll("details")) e.open = true;
  for (const e of document.querySelectorAll(".toggle-button-hidden")) e.click();
}
"""


def violations(page, unfold: bool = False) -> list[str]:
    """List what axe finds on the page that is open: the rule, where, and what it says."""
    page.add_style_tag(content="*, ::before, ::after { transition: none !important; }")
    if unfold:
        page.evaluate(UNFOLD)
    found = axe.Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def looked_at(chromium, address: str, names: list[str], scheme: str, unfold: bool) -> dict:
    """Return page -> what axe finds there, for those where it finds something."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    found = {}
    for name in names:
        page.goto(f"{address}/{name}")
        settle(page)
        found[name] = violations(page, unfold)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    context.close()
    return {name: wrong for name, wrong in found.items() if wrong}


def test_axe_finds_nothing_on_three_pages(chromium, address):
    names = ["index.html", "chapters/05_gradient_linearity.html", "reference/bibliography.html"]
    assert looked_at(chromium, address, names, "dark", unfold=False) == {}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page_with_all_boxes_unfolded(chromium, address, scheme):
    assert looked_at(chromium, address, pages(), scheme, unfold=True) == {}


FAULTY = {
    "color-contrast": "<p style='color: #aaa; background: #fff'>pale</p>",
    "image-alt": "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
    "empty-table-header": "<table><tr><th></th><th>b<tr><td>1</td><td>2</td></table>",
    "label-content-name-mismatch": "<button aria-label='Toggle'>Show</button>",
    "heading-order": "<h4>too deep</h4>",
}


@pytest.mark.parametrize("rule", FAULTY)
def test_a_faulty_page_is_found_out(chromium, tmp_path, rule):
    (tmp_path / "favicon.ico").touch()
    (tmp_path / "page.html").write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Page</title>"
        f"<main><h1>Page</h1>{FAULTY[rule]}</main>"
    )
    page = chromium.new_page()
    with serve(tmp_path) as at:
        page.goto(f"{at}/page.html")
        found = violations(page)
    page.close()
    assert {text.partition(" at ")[0] for text in found} == {rule}


def test_no_id_stands_twice_on_a_page():
    """Axe no longer looks for this; a link to such a place leads to the first of them."""
    twice = {}
    for name in pages():
        soup = BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")
        ids = [tag["id"] for tag in soup.find_all(id=True)]
        if repeated := {one for one in ids if ids.count(one) > 1}:
            twice[name] = repeated
    assert twice == {}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('<summary aria-label="Toggle hidden content">', "<summary>"),
        ('<div class="citation" id="a" role="doc-biblioentry">', 'id="a" role="listitem"'),
        (
            '<table><tr><th class="head"><p></p></th></tr><tbody><tr>\n<td>a</td><td>b</td></tr>',
            '<td class="head"></td></tr><tbody><tr>\n<th scope="row">a</th><td>b</td></tr>',
        ),
        ('<table><tr><th class="head"><p>way</p></th></tr><tbody><tr><td>a</td>', "<td>a</td>"),
        ('<section id="exercise-content">', "<section>"),
        ('<section id="exercise-content-2">', '<section id="exercise-content-2">'),
    ],
)
def test_a_fault_is_mended_once(wrong, right):
    wrong += "</tbody></table>" if "<table>" in wrong else ""
    once = book_access.mend(wrong)
    assert right in once
    assert book_access.mend(once) == once


def test_what_is_mended_is_still_written_by_the_theme():
    """A row of MENDED that finds nothing any more can go."""
    cures = "".join((HTML / name).read_text(encoding="utf-8") for name in pages())
    for sign in ('aria-keyshortcuts="Control+K"', 'aria-label="Book"', 'role="listitem"'):
        assert sign in cures
    assert not re.search(r"doc-biblioentry|Toggle hidden content", cures)
