"""Offer the package's wheel and an archive of the book for download."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from functools import partial
from pathlib import Path, PurePosixPath

from book_translation import translated

FOLDER = "files"
NOTE = "how-to-run"  # the id of a cell
ENVIRONMENT = "pyvenv.cfg", "conda-meta"  # one of which lies in every environment of Python


def version(root: Path) -> str | None:
    """Return the package's version, or None for a book without a package."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return None
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"]


def names(number: str) -> tuple[str, str]:
    """Return the file names of the wheel and of the archive of a version."""
    return f"persample-{number}-py3-none-any.whl", f"per-sample-gradients-{number}.zip"


def files(root: Path) -> list[Path]:
    """List the files of the repository, without ignored files and environments."""
    lines = (root / ".gitignore").read_text(encoding="utf-8").splitlines()
    built = [".git", *(line.rstrip("/") for line in lines if line and not line.startswith("#"))]

    def is_ours(path: Path) -> bool:
        named = PurePosixPath("/", path.relative_to(root))
        is_environment = any((path / mark).exists() for mark in ENVIRONMENT)
        return not is_environment and not any(named.match(pattern) for pattern in built)

    found = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if is_ours(Path(folder, name))]
        paths = [Path(folder, name) for name in names]
        found += [path for path in paths if path.is_file() and is_ours(path)]
    return sorted(found)


def make_archive(root: Path, target: Path) -> None:
    """Write the repository's files into the zip file ``target``, in a folder of the same name."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files(root):
            archive.write(path, f"{target.stem}/{path.relative_to(root).as_posix()}")


def make_wheel(root: Path, folder: Path) -> None:
    """Build the package's wheel into ``folder`` from a copy, without network access."""
    program = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(root / name, copy)
        built = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(root / "src", Path(copy, "src"), ignore=built)
        command = [sys.executable, "-c", program, str(folder.resolve())]
        subprocess.run(command, cwd=copy, check=True, capture_output=True)


def note(number: str) -> str:
    """Return the Markdown that explains how to run a downloaded notebook."""
    wheel, archive = names(number)
    return (
        f"**To run this notebook:** unpack `{archive}`, which its page offers in the same menu,"
        " and call `make lab` in its folder. The library alone, which your own programs import:"
        f' `pip install "{wheel}[torch,jax]"`.'
    )


def with_note(text: str, number: str) -> str:
    """Return the notebook (JSON text) with the note as first cell, replacing an older note."""
    notebook = json.loads(text)
    cells = [cell for cell in notebook["cells"] if cell.get("id") != NOTE]
    first = {"cell_type": "markdown", "id": NOTE, "metadata": {}, "source": [note(number)]}
    notebook["cells"] = [first, *cells]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def finish(app, exception) -> None:
    """Write wheel and archive beside the pages, and add the note to each notebook."""
    root = Path(app.srcdir)
    number = version(root)
    if exception or not app.builder.search or number is None:
        return
    folder = Path(app.outdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    make_wheel(root, folder)
    make_archive(root, folder / names(number)[1])
    for path in (Path(app.outdir) / "_sources").rglob("*.ipynb"):
        path.write_text(with_note(path.read_text(encoding="utf-8"), number), encoding="utf-8")


def add_buttons(app, pagename, templatename, context, doctree) -> None:
    """Add buttons for wheel and archive to the download menu of a page."""
    number = version(Path(app.srcdir))
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons" and number is not None:
            wheel, archive = names(number)
            install = "What the notebook imports. Install it: pip install"
            whole = "The whole book: unpack it, then make lab"
            say = partial(translated, Path(app.srcdir), app.config.language)
            for name, text, tooltip, label in (
                (wheel, "package (.whl)", f"{say(install)} {wheel}", "download-package-button"),
                (archive, "all files (.zip)", say(whole), "download-archive-button"),
            ):
                url = f"{context['pathto'](FOLDER, 1)}/{name}"
                button = {"type": "link", "url": url, "text": say(text), "tooltip": tooltip}
                group["buttons"].append(
                    button | {"icon": "fas fa-file-arrow-down", "label": label}
                )


def setup(app):
    app.connect("html-page-context", add_buttons, priority=900)
    app.connect("build-finished", finish)
