"""A page with a fault makes `make book` fail: a small book, built by this book's own Makefile."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
    pytest.mark.slow,
]
GOOD = "# Page\n\n## Section\n\nSee $x^2$.\n"
# A fault, and what the build says of it.
FAULTS = {
    "See {ref}`nowhere`.": "undefined label: 'nowhere'",
    "See {cite}`nobody1900`.": 'could not find bibtex key "nobody1900"',
    "See {term}`nonesuch`.": "term not in glossary: 'nonesuch'",
    "```{nonsense}\n```": "Unknown directive type: 'nonsense'",
    "![a picture that is not there](missing.png)": "image file not readable: missing.png",
    "[a page that is not there](missing.md)": "target not found: 'missing.md'",
}


def build(book: Path) -> subprocess.CompletedProcess:
    """Run `make book` in this environment, which is not set up again."""
    venv = sys.prefix
    command = ["make", f"VENV={venv}", f"--assume-old={venv}/.reader", "book"]
    return subprocess.run(command, cwd=book, capture_output=True, text=True, check=False)


def test_a_failing_page_fails_the_build_until_it_is_mended(tmp_path):
    for name in ("Makefile", "_config.yml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("_ext", "_static", "vendor"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
    (entries,) = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["bibtex_bibfiles"]
    (tmp_path / entries).parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / entries, tmp_path / entries)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    page = tmp_path / "index.md"
    page.write_text("\n\n".join([GOOD, *FAULTS]))
    done = build(tmp_path)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert [text for text in FAULTS.values() if text not in said] == [], said
    # Sphinx would not read the page again, and so would not warn again.
    assert build(tmp_path).returncode != 0
    page.write_text(GOOD)
    mended = build(tmp_path)
    assert mended.returncode == 0, mended.stderr
    assert (tmp_path / "_build/html/index.html").is_file()
