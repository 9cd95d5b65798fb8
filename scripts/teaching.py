"""Make slides, or exercises without solutions, from the notebooks of the core chapters.

    python scripts/teaching.py slides       _build/slides/NAME.html
    python scripts/teaching.py exercises    _build/exercises/NAME.ipynb, and the wheel

The slides show headings, sentences in bold, code and its output, tables, lists and Predict boxes;
all other prose is in the speaker's notes (key S).
"""

import re
import shutil
import sys
from pathlib import Path

import nbformat
from execute_notebooks import METADATA
from nbconvert import SlidesExporter
from nbformat.v4 import new_code_cell, new_notebook
from nbformat.v4 import new_markdown_cell as markdown

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "_ext"))

import book_files  # noqa: E402
from book_plain import AUTHORS, ENDS, FOLD, HIDDEN, QUOTE, SOLUTION  # noqa: E402

CORE = sorted(ROOT.glob("chapters/0[1-6]_*.ipynb"))
UNSEEN = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
MOST_LINES = 22  # of code and output together, on one slide
START = """\
# Exercises: {title}

Install JupyterLab and the wheel beside this file, in an environment of its own:
`pip install jupyterlab "{wheel}[torch,jax,notebook]"`. Run all cells (*Run, Run All Cells*). The
first part is the code of the chapter, on which the exercises stand. Then edit the cells
marked *your turn*, and run the cell below each: it says whether your answer is right."""


def boxed(match: re.Match) -> str:
    """Return a box, a match of QUOTE, as heading and text; a live figure as its picture only."""
    body = re.sub(r"^> ?", "", match[2], flags=re.MULTILINE)
    if match[1].startswith("live-"):
        return "\n".join(re.findall(r"^!\[.*", body, flags=re.MULTILINE))
    return re.sub(r"\A\*\*(.+?)\.?\*\*\s+", r"### \1\n\n", body)


def plain(text: str) -> str:
    """Return Markdown without citations, comments and link targets; boxes become sections."""
    text = FOLD.sub(r"### \2\n\n\3", QUOTE.sub(boxed, HIDDEN.sub("", text)))
    text = re.sub(r"<!-- .*? -->\n?", "", text)
    text = re.sub(rf" ?\({AUTHORS}(?:; {AUTHORS})*\)", "", text)
    text = re.sub(r"(?<!!)\[([^]]*)\]\((?!http)[^)]*\)", r"\1", text)
    return text.replace("](../", "](").strip()


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


class Deck:
    """The cells of a deck of slides; `shown` and `said` hold the next slide and its notes."""

    def __init__(self):
        self.cells, self.shown, self.said, self.kind = [], [], [], "slide"

    def add(self, cell, kind):
        cell.metadata["slideshow"] = {"slide_type": kind}
        self.cells.append(cell)

    def turn(self, *more):
        """Add the next slide to the cells: its text, the cells ``more``, its notes."""
        if self.shown or more:
            self.add(markdown("\n\n".join(self.shown)), self.kind)
            for cell in more:
                self.add(cell, "-")
            self.kind = "subslide"
            if self.said:
                self.add(markdown("\n\n".join(self.said)), "notes")
        self.shown, self.said = [], []

    def read(self, block: str):
        bold = re.match(r"\*\*.*?\*\*", block, re.DOTALL)
        if re.match(r"#{1,2} ", block):
            self.turn()
            self.shown, self.kind = [block], "slide"
        elif block.startswith("### "):  # a box
            self.turn()
            self.shown = [block]
        elif re.match(r"[|!$\-]|\d\. |    |\([a-d]\)", block) or self.shown[:1] > ["### "]:
            self.shown.append(block)
            if block[0] in "|!$-":
                self.turn()
        elif bold or block.endswith(":"):
            self.shown.append(bold[0] if bold and not block.endswith(":") else block)
            self.said += [block] if bold else []
        elif self.shown or not self.cells:
            self.said.append(block)
        elif self.cells[-1].metadata["slideshow"]["slide_type"] == "notes":
            self.cells[-1].source += "\n\n" + block
        else:
            self.add(markdown(block), "notes")


