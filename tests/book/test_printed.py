"""The PDF of the whole book."""

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")

import pdf  # noqa: E402
from browser import HTML  # noqa: E402

pytestmark = pytest.mark.site
# A landing page, a chapter with a live figure, long programs, and what they cite.
PRINTED = ["index.html", "chapters/05_td0.html"]
PRINTED += [f"reference/{name}.html" for name in ("training_loops", "bibliography")]
TOP, FOOT = 791, 56  # points: where a sheet's margins are


def bare(text: str) -> str:
    return "".join(text.split())


def read(sheet) -> tuple[str, float]:
    """Return the text of a PDF page, and the fraction of its height that is used."""
    ends = [TOP]

    def drawn(operator, _, page, line):
        if operator in (b"Tj", b"TJ", b"Do"):
            ends.append(page[5] + (min(page[3], 0) if operator == b"Do" else page[3] * line[5]))

    said = bare(sheet.extract_text(visitor_operand_before=drawn))
    return said, (TOP - min(e for e in ends if e > FOOT)) / (TOP - FOOT)


@pytest.mark.slow
def test_pages_become_one_pdf_with_contents_links_and_numbers(chromium, address, tmp_path):
    from bs4 import BeautifulSoup

    made = pypdf.PdfReader(pdf.make(chromium, address, tmp_path / "book.pdf", PRINTED))
    texts, used = zip(*map(read, made.pages), strict=True)
    whole, contents, missing, heads = "".join(texts), texts[1], [], []
    for name in PRINTED:
        soup = BeautifulSoup((HTML / name).read_text("utf-8"), "html.parser").find("article")
        for link in soup.select(".headerlink"):
            link.decompose()
        title = " ".join(soup.h1.get_text().split())
        # A chapter begins with its part, in capitals, and its number, without a point.
        part = soup.select_one(".part")
        heads.append(bare(part.get_text().upper() + title.replace(".", "", 1) if part else title))
        outline = [entry.title for entry in flat(made.outline)]
        missing += [] if title in outline and bare(title) in contents else [title]
        lines = [bare(line.get_text()) for line in soup.select(".cell_input .line")]
        missing += [line for line in lines if line not in whole]
    assert missing == []
    # Less than half used is only the end of a page of the book.
    half = [n for n in range(2, len(texts) - 1) if used[n] < 0.5]
    assert [n + 1 for n in half if not texts[n + 1].startswith(tuple(heads))] == []
    assert made.metadata.title == "Per-Sample Gradients"
    # Every number at a foot is that of the sheet; no link leads to the server that printed it.
    assert [n for n, text in enumerate(texts, 1) if n > 2 and not text.endswith(str(n))] == []
    assert {tuple(map(round, sheet.mediabox[2:])) for sheet in made.pages} == {(596, 843)}
    links = [link.get_object() for sheet in made.pages for link in sheet.get("/Annots", [])]
    assert len([link for link in links if "/Dest" in link]) > 20
    addresses = [str(link.get("/A", {}).get("/URI", "")) for link in links]
    assert len([uri for uri in addresses if uri.startswith("https://")]) > 20
    assert [uri for uri in addresses if "_images" in uri] == []


def flat(outline) -> list:
    """Return the entries of a nested PDF outline as one list."""
    parts = [flat(one) if isinstance(one, list) else [one] for one in outline]
    return [entry for part in parts for entry in part]
