"""What a search engine, a chat or a host finds: words, pictures, and files at the book's root."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "_ext"))

import book_sharing  # noqa: E402

SAID = book_sharing.settings(ROOT)
pytestmark = pytest.mark.skipif(
    not (HTML / "index.html").is_file(), reason="the book is not built: run make book"
)


def head(docname: str) -> tuple[str, dict[str, list[str]]]:
    """Return a page's title, and what each of its meta tags says."""
    html = (HTML / f"{docname}.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(html, "html.parser").head
    tags: dict[str, list[str]] = {}
    for tag in soup.find_all("meta"):
        tags.setdefault(tag.get("property") or tag.get("name"), []).append(tag.get("content"))
    return soup.title.get_text(), tags


def test_every_page_of_the_contents_has_words_of_its_own():
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert set(SAID) == {"index", *re.findall(r"file: (\S+)", contents)}
    words = [mine["description"] for mine in SAID.values()]
    assert len(set(words)) == len(words)
    assert [text for text in words if not 80 <= len(text) <= 180] == []


@pytest.mark.parametrize("docname", SAID)
def test_a_page_shows_its_words_and_its_picture(docname):
    title, tags = head(docname)
    assert tags["description"] == tags["og:description"] == [SAID[docname]["description"]]
    assert len(tags["og:title"]) == 1
    assert len(set(title.split(" — "))) == len(title.split(" — "))
    ((picture,), (alt,)) = tags["og:image"], tags["og:image:alt"]
    assert alt
    if not picture.startswith("http"):
        with Image.open((HTML / docname).parent / picture) as card:
            assert [card.size[0], card.size[1]] == [1200, 630]
            assert len(card.convert("RGB").getcolors(2**24)) > 10
        assert tags["og:image:width"] == ["1200"]


def test_a_figure_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="fig-none, which is not on the page"):
        book_sharing.figure_of('<figure id="fig-one"><img src="a.png"></figure>', "fig-none")


def test_what_a_host_looks_for_is_there():
    assert (HTML / ".nojekyll").is_file()
    assert (HTML / "robots.txt").read_text(encoding="utf-8").startswith("User-agent: *\nAllow: /")
    lost = BeautifulSoup((HTML / "404.html").read_text(encoding="utf-8"), "html.parser")
    assert lost.select_one("article h1").get_text() == "This page is not here"
    assert lost.select("article a[href='index.html']")


def test_every_page_says_its_version_and_date():
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    said = re.compile(rf"Version {re.escape(number)}, \d{{1,2}} [A-Z][a-z]+ \d{{4}}\.")
    pages = [HTML / "404.html", *(HTML / f"{docname}.html" for docname in SAID)]
    assert [p.name for p in pages if not said.search(p.read_text(encoding="utf-8"))] == []
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == number


def test_with_an_address_the_lost_page_starts_from_its_root(tmp_path, monkeypatch):
    class App:
        srcdir, outdir = tmp_path, tmp_path

        class builder:
            format = "html"

    (tmp_path / "404.html").write_text("<html><head></head></html>")
    monkeypatch.setenv("BOOK_URL", "https://example.org/book/")
    book_sharing.finish(App, None)
    book_sharing.finish(App, None)
    assert (tmp_path / "404.html").read_text().count('<base href="/book/" />') == 1
    robots = (tmp_path / "robots.txt").read_text()
    assert robots.endswith("Sitemap: https://example.org/book/sitemap.xml\n")
