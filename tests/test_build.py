"""A page with a fault makes `make book` fail: small books, built by this book's own Makefile."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
    pytest.mark.slow,
]

GOOD = "# Page\n\n## Section\n\nSee {cite}`sutton1988` and $x^2$.\n\n```{bibliography}\n```\n"
# A fault, and what the build says of it.
FAULTS = {
    "See {ref}`nowhere`.": "undefined label: 'nowhere'",
    "See {cite}`nobody1900`.": 'could not find bibtex key "nobody1900"',
    "See {term}`nonesuch`.": "term not in glossary: 'nonesuch'",
    "```{nonsense}\n```": "Unknown directive type: 'nonsense'",
    "![a picture that is not there](missing.png)": "image file not readable: missing.png",
    "[a page that is not there](missing.md)": "target not found: 'missing.md'",
}


@pytest.fixture
def book(tmp_path) -> Path:
    """Make a book of one page with this book's own settings."""
    for name in ("Makefile", "_config.yml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "reference").mkdir()
    shutil.copy(ROOT / "reference" / "references.bib", tmp_path / "reference")
    for name in ("_ext", "_static"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    return tmp_path


def build(book: Path) -> subprocess.CompletedProcess:
    """Run `make book` in this environment, which is not set up again."""
    venv = sys.prefix
    command = ["make", f"VENV={venv}", f"--assume-old={venv}/.reader", "book"]
    return subprocess.run(command, cwd=book, capture_output=True, text=True, check=False)


def test_a_failing_page_fails_the_build_until_it_is_mended(book):
    page = book / "index.md"
    page.write_text(GOOD)
    good = build(book)
    assert good.returncode == 0, good.stderr
    assert (book / "_build/html/index.html").is_file()

    page.write_text(f"{GOOD}\nSee {{ref}}`nowhere`.\n")
    assert build(book).returncode != 0
    # Sphinx would not read the page again, and so would not warn again.
    assert build(book).returncode != 0

    page.write_text(GOOD)
    mended = build(book)
    assert mended.returncode == 0, mended.stderr


def test_every_kind_of_fault_is_named(book):
    (book / "index.md").write_text("\n\n".join([GOOD, *FAULTS]))
    done = build(book)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert [text for text in FAULTS.values() if text not in said] == [], said
