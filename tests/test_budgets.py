"""How much code a reader meets between a call and the transforms, and how dense a line may be.

Counted are the nodes of the syntax tree without docstrings, so that a dense line does not help.
The engine's own budgets, in lines, are in test_engine_structure.py.
"""

import ast
from pathlib import Path

import persample
from persample_book.sources import code_lines

ROOT = Path(persample.__file__).parent
BETWEEN = [ROOT / f"{name}.py" for name in ("per_sample", "checks", "batches", "arrays", "losses")]
BETWEEN += sorted((ROOT / "backends").glob("*.py"))
# A table of signatures as wide as NumPy's counts with what uses it.
WITH = {"engine/numpy_calls": "engine"}


def nodes(text):
    """Count the nodes of a module's syntax tree, without docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return sum(1 for _ in ast.walk(tree))


def test_between_a_call_and_the_transforms():
    sizes = {path.stem: nodes(path.read_text()) for path in BETWEEN}
    assert sum(sizes.values()) <= 6500, sizes


def test_lines_are_not_dense():
    """A file may hold a table of rules that is denser than its folder may be."""
    texts: dict = {}
    for path in ROOT.rglob("*.py"):
        folder = path.parent.relative_to(ROOT).as_posix()
        texts.setdefault(WITH.get(folder, folder), []).append(path.read_text())
    for folder, found in texts.items():
        assert sum(map(nodes, found)) <= 11.5 * sum(map(code_lines, found)), folder
