"""`make book`: its failures, its output, and the files that it reads."""

import datetime
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import book_config
import book_files
import book_sharing
import book_translation
import pytest
import yaml
from sphinx.util.matching import get_matching_files

from support import ROOT

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
GOOD = "# Page\n\n## Section\n\nSee $x^2$.\n"
# A fault, and the error message of the build.
FAULTS = {
    "See {ref}`nowhere`.": "undefined label: 'nowhere'",
    "See {cite}`nobody1900`.": 'could not find bibtex key "nobody1900"',
    "See {term}`nonesuch`.": "term not in glossary: 'nonesuch'",
    "```{nonsense}\n```": "Unknown directive type: 'nonsense'",
    "![a picture that is not there](missing.png)": "image file not readable: missing.png",
    "[a page that is not there](missing.md)": "target not found: 'missing.md'",
}


# Says which folders and files below the one called `mine` are opened or listed by a build.
WATCHED = """
import os, sys
seen = []
def watch(event, args):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(args[0], str | os.PathLike):
        seen.append(os.path.abspath(args[0]))
sys.addaudithook(watch)
from jupyter_book.cli.main import main
main(["build", ".", "--quiet"], standalone_mode=False)
print("seen:", [path for path in seen if path.startswith(os.path.abspath("mine"))])
"""
# Lines of pip and of Sphinx, and what is shown of them.
PIP = """\
Collecting torch==2.13.0 (from -r requirements.txt (line 9))
  Downloading torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl.metadata (31 kB)
Downloading torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl (899.8 MB)
Downloading https://a.host/whl/jaxlib-0.10.2-cp312-none-any.whl (89.1 MB)
Downloading numpy-2.4.6-cp312-cp312-macosx_14_0_arm64.whl (5.1 MB)
Downloading scipy-1.17.0-cp312-cp312-macosx_14_0_arm64.whl (20.8 MB)
Installing collected packages: numpy, jaxlib, torch
Successfully installed jaxlib-0.10.2 numpy-2.4.6 torch-2.13.0
"""
SHOWN_OF_PIP = """\
make: downloading torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl (899.8 MB)
make: downloading jaxlib-0.10.2-cp312-none-any.whl (89.1 MB)
make: installing 3 packages
"""
SPHINX = """\
\x1b[01mreading sources... \x1b[39;49;00m
\x1b[01mreading sources... \x1b[39;49;00m[  7%] \x1b[35mchapters/a\x1b[39;49;00m
\x1b[01mreading sources... \x1b[39;49;00m[ 53%] \x1b[35mchapters/b\x1b[39;49;00m
\x1b[01mreading sources... \x1b[39;49;00m[ 57%] \x1b[35mchapters/c\x1b[39;49;00m
\x1b[01mreading sources... \x1b[39;49;00m[100%] \x1b[35mindex\x1b[39;49;00m
\x1b[01mcopying images... \x1b[39;49;00m[ 50%] \x1b[33mchapters/a.png\x1b[39;49;00m
writing output... [100%] index
"""
SHOWN_OF_SPHINX = """\
make: reading pages 7% 53% 100%
make: writing pages
"""


def alone() -> dict[str, str]:
    """Return the environment variables without those of an outer make."""
    return {name: x for name, x in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}


def build(book: Path) -> subprocess.CompletedProcess:
    """Run `make book` in a folder with this environment's packages; return the process."""
    venv = sys.prefix
    command = ["make", f"VENV={venv}", f"--assume-old={venv}/.reader", "book"]
    return subprocess.run(
        command, cwd=book, env=alone(), capture_output=True, text=True, check=False
    )


