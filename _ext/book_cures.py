"""Cures for what the book's theme and extensions get wrong, and the address it is published at.

Each function mends one thing; `setup` at the end says when each runs. Nothing here knows
anything about the book's contents.
"""

import itertools
import os
import re
from pathlib import Path

from docutils import nodes

PHONE = 44  # letters in a line of a table, at 390 pixels


def add_vendored_files(app):
    """Copy MathJax and the fonts beside `_static`, which would load them in every page."""
    app.config.html_static_path.append(str(Path(app.srcdir) / "_ext" / "vendor"))


def set_address(app, config):
    """Take the published address from BOOK_URL; without one, write no absolute links.

    A sitemap and a social card need an absolute address. A book built at home has none, and
    none is invented: the sitemap is left out and the card's address stays relative.
    """
    url = os.environ.get("BOOK_URL", "").strip()
    if url:
        config.html_baseurl = config.ogp_site_url = url.rstrip("/") + "/"
    else:
        # sphinx-sitemap warns that it has no address, and warnings are errors here.
        config.suppress_warnings = [*config.suppress_warnings, "sitemap.configuration"]


def drop_thebe(app, pagename, templatename, context, doctree):
    """Remove sphinx-thebe's script: loaded twice even when off, it fails on every page."""
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "thebe" not in str(getattr(script, "filename", None) or script).lower()
        and "THEBE_JS_URL" not in (getattr(script, "attributes", {}).get("body") or "")
    ]


def fits_a_phone(table) -> bool:
    """Return whether a phone shows the table with each column as wide as its longest word."""
    lines = [line.findall(nodes.entry) for line in table.findall(nodes.row)]
    words = [[max(map(len, cell.astext().split()), default=0) for cell in line] for line in lines]
    return sum(map(max, zip(*words, strict=False))) <= PHONE


def wrap_tables(app, doctree, docname):
    """Put every table in a box that scrolls by itself when the table is wider than the page."""
    for table in list(doctree.findall(nodes.table)):
        parent = table.parent
        if isinstance(parent, nodes.container) and "table-box" in parent["classes"]:
            continue
        box = nodes.container(classes=["table-box", *(["whole-words"] * fits_a_phone(table))])
        parent.replace(table, box)
        box += table


PICTURE = re.compile(r'(<img [^>]*?) style="width: (\d+)px; height: (\d+)px;"')


def free_pictures(app, pagename, templatename, context, doctree):
    """Give pictures their size as attributes: as a style it would fix their height.

    The browser then knows their shape before they arrive, so that the text below does not jump,
    and can still make them narrower. All but the first are loaded when they come near.
    """
    count = itertools.count()

    def attributes(match):
        lazy = ' loading="lazy"' if next(count) else ""
        return f'{match[1]} width="{match[2]}" height="{match[3]}"{lazy}'

    if "body" in context:
        context["body"] = PICTURE.sub(attributes, context["body"])


def solid_icons(app, pagename, templatename, context, doctree):
    """Show no firm's sign on a button: the font that has them is left out."""
    for group in context.get("header_buttons", []):
        for button in [group, *group.get("buttons", [])]:
            if str(button.get("icon", "")).startswith("fab "):
                button["icon"] = "fas fa-code-branch"


def setup(app):
    app.connect("config-inited", set_address, priority=900)
    app.connect("builder-inited", add_vendored_files)
    app.connect("doctree-resolved", wrap_tables)
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("html-page-context", free_pictures)
    app.connect("html-page-context", solid_icons, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
