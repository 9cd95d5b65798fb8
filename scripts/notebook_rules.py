"""The rules for the book's notebooks, and a function that lists violations.

`tests/tools/test_notebooks.py` applies it to every chapter, `make notebooks` to those it wrote.
"""

import json
import re
from pathlib import Path

import nbformat

LONGEST_CELL = 15
LONGEST_RUN = 2
WIDEST_LINE = 79  # what a page shows without scrolling
LOCAL_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|root|Users|work|tmp|private|opt)/\w|ipykernel_\d|C:\\\\"
)
PHONE = 390  # the page's pixels on a phone, all of which a figure takes (book.css)
SMALLEST_TEXT = 8  # pixels of a figure's text there, which the page makes 11: more would collide
UNWORDED = re.compile(
    r"```.*?```|\$[^$]*\$|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.S
)  # code, math, addresses
HYPHEN = re.compile(r"(?<![\w.)\]-])-\d[\d.]*")
SIZES = re.compile(r"^Figure with \d+ axes, (\d+) px wide, text from ([\d.]+) px")


def chapters(root: Path) -> list[Path]:
    """Return the notebooks of the book, in reading order."""
    return [*sorted(root.glob("chapters/*.ipynb")), *sorted(root.glob("reference/*.ipynb"))]


def prose(path: Path) -> str:
    """Return the Markdown of a page: a notebook's text cells, or the file."""
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return path.read_text(encoding="utf-8")


def programs(page: Path) -> dict[str, tuple[str, str]]:
    """Return {name: (source, output)} of a page's programs: its code cells NAME-..., joined."""
    found: dict[str, tuple[str, str]] = {}
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type == "code":
            source, printed = found.get(name := cell.id.rpartition("-")[0], ("", ""))
            printed += "".join(out.text for out in cell.outputs)
            found[name] = f"{source}\n\n{cell.source}".lstrip(), printed
    return found


def problems(notebook: nbformat.NotebookNode) -> list[str]:
    """List the violations of rules, one sentence each."""
    found = []
    if match := LOCAL_PATH.search(json.dumps(notebook)):
        found.append(f"a path of one machine is in the file: {match[0]!r}")
    if "version" in notebook.metadata.get("language_info", {}):
        found.append("the metadata name a Python version: run make notebooks")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append("the kernel is not python3: run make notebooks")

    code = [
        (number, cell) for number, cell in enumerate(notebook.cells) if cell.cell_type == "code"
    ]
    counts = [cell.execution_count for _, cell in code]
    if None in counts:
        found.append("a cell was never executed: run make notebooks")
    elif counts != list(range(1, len(counts) + 1)):
        found.append(f"cells were not run in order, from a clean kernel: {counts}")

    for number, cell in code:
        found += [f"cell {number}: {text}" for text in _problems_of_cell(cell)]

    for number, cell in enumerate(notebook.cells):
        words = UNWORDED.sub("", cell.source) if cell.cell_type == "markdown" else ""
        found += [
            f"cell {number}: {one!r} has a hyphen for a minus" for one in HYPHEN.findall(words)
        ]

    run = 0
    for number, cell in enumerate(notebook.cells):
        if "remove-cell" in cell.metadata.get("tags", []):
            continue  # the page does not show it
        run = run + 1 if cell.cell_type == "code" else 0
        if run == LONGEST_RUN + 1:
            found.append(
                f"cell {number}: more than {LONGEST_RUN} code cells without prose between"
            )
    return found


def _problems_of_cell(cell: nbformat.NotebookNode) -> list[str]:
    found = []
    lines = [line for line in cell.source.splitlines() if line.strip()]
    tags = cell.metadata.get("tags", [])
    if len(lines) > LONGEST_CELL:
        found.append(f"has {len(lines)} lines of code; the most is {LONGEST_CELL}")
    if wide := [line for line in lines if len(line) > WIDEST_LINE]:
        found.append(f"has a line of more than {WIDEST_LINE} characters: {wide[0].strip()}")
    raised = [out for out in cell.outputs if out.output_type == "error"]
    if bool(raised) != ("raises-exception" in tags):
        found.append(
            "shows an error it does not announce" if raised else "was to raise, and did not"
        )
    if any(kind.startswith("image/") for out in cell.outputs for kind in out.get("data", {})):
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        if len(alt) < 20:
            found.append("draws a figure without alt text (metadata mystnb.image.alt)")
    found += _small_text(cell)
    return found


def _small_text(cell: nbformat.NotebookNode) -> list[str]:
    """List the figures whose text is too small on a phone, by the sizes in their outputs."""
    found = []
    for out in cell.outputs:
        if match := SIZES.match(out.get("data", {}).get("text/plain", "")):
            size = float(match[2]) * min(1, PHONE / int(match[1]))
            if size < SMALLEST_TEXT:
                found.append(
                    f"draws a figure with text of {size:.1f} pixels on a phone, before the page "
                    f"enlarges it; the least is {SMALLEST_TEXT}: larger text, a narrower figure "
                    "or stacked panels"
                )
    return found
