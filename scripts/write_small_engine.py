"""Write the engine of chapter 6 as one file: its cells with the tag `engine`, in order.

python scripts/write_small_engine.py
"""

import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = ROOT / "chapters/06_build_your_own.ipynb"
PAGE = ROOT / "reference/engine_with_arrays.ipynb"  # goes on with the file, and adds arrays
FILE = ROOT / "chapters/files/small_engine.py"
FIRST = '''\
"""grad, vmap and jit for numbers, as the chapter "Build your own" has them.

    goal = jit(vmap(grad(td_loss), (None, 0, 0, 0)))

scripts/write_small_engine.py writes this file from the chapter's cells.
Licence: MIT.
"""
'''


def joined(notebook: nbformat.NotebookNode) -> str:
    """Return the file's text: each section's heading as a comment, then its tagged cells."""
    parts, heading = [FIRST.rstrip()], None
    for cell in notebook.cells:
        if found := re.findall(r"^## (.*)$", cell.source, re.MULTILINE):
            heading = found[-1]
        if "engine" in cell.metadata.get("tags", []):
            if heading:
                parts.append(f"# {heading}")
                heading = None
            parts.append(cell.source)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(joined(nbformat.read(CHAPTER, as_version=4)), encoding="utf-8")
    print(FILE.relative_to(ROOT))
