"""The wheel and the archive beside the built pages: complete, the same each time, installable."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "_ext"))

import book_files  # noqa: E402

WHEEL, ARCHIVE = book_files.names(book_files.version(ROOT))
pytestmark = pytest.mark.skipif(
    not (HTML / "index.html").is_file(), reason="the book is not built: run make book"
)
PROGRAM = """
import sys
sys.path.append(sys.argv[1])    # NumPy and array-api-compat only come from here
import numpy as np, persample as ps
assert "site-packages" in ps.__file__ and sys.prefix in ps.__file__, ps.__file__
rows = ps.per_sample_grad(lambda t, x, y: 0.5 * (x @ t - y) ** 2)(
    np.array([1.0, 2.0]), np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([2.0, 3.0]))
print(rows.tolist())
"""


def test_the_wheel_installs_without_a_network_and_runs(tmp_path):
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty/bin/python"
    install = [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    subprocess.run([*install, HTML / "files" / WHEEL], check=True)
    import numpy

    packages = str(Path(numpy.__file__).parents[1])
    done = subprocess.run(
        [python, "-I", "-c", PROGRAM, packages], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[[1.0, 1.0], [2.0, 1.0]]\n", done.stderr


RUN = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
notebook.cells.append(nbformat.v4.new_code_cell("print(ps.__file__)"))
nbclient.NotebookClient(notebook, allow_errors=True, timeout=300).execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            print(output.ename, cell.source.splitlines()[0])
print(notebook.cells[-1].outputs[0].text)
"""


@pytest.mark.slow
def test_a_chapter_of_the_archive_runs(tmp_path):
    """In an environment that has what requirements.txt names, with the archive's own packages."""
    with zipfile.ZipFile(HTML / "files" / ARCHIVE) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / Path(ARCHIVE).stem
    done = subprocess.run(
        [sys.executable, "-c", RUN, "01_first_rows.ipynb"],
        cwd=folder / "chapters",
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    where = done.stdout.split()
    assert len(where) == 1, done.stdout + done.stderr
    assert where[0].startswith(str(folder / "src"))


def test_the_archive_holds_what_the_book_is_built_from():
    with zipfile.ZipFile(HTML / "files" / ARCHIVE) as archive:
        held = {name.partition("/")[2] for name in archive.namelist()}
    need = {"Makefile", "_config.yml", "index.md", "chapters/01_first_rows.ipynb", "LICENSE"}
    assert need <= held
    assert {p.relative_to(ROOT).as_posix() for p in ROOT.glob("src/**/*.py")} <= held
    assert [name for name in held if name.startswith((".venv", "_build", ".git/"))] == []


def test_both_are_small_and_the_same_each_time(tmp_path):
    assert (HTML / "files" / WHEEL).stat().st_size < 500_000
    assert (HTML / "files" / ARCHIVE).stat().st_size < 8_000_000
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in (tmp_path / "a", tmp_path / "b"):
        book_files.make_wheel(ROOT, folder)
        book_files.make_archive(ROOT, folder / ARCHIVE)
    for name in (WHEEL, ARCHIVE):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_unpacked_archive_makes_an_archive_of_the_same_files(tmp_path):
    with zipfile.ZipFile(HTML / "files" / ARCHIVE) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / Path(ARCHIVE).stem
    (folder / ".venv/lib").mkdir(parents=True)
    (folder / ".venv/lib/x.py").touch()
    held = {path.relative_to(folder) for path in book_files.files(folder)}
    assert held == {path.relative_to(ROOT) for path in book_files.files(ROOT)}


def test_every_page_that_can_be_downloaded_links_both():
    missing = []
    for page in [
        HTML / "index.html",
        *HTML.glob("chapters/*.html"),
        *HTML.glob("reference/*.html"),
    ]:
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        links = {
            a["href"].rpartition("/")[2]: a for a in soup.select(".dropdown-download-buttons a")
        }
        for name in (WHEEL, ARCHIVE):
            if name not in links or not (page.parent / links[name]["href"]).resolve().is_file():
                missing.append((page.name, name))
        if f"pip install {WHEEL}" not in links[WHEEL]["title"]:
            missing.append((page.name, "install line"))
    assert missing == []


def test_a_downloaded_notebook_says_first_how_to_run_it():
    import nbformat

    found = sorted((HTML / "_sources").rglob("*.ipynb"))
    assert len(found) > 12
    for path in found:
        first, second = nbformat.read(path, as_version=4).cells[:2]
        assert WHEEL in first.source
        assert ARCHIVE in first.source
        assert "make lab" in first.source
        assert second.id != first.id == book_files.NOTE
    number = book_files.version(ROOT)
    text = found[0].read_text(encoding="utf-8")
    assert book_files.with_note(text, number) == text
    original = nbformat.read(ROOT / found[0].relative_to(HTML / "_sources"), as_version=4)
    assert nbformat.reads(text, as_version=4).cells[1:] == original.cells
