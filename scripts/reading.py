"""What a reader has to read: the visible prose of a page, in words, and phrases to avoid.

`tests/test_reading.py` applies it to every page, to docstrings and to comments.
"""

import io
import re
import tokenize
from pathlib import Path

import nbformat

MOST_WORDS = 3000  # about twenty minutes with the code
MOST_PIXELS = 18_000  # of a page's height, in a window 1280 wide

# Idiosyncratic English, each with what to write in its place.
PHRASES = {
    r"\bone (?:entry|gradient|row|column|number|file|rule|line|name) an? "
    r"(?:argument|sample|function|transition|parameter|problem|layer|input|entry|target|leaf)\b":
        "one ... for each ...",
    r"\bgradient a sample\b": "gradient per sample",
    r"\bderivative by\b": "derivative with respect to",
    r"\bgradient by\b": "gradient with respect to",
    r"\bby theta\b": "with respect to theta",
    r"\bha(?:s|ve) a name for\b": "is known for",
    r"\bhardly anybody reads them\b": "say it plainly",
    r"\bwhoever holds\b": "if we keep",
    r"\bby head, not by size\b": "every sample gets one vote",
    r"\bone row a sample\b": "one row per sample",
}  # fmt: skip


def prose(path: Path) -> str:
    """Return the Markdown of a page: a notebook's text cells, or the file."""
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return path.read_text(encoding="utf-8")


def visible(markdown: str) -> str:
    """Drop what a page folds or does not show as prose: dropdowns, solutions, code, formulas."""
    text = re.sub(r"```\{solution-start\}.*?\{solution-end\}\s*```", " ", markdown, flags=re.S)
    fence = re.compile(r"^(?P<mark>`{3,}|:{3,})\{(?P<kind>[^}\n]+)\}(?P<body>.*?)^(?P=mark)\s*$",
                       re.S | re.M)  # fmt: skip
    text = fence.sub(lambda m: " " if _folded(m["kind"], m["body"]) else m["body"], text)
    text = re.sub(r"^```.*?^```\s*$", " ", text, flags=re.S | re.M)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", " x ", text, flags=re.S)
    text = re.sub(r"^\(.*\)=$|^:\w+:.*$", " ", text, flags=re.M)
    return re.sub(r"\{[a-z:]+\}", "", text)


def _folded(kind: str, body: str) -> bool:
    own = re.match(r".*\n((?::\w+:.*\n)*)", body)[1]  # not the options of a box inside
    return kind in {"dropdown", "bibliography", "toctree"} or bool(
        re.search(r"^:class:.*\b(?:dropdown|lab)\b", own, re.M)
    )


def words(path: Path) -> int:
    """Return how many words of prose a page shows before anything is unfolded."""
    return len(visible(prose(path)).split())


def phrases(text: str) -> list[str]:
    """Return each phrase to avoid that a text has, with what to write."""
    found = []
    for pattern, better in PHRASES.items():
        for match in re.finditer(pattern, " ".join(text.split()), re.I):
            found.append(f"{match[0]!r}: write {better!r}")
    return found


def comments(path: Path) -> str:
    """Return the comments and the strings of a Python file."""
    reader = io.StringIO(path.read_text(encoding="utf-8")).readline
    kinds = tokenize.COMMENT, tokenize.STRING
    return "\n".join(t.string for t in tokenize.generate_tokens(reader) if t.type in kinds)
