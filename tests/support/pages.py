"""Read the book's notebooks and the stored benchmark results, and run single cells."""

import contextlib
import io
import json

import nbformat
from notebook_rules import prose

from . import ROOT


def cells(page: str) -> list:
    """Return the cells of a notebook; ``page`` is its path without suffix, chapters/08_noise."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells


def text(page: str) -> str:
    """Return the Markdown of a notebook's text cells as one string; ``page`` as in `cells`."""
    return prose(ROOT / f"{page}.ipynb")


def stored(name: str) -> dict:
    """Return the stored results of a benchmark: the JSON of benchmarks/results/NAME.json."""
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))


def run(source: str, names: dict) -> str:
    """Run a cell's source with ``names`` as its globals; return what it prints, stripped."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "<cell>", "exec"), names)
    return printed.getvalue().strip()
