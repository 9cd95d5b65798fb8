"""The pages of the book: their cells and text, and the stored benchmarks that they quote."""

import contextlib
import io
import json

import nbformat
from notebook_rules import prose

from . import ROOT


def cells(page: str) -> list:
    """Return the cells of a notebook, such as ``chapters/08_noise``."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells


def text(page: str) -> str:
    """Return the Markdown of a notebook's text cells."""
    return prose(ROOT / f"{page}.ipynb")


def stored(name: str) -> dict:
    """Return the stored results of the benchmark of this name."""
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))


def run(source: str, names: dict) -> str:
    """Run a cell's source in the namespace ``names`` and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "<cell>", "exec"), names)
    return printed.getvalue().strip()
