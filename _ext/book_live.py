"""Live figures: a box in a chapter becomes a figure that a reader can touch, without a server.

    ````{admonition} Live figure
    :class: live-clip
    It runs on the built page: `make serve`, then `chapters/NAME.html`.

    What the figure shows, and what to try.

    ```{admonition} Answer
    :class: dropdown
    What is found by trying.
    ```
    ````

JupyterLab shows the box as it stands. The built page drops its title and first paragraph. What
the figure computes is Python (`persample_book.live`), written as JavaScript when the book is
built. What it draws is `live/NAME.js`, on top of `live/live.js` and, for points in a plane,
`live/chart.js`. Without JavaScript, and in print, the page shows none of it: the static figure
beside it says the same.
"""

import hashlib
import html
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

SCRIPTS = Path(__file__).with_name("live")
FOLDER = "_static/live"
COMMON = ("live", "chart")  # what figures share, in the order in which a page loads it
CLASS = "live-"
logger = logging.getLogger(__name__)


def script(name: str) -> str:
    """Return the script of a figure: what it computes, then how it is drawn."""
    from persample_book import live

    drawing = (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")
    return f'"use strict";\n{{\nconst programs = {live.programs(name)};\n{drawing}}}\n'


def scripts(name: str) -> dict[str, str]:
    """Return the scripts that a figure needs, by name, in order."""
    own = script(name)
    used = [part for part in COMMON if f"{part}." in own]
    common = {part: (SCRIPTS / f"{part}.js").read_text(encoding="utf-8") for part in used}
    return {**common, name: own}


class live_figure(nodes.General, nodes.Element):
    """A live figure; its children are the words above it."""


def figure(box: nodes.admonition) -> str | None:
    """Return the figure that a box stands for, if it does."""
    return next((c.removeprefix(CLASS) for c in box["classes"] if c.startswith(CLASS)), None)


def folded(box: nodes.admonition) -> list[nodes.Node]:
    """Return a box as plain HTML that folds: a second frame within the figure's is too much."""
    title, *words = box.children
    start = f"<details><summary>{html.escape(title.astext())}</summary>"
    opens, closes = (nodes.raw("", text, format="html") for text in (start, "</details>"))
    return [opens, *words, closes]


class Live(SphinxTransform):
    """Puts live figures in the place of the boxes that name them."""

    default_priority = 500

    def apply(self):
        known = sorted({path.stem for path in SCRIPTS.glob("*.js")} - set(COMMON))
        for box in list(self.document.findall(nodes.admonition)):
            name = figure(box)
            if name is None:
                continue
            if name not in known:
                said = f"no live figure {name!r}; there are {', '.join(known)}"
                logger.warning(said, location=box)
                continue
            for part in (name, *COMMON):
                self.env.note_dependency(str(SCRIPTS / f"{part}.js"))
            for answer in list(box.findall(nodes.admonition, include_self=False)):
                answer.parent.replace(answer, folded(answer))
            _title, _note, *words = box.children
            box.replace_self(live_figure("", *words, name=name))


def opening(name: str) -> str:
    """Return how the box of a figure begins: its script shows it."""
    label = f"live-{name}-about"
    return (
        f'<div class="live" id="live-{name}" hidden role="group" aria-labelledby="{label}">'
        f'<div id="{label}">'
    )


CLOSING = "</div></div>"


def visit_html(translator, node):
    """Write the words, in a box that stays hidden until its script runs."""
    translator.body.append(opening(node["name"]))


def depart_html(translator, node):
    """Write the scripts into files, and name those that the page does not have yet."""
    builder = translator.builder
    folder = Path(builder.outdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    tags = ""
    for name, text in scripts(node["name"]).items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
        root = "../" * builder.current_docname.count("/")
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        tag = f'<script src="{root}{FOLDER}/{name}.js?v={digest}"></script>'
        tags += tag if tag not in "".join(translator.body) else ""
    translator.body.append(f"{CLOSING}{tags}\n")


def skip(translator, node):
    """Leave the figure out where there is no script."""
    raise nodes.SkipNode


def setup(app):
    app.add_node(
        live_figure,
        html=(visit_html, depart_html),
        **dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None)),
    )
    app.add_transform(Live)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