def shown_lines(output) -> list[str]:
    """Return the lines of an output; for a figure, twelve empty lines."""
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return 12 * [""]
    text = output.get("text", "") + data.get("text/plain", "")
    return (text + "\n".join(output.get("traceback", []))).splitlines()


def slides(path: Path) -> nbformat.NotebookNode:
    """Return the notebook with the slides of a chapter, up to its exercises."""
    deck = Deck()
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            text, exercises, _ = plain(cell.source).partition("## Exercises")
            for block in re.split(r"\n{2,}", text.strip()):
                deck.read(block)
            if exercises:
                break
        elif not tags(cell) & UNSEEN:
            printed = [line for out in cell.outputs for line in shown_lines(out)]
            code = cell.source.splitlines()
            # An output must not stand beside the question that it answers.
            asked = any(text.startswith("### Predict") for text in deck.shown)
            if asked or sum(len(text) // 80 + 2 for text in deck.shown) + len(code) > MOST_LINES:
                deck.turn()
            long = len(deck.shown) * 3 + len(code + printed) > MOST_LINES
            outputs, cell.outputs = cell.outputs, [] if long else cell.outputs
            deck.turn(cell)
            if long and outputs:
                deck.turn(new_code_cell("", outputs=outputs, metadata=dict(cell.metadata)))
        elif any("image/png" in out.get("data", {}) for out in cell.outputs):  # its code is folded
            deck.turn(new_code_cell("", outputs=cell.outputs, metadata=dict(cell.metadata)))
    deck.turn()
    return new_notebook(cells=deck.cells)


def exercises(path: Path, wheel: str) -> nbformat.NotebookNode:
    """Return a notebook of a chapter's code and exercises, without outputs and solutions."""
    title, cells, reached, solving = path.stem, [], False, False
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
            keep = reached or not tags(cell) & {"remove-cell", "nbval-ignore-output"}
        else:
            title = re.findall(r"^# (.*)", cell.source, re.MULTILINE)[0] if not cells else title
            _, heading, after = cell.source.partition("## Exercises")
            keep, reached = reached or heading, reached or bool(heading)
            text = after if heading else cell.source
            solving = text.strip() == SOLUTION or (solving and not ENDS.search(text))
            cell.source = plain(text.split("## Sources")[0])
            keep = keep and cell.source
        if keep and not solving:
            cells.append(cell)
    return new_notebook(
        metadata=METADATA, cells=[markdown(START.format(title=title, wheel=wheel)), *cells]
    )


def main(what: str) -> None:
    target = ROOT / "_build" / what
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if what == "slides":
        shutil.copytree(ROOT / "scripts/slides/reveal", target / "reveal")
        (target / "reveal/dist/theme").mkdir()
        shutil.copy(ROOT / "scripts/slides/theme.css", target / "reveal/dist/theme/slides.css")
        shutil.copytree(ROOT / "_ext/vendor/mathjax", target / "mathjax")
        settings = {"template_name": "slides", "embed_images": True,
                    "extra_template_basedirs": [str(ROOT / "scripts")],
                    "reveal_url_prefix": "reveal", "reveal_theme": "slides"}  # fmt: skip
        for path in CORE:
            resources = {"metadata": {"name": path.stem, "path": str(ROOT)}}
            page, _ = SlidesExporter(**settings).from_notebook_node(slides(path), resources)
            (target / f"{path.stem}.html").write_text(page, encoding="utf-8")
    else:
        book_files.make_wheel(ROOT, target)
        wheel, _ = book_files.names(book_files.version(ROOT))
        for path in CORE:
            nbformat.write(exercises(path, wheel), target / path.name)
    print(f"{what}: {target}")


if __name__ == "__main__":
    main(sys.argv[1])
