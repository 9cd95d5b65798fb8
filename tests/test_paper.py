"""The book on paper: nothing cut, light, numbered; and the whole of it as one PDF."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")

import pdf  # noqa: E402
from browser import HTML, settle  # noqa: E402

pytestmark = pytest.mark.site
HEAD, FOOT = 791, 56  # points: where the margins are

# Whatever of the article reaches beyond the sheet, or is hidden in a box that would scroll.
CUT = """
() => {
  const wrong = [], edge = document.documentElement.clientWidth + 1;
  for (const e of document.querySelectorAll("article *")) {
    if (e.closest("mjx-assistive-mml, svg") || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (box.width && box.right > edge)
      wrong.push(`<${e.tagName.toLowerCase()} class="${e.className}"> ends at ${box.right}`);
    const boxes = "pre, .pst-scrollable-table-container, div.math, figure";
    if (e.matches(boxes) && e.scrollWidth > e.clientWidth + 1)
      wrong.push(`<${e.tagName.toLowerCase()}> cuts ${e.textContent.trim().slice(0, 40)}`);
  }
  for (const e of document.querySelectorAll("article details:not([open]), article .toggle-hidden"))
    wrong.push(`folded: ${e.textContent.trim().slice(0, 40)}`);
  for (const e of document.querySelectorAll("article details[open] > *"))
    if (getComputedStyle(e).animationName !== "none") wrong.push("a fold fades in: printed blank");
  for (const e of document.querySelectorAll("article summary .expanded"))
    if (e.checkVisibility()) wrong.push(`${e.textContent} is printed`);
  if (document.documentElement.dataset.theme !== "light") wrong.push("the theme is dark");
  const first = document.querySelector("article h1");
  if (!first.checkVisibility()) wrong.push("the title is not shown");
  const left = ".headerlink, button, .prev-next-footer, #jb-print-docs-body";
  for (const e of document.querySelectorAll(left))
    if (e.checkVisibility()) wrong.push(`<${e.className}> is printed`);
  return wrong;
}
"""


def cut(page) -> list[str]:
    """List what is wrong with the open page as it would be printed."""
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    found = page.evaluate(CUT)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    return found


def looked_at(chromium, address: str, names: list[str]) -> dict[str, list[str]]:
    context = chromium.new_context(
        viewport={"width": pdf.TEXT, "height": 900}, color_scheme="dark"
    )
    page = context.new_page()
    found = {}
    for name in names:
        page.goto(f"{address}/{name}")
        settle(page)
        before = page.evaluate("document.querySelectorAll('article details[open]').length")
        found[name] = cut(page)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.evaluate("document.querySelectorAll('article details[open]').length") == before
    context.close()
    return {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.slow
def test_every_page_is_printed_whole(chromium, address):
    assert looked_at(chromium, address, [name for _, name in pdf.order()]) == {}


def entries(outline, depth=0) -> list[tuple[int, str]]:
    """Return depth and title of every entry of an outline."""
    found = []
    for one in outline:
        if isinstance(one, list):
            found += entries(one, depth + 1)
        else:
            found.append((depth, one.title))
    return found


def read(sheet) -> tuple[str, float]:
    """Return what a sheet says, and how much of its height is used."""
    ends = [HEAD]

    def drawn(operator, _, page, line):
        if operator in (b"Tj", b"TJ", b"Do"):
            ends.append(page[5] + (min(page[3], 0) if operator == b"Do" else page[3] * line[5]))

    text = sheet.extract_text(visitor_operand_before=drawn)
    return bare(text), (HEAD - min(e for e in ends if e > FOOT)) / (HEAD - FOOT)


def bare(text: str) -> str:
    return "".join(text.split())


@pytest.mark.slow
def test_the_whole_book_is_one_pdf(chromium, address, tmp_path):
    from bs4 import BeautifulSoup

    made = pypdf.PdfReader(pdf.make(chromium, address, tmp_path / "book.pdf"))
    titles = [title for _, title in entries(made.outline)]
    heads = tuple(bare(title) for depth, title in entries(made.outline) if depth < 2)
    texts, used = zip(*map(read, made.pages), strict=True)
    whole = "".join(texts)
    contents = "".join(texts[1:3])
    missing = []
    for _, name in pdf.order():
        soup = BeautifulSoup((HTML / name).read_text("utf-8"), "html.parser").find("article")
        for link in soup.select(".headerlink"):
            link.decompose()
        title = " ".join(soup.h1.get_text().split())
        if title not in titles:
            missing.append(f"{name}: no entry in the outline")
        if bare(title) not in contents:
            missing.append(f"{name}: not in the contents")
        for line in soup.select(".cell_input .line"):
            if bare(line.get_text()) not in whole:
                missing.append(f"{name}: {line.get_text().strip()}")
    assert missing == []
    # Less than half used is only the end of a page of the book.
    inside = [n for n in range(3, len(texts) - 1) if not texts[n + 1].startswith(heads)]
    assert [(n + 1, used[n]) for n in inside if used[n] < 0.5] == []
    assert made.metadata.title == "Per-Sample Gradients"
    # Every number at a foot is that of the sheet; no link leads to the server that printed it.
    assert [n for n, text in enumerate(texts, 1) if n > 3 and not text.endswith(str(n))] == []
    assert {tuple(map(round, sheet.mediabox[2:])) for sheet in made.pages} == {(596, 843)}
    addresses = [
        str(link.get_object().get("/A", {}).get("/URI", ""))
        for sheet in made.pages
        for link in sheet.get("/Annots", [])
    ]
    assert len(addresses) > 500
    assert [uri for uri in addresses if "127.0.0.1" in uri or "_images" in uri] == []
    # One page leads to another.
    within = [link for sheet in made.pages for link in sheet.get("/Annots", [])]
    assert len([link for link in within if "/Dest" in link.get_object()]) > 500
