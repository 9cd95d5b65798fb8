"""Pages for everyone: what the theme and the extensions tell screen readers wrongly, mended.

The faulty HTML is made in a dozen templates and writers, so this reads what was written when the
build has finished. Each row of MENDED is one fault; a mended page passes through unchanged.
"""

import re

from book_weight import on_every_page

TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
# A corner that heads nothing: then the first cell of each row heads that row.
CORNER = re.compile(r'<(t[hd]) class="([^"]*\bhead\b[^"]*)">\s*(?:<p>\s*</p>)?\s*</\1>')
ROW = re.compile(r"(<tr\b[^>]*>\s*)<td>(.*?)</td>", re.DOTALL)
REPEATED = re.compile(r'<section id="(?:exercise|solution|proof)-content">')

MENDED = [
    # The label hid the words that one sees; they are the name now.
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The button shows "Search" and its keys, so that is its name; the keys have a place of
    # their own.
    (
        re.compile(r'(<button class="btn search-button-field[^>]*?) title="Search"'
                   r' aria-label="Search"'),
        r'\1 aria-keyshortcuts="Control+K"',
    ),
    (
        re.compile(r'<span class="search-button__kbd-shortcut">'),
        '<span class="search-button__kbd-shortcut" aria-hidden="true">',
    ),
    # What lies outside every landmark is passed over by those who go from one to the next.
    (
        re.compile(r'<div class="sidebar-primary-items__start sidebar-primary__section">'),
        '<div class="sidebar-primary-items__start sidebar-primary__section" role="navigation"'
        ' aria-label="Book">',
    ),
    # A list whose entries have a role that has gone out of use.
    (
        re.compile(r'(<div class="citation" id="[^"]*") role="doc-biblioentry">'),
        r'\1 role="listitem">',
    ),
    # One id in each exercise of a page; nothing refers to it.
    (REPEATED, "<section>"),
]  # fmt: skip


def headed(match: re.Match) -> str:
    """Give the rows of a table heads where its corner is empty."""
    head, body, rows = match[0].partition("<tbody>")
    if not CORNER.search(head):
        return match[0]
    rows = ROW.sub(r'\1<th scope="row">\2</th>', rows)
    return CORNER.sub(r'<td class="\2"></td>', head) + body + rows


def mend(html: str) -> str:
    """Return a page without the faults."""
    for fault, cure in MENDED:
        html = fault.sub(cure, html)
    return TABLE.sub(headed, html)


def setup(app):
    app.connect("build-finished", on_every_page(mend), priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
