"""What a link to the glossary or to a source leads to, shown beside the link (`book.js`).

The words are put into each page that has such links, so that no page asks for another one.
"""

import json
import re
from pathlib import Path

from book_cures import pages, write
from bs4 import BeautifulSoup

GLOSSARY, SOURCES = "reference/glossary.html", "reference/bibliography.html"
STORED = re.compile(r'<script type="application/json" id="book-tips">.*?</script>\n?', re.DOTALL)
LINK = re.compile(r'<a class="[^"]*\breference internal\b[^"]*" href="([^"#]*)#([^"]+)"')
KEPT = {"p", "em", "strong", "code", "span", "i", "b", "sub", "sup"}


def plain(tag) -> str:
    """Return the inside of an element without links, places and styles."""
    copy = BeautifulSoup(str(tag), "html.parser").find()
    for inner in copy.find_all(True):
        if inner.name not in KEPT:
            inner.unwrap()
            continue
        formula = "math" in inner.get("class", [])
        inner.attrs = {"class": "math notranslate nohighlight"} if formula else {}
    return " ".join(copy.decode_contents().split())


def glossary(html: str) -> dict[str, str]:
    """Return the place of each term and what is said of it."""
    found = {}
    for term in BeautifulSoup(html, "html.parser").select("dl.glossary dt[id]"):
        meaning = term.find_next_sibling("dd")
        if meaning is not None:
            found[term["id"]] = plain(meaning)
    return found


def sources(html: str) -> dict[str, str]:
    """Return the place of each work and its entry."""
    found = {}
    for entry in BeautifulSoup(html, "html.parser").select("div.citation[id]"):
        for label in entry.select(".label"):
            label.decompose()
        found[entry["id"]] = plain(entry)
    return found


def with_tips(html: str, name: str, known: dict[str, dict[str, str]]) -> str:
    """Put the words that a page's links lead to into the page."""
    tips = {}
    for path, place in LINK.findall(html):
        target = re.sub(r"[^/]+/\.\./", "", f"{name.rpartition('/')[0]}/{path}").lstrip("/")
        if path and place in known.get(target, {}):
            tips[f"{path}#{place}"] = known[target][place]
    html = STORED.sub("", html)
    if not tips:
        return html
    data = json.dumps(tips, ensure_ascii=False, sort_keys=True).replace("</", "<\\/")
    stored = f'<script type="application/json" id="book-tips">{data}</script>\n'
    return html.replace("</body>", f"{stored}</body>", 1)


def finish(app, exception) -> None:
    """Give every page the words that its links lead to."""
    folder = Path(app.outdir)
    if exception or app.builder.format != "html":
        return
    known = {
        name: read((folder / name).read_text(encoding="utf-8"))
        for name, read in ((GLOSSARY, glossary), (SOURCES, sources))
        if (folder / name).is_file()
    }
    for page in pages(folder):
        name = page.relative_to(folder).as_posix()
        write(page, with_tips(page.read_text(encoding="utf-8"), name, known))


def setup(app):
    app.connect("build-finished", finish, priority=790)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
