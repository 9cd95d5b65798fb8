"""Live figures: a directive for a figure that a reader can touch, without a server.

    ```{live} clip
    What the figure shows, and what to try.
    ```

What it computes is Python (`persample.book.live`), written as JavaScript when the book is built.
What it draws is `live/NAME.js`, on top of `live/live.js` and, for points in a plane,
`live/chart.js`. Without JavaScript, and in print, the page shows none of it: the static figure
beside it says the same.
"""

import hashlib
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

SCRIPTS = Path(__file__).with_name("live")
FOLDER = "_static/live"
COMMON = ("live", "chart")  # what figures share, in the order in which a page loads it


def script(name: str) -> str:
    """Return the script of a figure: what it computes, then how it is drawn."""
    from persample.book import live

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


class Live(SphinxDirective):
    """Puts a live figure here: the name of the figure, and words to stand above it."""

    required_arguments = 1
    has_content = True

    def run(self):
        name = self.arguments[0]
        known = sorted({path.stem for path in SCRIPTS.glob("*.js")} - set(COMMON))
        if name not in known:
            raise self.error(f"no live figure {name!r}; there are {', '.join(known)}")
        for part in (name, *COMMON):
            self.env.note_dependency(str(SCRIPTS / f"{part}.js"))
        figure = live_figure(name=name)
        self.state.nested_parse(self.content, self.content_offset, figure)
        return [figure]


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
    app.add_directive("live", Live)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
