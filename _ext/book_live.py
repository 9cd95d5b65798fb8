"""Live figures: a box in a chapter becomes an interactive figure that needs no server.

    <!-- live-clip -->
    > ![What the still picture shows.](../_static/table-rows.svg)
    >
    > **What can be found by trying?**
    >
    > What the parts of the figure are, and what to try.
    >
    > <details><summary>Answer</summary>
    >
    > What is found by trying.
    >
    > </details>
    >
    > *This figure moves on the page of the book.*

A notebook shows the box unchanged. The built page drops the last paragraph, and puts the answer
below the figure and all other words above it. The figure's program is `live/NAME.js`, which uses
`live/live.js`. The picture, with the text below it in its paragraph, is shown without JavaScript,
in print, and in the notebook; a box without a picture needs a static figure beside it. `book.css`
defines the space that a figure takes, so that nothing moves when it appears.

Words of the text can set the figure to a state; here its first state, with another bound. Of two
figures on a page, it is the one that has these numbers:

    *with a bound of 2*<!-- set: bound=2 -->
"""

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

SCRIPTS = Path(__file__).with_name("live")
COMMON = "live"  # what figures share
SHARED = {  # what some share
    "curve": {"batch", "td"},
    "handle": {"clip", "conflict", "devices", "divisor", "field"},
    "pixels": {"digits", "influence"},
    "states": {"divergence"},
    "walk": {"td"},
}
WIDE = {"clip"}  # what takes the margin of a wide screen as well
FIGURES = sorted({path.stem for path in SCRIPTS.glob("*.js")} - {COMMON, *SHARED})
CLASS = "live-"
SHORT = 12  # letters of words that do not break
logger = logging.getLogger(__name__)


class live_figure(nodes.General, nodes.Element):
    """The node of a live figure; its children are the words above and below it."""


def folded(box: nodes.admonition) -> list[nodes.Node]:
    """Return a box as nodes of a plain <details> element, without a second frame."""
    title, *words = box.children
    start = f"<details><summary>{html.escape(title.astext())}</summary>"
    opens, closes = (nodes.raw("", text, format="html") for text in (start, "</details>"))
    return [opens, *words, closes]


class Live(SphinxTransform):
    """Replace the boxes that name a live figure by `live_figure` nodes."""

    default_priority = 500

    def apply(self):
        for box in list(self.document.findall(nodes.admonition)):
            for name in [c.removeprefix(CLASS) for c in box["classes"] if c.startswith(CLASS)]:
                if name not in FIGURES:
                    said = f"no live figure {name!r}; there are {', '.join(FIGURES)}"
                    logger.warning(said, location=box)
                    continue
                for answer in list(box.findall(nodes.admonition, include_self=False)):
                    answer.parent.replace(answer, folded(answer))
                _title, *words, _note = box.children
                still = [part for part in words if part.next_node(nodes.image)]
                said = [part for part in words if part not in still]
                said[0]["ids"].append(label(name))
                answers = [i for i, part in enumerate(said) if isinstance(part, nodes.raw)]
                said.insert((*answers, len(said))[0], nodes.raw("", "</div>", format="html"))
                live = live_figure("", *said, name=name)
                shown = [nodes.container("", *still, classes=["still"])] if still else []
                box.replace_self([*shown, live])


def state(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Return words that set the page's figure to a state: {set}`words <key=1 list=2,3>`."""
    words, values = re.fullmatch(r"(.+) <([^>]+)>", text, re.DOTALL).groups()
    kind = "live-set together" if len(words) <= SHORT else "live-set"
    opens = f'<span class="{kind}" data-set="{html.escape(values)}">'
    parts = (opens, html.escape(words), "</span>")
    return [nodes.raw("", "".join(parts), format="html")], []


def label(name: str) -> str:
    """Return the id of the sentence that names a figure, its question."""
    return f"live-{name}-about"


def opening(name: str) -> str:
    """Return the opening tags of a figure's box, which is hidden until its script runs."""
    wide = " live-wide" if name in WIDE else ""
    return (
        f'<div class="live{wide}" id="live-{name}" hidden role="group"'
        f' aria-labelledby="{label(name)}"><div>'
    )


def scripts(name: str) -> list[str]:
    """Return the names of a figure's scripts, in the order in which they run."""
    return [COMMON, *(part for part, users in SHARED.items() if name in users), name]


def visit_html(translator, node):
    """Write the opening tags of the figure's box."""
    translator.body.append(opening(node["name"]))


def depart_html(translator, node):
    """Write the closing tags of the box."""
    translator.body.append("</div>\n")


def add_scripts(app, pagename, templatename, context, doctree):
    """Add the scripts of a page's live figures, to run after the page has been parsed."""
    figures = [node["name"] for node in doctree.findall(live_figure)] if doctree else []
    for name in dict.fromkeys(part for figure in figures for part in scripts(figure)):
        app.add_js_file(f"{name}.js", loading_method="defer")


def setup(app):
    app.add_node(live_figure, html=(visit_html, depart_html))
    app.add_role("set", state)
    app.add_transform(Live)
    app.connect("html-page-context", add_scripts)
