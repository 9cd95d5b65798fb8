"""Print the engine's source and count its lines of code, for the page that explains it.

The tests use the counts too: they limit the engine's size.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from persample import engine

# The files in the order of reading: what grad and vmap need, then the compiler.
READING = {
    "core": "primitive, trace, bind",
    "contraction": "einsum as @ or *",
    "primitives": "the list of operations",
    "operations": "broadcasting, sums",
    "indexing": "slices and takes",
    "tracer": "what your function sees",
    "vjps": "the table of VJP rules",
    "reverse": "the tape; grad",
    "batching": "the batch rules; vmap",
}
COMPILER = {
    "staging": "the graph; make_graph",
    "optimise": "four passes over a graph",
    "codegen": "a graph to NumPy source",
    "jit": "keeps the programs; jit",
}
# Looked up when in question: lists of names, the functions derived from those above, and NumPy's.
APART = ["__init__", "namespace", "numpy_functions"]
FUNCTIONS = ["__init__", "along_axes", "creation", "elementwise", "linalg", "products", "shapes"]
FUNCTIONS = [f"functions/{name}" for name in [*FUNCTIONS, "zero_derivative"]]
_CALLS = ["__init__", "elementwise", "products", "reductions", "shapes"]
FUNCTIONS += [f"numpy_calls/{name}" for name in _CALLS]


def files(names: Iterable[str]) -> list[Path]:
    """Return the paths of the engine's files by name, such as "core" or "functions/linalg"."""
    folder = Path(engine.__file__).parent
    return [folder / f"{name}.py" for name in names]


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers, from 1, of the lines of a parsed module that are docstrings."""
    lines = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node):
            lines |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def code_lines(text: str) -> int:
    """Count the lines that hold code: no blank lines, comments or docstrings.

    Example
    -------
    >>> code_lines("# comment\\n\\nx = 1  # code\\n")
    1
    """
    documented = docstring_lines(ast.parse(text))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(x) and not x.startswith("#") and n not in documented for n, x in lines)


def size(names: Iterable[str]) -> int:
    """Return the total number of lines of code of the engine's files with these names."""
    return sum(code_lines(path.read_text(encoding="utf-8")) for path in files(names))


def show(thing: Any, word: str = "", width: int = 79) -> None:
    """Print the source of a function, class or module, without docstrings.

    Only lines that contain ``word`` are printed. A line wider than ``width`` loses its comment;
    if it is still too wide, it is broken, by a backslash where no bracket is open.
    """
    source = textwrap.dedent(inspect.getsource(thing))
    documented = docstring_lines(ast.parse(source))
    for number, line in enumerate(source.splitlines(), 1):
        if number in documented or word not in line:
            continue
        line = line if len(line) <= width else line.split("  #")[0]
        print(line if len(line) <= width else _folded(line, width))


def _folded(line: str, width: int) -> str:
    """Return a line of Python broken into lines of at most ``width`` that mean the same."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    pieces = textwrap.wrap(line, width - 2, subsequent_indent=indent)
    text = pieces[0]
    for piece in pieces[1:]:
        inside = sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))
        text += ("\n" if inside else " \\\n") + piece
    return text


def contents() -> None:
    """Print the name, number of code lines and summary of the engine's files, in reading order."""
    for name, what in {**READING, **COMPILER}.items():
        print(f"{name:11}{size([name]):4}  {what}")