def small_book(folder: Path) -> None:
    """Write a book of one page into a folder, with the settings and extensions of this one."""
    for name in ("Makefile", "_config.yml"):
        shutil.copy(ROOT / name, folder)
    for name in ("_ext", "_static"):
        shutil.copytree(ROOT / name, folder / name)
    (entries,) = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["bibtex_bibfiles"]
    (folder / entries).parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / entries, folder / entries)
    (folder / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (folder / "index.md").write_text(GOOD)


def environment(folder: Path, mark: str) -> None:
    """Make a folder like a Python environment, with the file or folder ``mark`` in it."""
    (folder / "lib").mkdir(parents=True)
    (folder / mark).mkdir() if mark == "conda-meta" else (folder / mark).touch()
    (folder / "lib/README.md").write_text(GOOD)


@needs_make
@pytest.mark.slow
def test_a_failing_page_fails_the_build_until_it_is_mended(tmp_path):
    small_book(tmp_path)
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
    assert (mended.returncode, mended.stderr) == (0, "")
    made = tmp_path / "_build/html/index.html"
    assert made.is_file()
    assert build(tmp_path).stdout == f"The book is at {made}\n"


@pytest.mark.slow
def test_a_build_opens_nothing_of_an_environment_in_the_project(tmp_path):
    small_book(tmp_path)
    for name in ("README.md", "LICENSE", "pyproject.toml", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "src/persample").mkdir(parents=True)
    (tmp_path / "src/persample/__init__.py").touch()
    environment(tmp_path / "mine", "pyvenv.cfg")
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["seen: []"], done.stdout + done.stderr
    (archive,) = (tmp_path / "_build/html/files").glob("*.zip")
    held = {Path(name).parts[1] for name in zipfile.ZipFile(archive).namelist()}
    assert held >= {"index.md", "src"}
    assert held.isdisjoint({"mine", "_build"})


def test_sphinx_looks_for_the_pages_of_the_contents_in_their_folders(tmp_path, monkeypatch):
    for name in ("index.md", "more.md", "a/one.md", "a/two.ipynb", "a/one-Copy1.md", "b/x.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    environment(tmp_path / "mine", "pyvenv.cfg")
    config = SimpleNamespace(
        external_site_map=["index", "a/one", "a/two.ipynb"],
        source_suffix={".md": "markdown", ".ipynb": "notebook"},
        exclude_patterns=[".*"],
    )
    book_config.read_pages_alone(SimpleNamespace(srcdir=tmp_path), config)
    listed = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scan(path))
    found = get_matching_files(tmp_path, config.include_patterns, config.exclude_patterns)
    assert sorted(found) == ["a/one.md", "a/two.ipynb", "index.md"]
    assert {Path(path) for path in listed} == {tmp_path, tmp_path / "a"}


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
def test_the_archive_has_no_environment_of_any_name_and_nothing_built(mark, tmp_path):
    ours = [".ci/run", ".gitignore", "a/dist/code.js", "a/page.md", "index.md"]
    built = [".venv/x", "_build/x", "a/__pycache__/x.pyc", "build/lib/x.py", "dist/x", ".git/x"]
    for name in [*ours, *built]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shutil.copy(ROOT / ".gitignore", tmp_path)
    for name in ("venv", "env", "v", "a/my environment"):
        environment(tmp_path / name, mark)
    found = [path.relative_to(tmp_path).as_posix() for path in book_files.files(tmp_path)]
    assert found == ours


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git to compare with")
def test_the_archive_has_what_git_knows_and_nothing_that_it_ignores():
    def listed(*options: str) -> set[Path]:
        command = ["git", "ls-files", "-z", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        paths = (ROOT / name for name in done.stdout.split("\0") if name)
        return {path for path in paths if path.is_file()}

    found = set(book_files.files(ROOT))
    assert found >= listed("--cached")
    assert found <= listed("--cached", "--others", "--exclude-standard")


def test_a_machine_without_git_dates_the_book_by_today(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    today = datetime.date.today()
    assert book_sharing.dated(tmp_path) == today


@needs_make
@pytest.mark.parametrize(
    ("name", "said", "shown"),
    [("OF_PIP", PIP, SHOWN_OF_PIP), ("HOW_FAR", SPHINX, SHOWN_OF_SPHINX)],
    ids=["pip", "Sphinx"],
)
def test_make_shows_a_few_lines_of_what_pip_and_sphinx_say(name, said, shown, tmp_path):
    rules = tmp_path / "rules.mk"
    rules.write_text(f"include Makefile\nshow:\n\t@$({name})\n")
    command = ["make", "-f", rules, "show"]
    done = subprocess.run(
        command, cwd=ROOT, env=alone(), input=said, text=True, stdout=subprocess.PIPE
    )
    assert done.stdout == shown


LOCALE = "locale/zh_CN/LC_MESSAGES"
TRANSLATED = """\
msgid "Page"
msgstr "页"

msgid "Section"
msgstr "节"

msgid "See $x^2$ and {doc}`other`."
msgstr "见 $x^2$ 和{doc}`other`。"

#, fuzzy
msgid "It was else."
msgstr "从前不同。"
"""


@needs_make
@pytest.mark.slow
def test_a_page_in_another_language_shows_what_is_confirmed_and_marks_the_rest(tmp_path):
    small_book(tmp_path)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: other\n")
    said = "See $x^2$ and {doc}`other`.\n\nIt is new.\n"
    (tmp_path / "index.md").write_text(f"# Page\n\n## Section\n\n{said}")
    (tmp_path / "other.md").write_text("# Other\n\nText.\n")
    (tmp_path / LOCALE).mkdir(parents=True)
    (tmp_path / LOCALE / "index.po").write_text(TRANSLATED, encoding="utf-8")
    (tmp_path / LOCALE / "other.po").write_text('msgid "Other"\nmsgstr "别的"\n')
    done = build(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    html = (tmp_path / "_build/html/zh/index.html").read_text("utf-8")
    assert re.findall(r'<p class="untranslated">(.*?)</p>', html) == ["It is new."]
    assert re.search(r'见 .*<a [^>]*hreflang="en" href="../other.html"[^>]*>.*别的', html)
    assert not (tmp_path / "_build/html/zh/other.html").exists()
    assert book_translation.unconfirmed(tmp_path) == ["zh/index: It is new."]
    # A message that is changed waits for its translation, too, and a broken one stops the build.
    book_translation.update(tmp_path, "zh_CN", "index")
    catalog = (tmp_path / LOCALE / "index.po").read_text("utf-8")
    assert '#, fuzzy\nmsgid "It is new."' in catalog
    broken = catalog.replace("和{doc}`other`", "")
    (tmp_path / LOCALE / "index.po").write_text(broken, encoding="utf-8")
    again = build(tmp_path)
    assert "inconsistent" in again.stderr
    assert again.returncode != 0
