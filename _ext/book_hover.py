"""What a link to the glossary or to a source leads to, shown beside the link (`book.js`).

The words are put into each page that has such links, so that no page asks for another one.
"""

import json
import re
from pathlib import Path

from book_cures import pages, write
from bs4 import BeautifulSoup

# Page -> where its entries are.
KNOWN = {
    "reference/glossary.html": "dl.glossary dt[id]",
    "reference/bibliography.html": "div.citation[id]",
}
STORED = re.compile(r'<script type="application/json" id="book-tips">.*?</script>\n?', re.DOTALL)
LINK = re.compile(r'<a class="[^"]*\breference internal\b[^"]*" href="([^"#]*)#([^"]+)"')
KEPT = {"p", "em", "strong", "code", "span", "i", "b", "sub", "sup"}


def plain(tag) -> str:
    """Return the inside of an element without links, places, labels and styles."""
    copy = BeautifulSoup(str(tag), "html.parser").find()
    for label in copy.select(".label"):
        label.decompose()
    for inner in copy.find_all(True):
        if inner.name not in KEPT:
            inner.unwrap()
            continue
        formula = "math" in inner.get("class", [])
        inner.attrs = {"class": "math notranslate nohighlight"} if formula else {}
    return " ".join(copy.decode_contents().split())


def entries(html: str, selector: str) -> dict[str, str]:
    """Return the place of each term or work, and what is said of it."""
    found = BeautifulSoup(html, "html.parser").select(selector)
    return {
        entry["id"]: plain(entry.find_next_sibling("dd") if entry.name == "dt" else entry)
        for entry in found
    }


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
        name: entries((folder / name).read_text(encoding="utf-8"), selector)
        for name, selector in KNOWN.items()
        if (folder / name).is_file()
    }
    for page in pages(folder):
        name = page.relative_to(folder).as_posix()
        write(page, with_tips(page.read_text(encoding="utf-8"), name, known))


def setup(app):
    app.connect("build-finished", finish, priority=790)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
