"""The search of the built book: error messages find their entries.

This writes the entries of the error index, as its page shows them, before `book_search.js`, and
puts both into the page of results only.
"""

import json
from pathlib import Path

from bs4 import BeautifulSoup

INDEX = "reference/errors.html"


def wordings(section) -> list[str]:
    """Return by what an entry is known: its heading, and each message that it quotes besides."""
    heading = section.find(["h2", "h3"])
    for link in heading.select(".headerlink"):
        link.decompose()
    quoted = [code.get_text().strip() for code in section.select("p > code")]
    return [heading.get_text().strip(), *(text for text in quoted if len(text.split()) > 4)]


def entries(html: str) -> list[dict]:
    """Return the place, the title and the wordings of every entry of the error index."""
    found = []
    for section in BeautifulSoup(html, "html.parser").select("section[id]"):
        if section.find("section") is None and section.find(["h2", "h3"]) is not None:
            known = wordings(section)
            place = f"{INDEX}#{section['id']}"
            found.append({"place": place, "title": known[0], "wordings": known})
    return found


def finish(app, exception) -> None:
    """Write the script, and name it in the page of results."""
    folder = Path(app.outdir)
    page, index = folder / "search.html", folder / INDEX
    if exception or app.builder.format != "html" or not (page.is_file() and index.is_file()):
        return
    data = json.dumps(entries(index.read_text(encoding="utf-8")), ensure_ascii=False)
    code = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    script = f"const bookMessages = {data};\n{code}"
    (folder / "_static/book_search.js").write_text(script, encoding="utf-8")
    tag = '<script defer src="_static/book_search.js"></script>\n'
    html = page.read_text(encoding="utf-8").replace(tag, "")
    page.write_text(html.replace("</head>", f"{tag}</head>", 1), encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
