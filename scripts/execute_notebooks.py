"""Execute notebooks in place in a new kernel, and write them in one normal form.

    python scripts/execute_notebooks.py [--only td0]

Two runs on two machines give the same file: no timings, local paths or versions. A notebook is
written only after all of it ran; one that fails is left unchanged.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from notebook_rules import chapters, problems
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[1]
ANSI = re.compile(r"\x1b\[[0-9;]*m")
PACKAGE = re.compile(r"File .*?(?:site-packages/|/src/|lib/python3\.\d+/(?!site-packages))(\w+)")
TRACEBACK = "Traceback (most recent call last)"

# Otherwise every kernel warns that it talks to this program in plain text.
QUIET = Config({"KernelManager": {"transport_encryption": "auto"}})

METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",  # as JupyterLab would write it on opening
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


def execute(path: Path, timeout: int = 300) -> nbformat.NotebookNode:
    """Run a notebook in a new kernel; return it with fresh outputs, in normal form.

    Raise RuntimeError if a cell that is tagged `raises-exception` does not raise.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    run(notebook, path.parent, timeout)
    for cell in notebook.cells:
        expected = "raises-exception" in cell.metadata.get("tags", [])
        if expected and not any(out.output_type == "error" for out in cell.outputs):
            raise RuntimeError(f"this cell was to raise and did not:\n{cell.source}")
    return normalise(notebook)


def run(notebook: nbformat.NotebookNode, folder: Path, timeout: int = 300) -> None:
    """Run a notebook in a new kernel that starts in ``folder``; store the outputs in it."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    os.environ.setdefault("PYTHONSTARTUP", str(ROOT / "scripts/kernel_startup.py"))
    NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # however the kernel's output happened to be cut
        config=QUIET,
        resources={"metadata": {"path": str(folder)}},
    ).execute()


def normalise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Remove what differs between runs from a notebook, in place; return it. Cell ids stay."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat_minor = 5
    for cell in notebook.cells:
        for key in ("execution", "collapsed", "scrolled", "trusted"):
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = shorten(output.traceback)
    return notebook


def shorten(traceback: list[str]) -> list[str]:
    """Return a traceback with only the frames of the notebook's own cells, and the message.

    Consecutive frames inside a package become one line with its name. Colour codes are removed,
    since neither the book's pages nor diffs show them.
    """
    parts = [ANSI.sub("", part).strip("\n") for part in traceback]
    if len(parts) < 3 or parts[0] == TRACEBACK:  # a syntax error has no frames; done already
        return parts
    kept, inside = [], []
    for part in parts[2:-1]:
        if match := PACKAGE.match(part.lstrip()):
            if match[1] not in inside:
                inside.append(match[1])
        elif part.lstrip().startswith("Cell In["):
            kept += _inside(inside) + [part]
            inside = []
    kept += _inside(inside)
    return [TRACEBACK, *kept, "", *parts[-1].splitlines()]


def _inside(packages: list[str]) -> list[str]:
    return [f"    ... inside {', '.join(packages)} ..."] if packages else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="notebooks whose name contains this")
    only = parser.parse_args().only
    paths = [path for path in chapters(ROOT) if only in path.name]
    if not paths:
        print(f"no notebook has {only!r} in its name", file=sys.stderr)
        return 1
    failed = []
    for path in paths:
        name, start = path.relative_to(ROOT), time.perf_counter()
        try:
            notebook = execute(path)
        except (CellExecutionError, RuntimeError) as error:
            print(f"FAILED {name}\n{error}", file=sys.stderr)
            failed.append(name)
            continue
        path.write_text(nbformat.writes(notebook).rstrip("\n") + "\n", encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.1f} s")
        for problem in problems(notebook):
            print(f"  {problem}", file=sys.stderr)
            failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
