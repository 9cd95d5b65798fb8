"""The book's address: stamped in one go wherever it stands, and nowhere before it is known."""

import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from notebook_rules import chapters, problems
from repository import CELL, COLAB, stamp, with_install

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
URL = "https://github.com/ada/rows"
FILES = ("_config.yml", "CITATION.cff", "pyproject.toml", "README.md", "index.md")
# Who else may be named once the book has an address: those who show it and run it.
HOSTS = ("https://colab.research.google.com/", "https://mybinder.org/")


@pytest.fixture
def copy(tmp_path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    for path in chapters(ROOT):
        (tmp_path / path.parent.name).mkdir(exist_ok=True)
        shutil.copy(path, tmp_path / path.parent.name)
    return tmp_path


def named(root: Path) -> dict[str, set[str]]:
    """Return file -> the repositories on GitHub that it names as the book's own."""
    own = r"https://(?:github\.com|colab\.research\.google\.com/github|mybinder\.org/v2/gh)/"
    return {
        name: set(re.findall(own + r"([\w.-]+/[\w.-]+)", (root / name).read_text("utf-8")))
        for name in FILES
    }


def test_every_place_names_one_address(copy):
    stamp(copy, URL)
    assert named(copy) == dict.fromkeys(FILES, {"ada/rows"})


def test_another_address_replaces_the_last_one_and_the_same_changes_nothing(copy):
    stamp(copy, "https://github.com/someone/else.git")
    stamp(copy, f"{URL}/")
    assert named(copy) == dict.fromkeys(FILES, {"ada/rows"})
    assert stamp(copy, URL) == []
    texts = [path.read_text("utf-8") for path in chapters(copy)]
    assert [text for text in texts if "someone" in text] == []


def test_the_settings_show_the_buttons(copy):
    stamp(copy, URL)
    settings = yaml.safe_load((copy / "_config.yml").read_text("utf-8"))
    assert settings["repository"] == {"url": URL, "path_to_book": "", "branch": "main"}
    buttons = ("use_issues_button", "use_repository_button", "use_edit_page_button")
    assert [settings["html"][name] for name in buttons] == [True] * 3
    assert settings["launch_buttons"]["colab_url"] == COLAB


def test_a_notebook_fetches_the_book_in_colab_and_keeps_the_rules(copy, monkeypatch):
    stamp(copy, URL)
    fetched = []
    monkeypatch.setattr("os.system", fetched.append)
    monkeypatch.setattr("os.chdir", fetched.append)
    monkeypatch.setattr(sys, "path", [])
    for path in chapters(copy):
        notebook = nbformat.read(path, as_version=4)
        assert problems(notebook) == []
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        if not any("persample" in cell.source for cell in code):
            continue
        first = code[0]
        assert (first.id, first.metadata.tags) == (CELL, ["remove-cell"])
        exec(first.source, {})
        assert fetched == []
        with monkeypatch.context() as colab:
            colab.setitem(sys.modules, "google.colab", sys)
            exec(first.source, {})
        assert fetched.pop(0) == f"git clone -q --depth 1 {URL} /content/book"
        assert fetched.pop(-1) == f"/content/book/{path.parent.name}"
        fetched.clear()


def test_the_cells_behind_it_are_counted_one_further():
    failed = nbformat.v4.new_output(
        "error", ename="ValueError", evalue="no", traceback=["Cell In[1], line 2", "ValueError"]
    )
    value = nbformat.v4.new_output("execute_result", {"text/plain": "2"}, execution_count=2)
    cells = [
        nbformat.v4.new_markdown_cell("# Rows"),
        nbformat.v4.new_code_cell("fail()", execution_count=1, outputs=[failed]),
        nbformat.v4.new_code_cell("1 + 1", execution_count=2, outputs=[value]),
    ]
    text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    once = with_install(text, URL, "chapters")
    assert with_install(once, URL, "chapters") == once
    made = nbformat.reads(once, as_version=4).cells
    assert [cell.get("execution_count") for cell in made] == [None, 1, 2, 3]
    assert made[2].outputs[0].traceback == ["Cell In[2], line 2", "ValueError"]
    assert made[3].outputs[0].execution_count == 3


@pytest.mark.parametrize("url", ["", "github.com/ada/rows", "https://example.org/a/b", URL[:-5]])
def test_what_is_no_address_is_refused(copy, url):
    before = named(copy)
    with pytest.raises(ValueError, match="give it as https://github.com/owner/name"):
        stamp(copy, url)
    assert named(copy) == before


def test_a_place_that_is_gone_is_named(copy):
    (copy / "index.md").write_text("# Book\n")
    with pytest.raises(ValueError, match=r"^index.md has no place for the address"):
        stamp(copy, URL)
    assert named(copy)["README.md"] == named(ROOT)["README.md"]


def address() -> str:
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]


def test_the_files_agree_on_the_address():
    known = {address().removeprefix("https://github.com/")} - {""}
    assert named(ROOT) == dict.fromkeys(FILES, known)


@pytest.mark.skipif(not (HTML / "index.html").is_file(), reason="the book is not built")
def test_no_button_leads_out_of_a_book_that_has_no_address():
    """With one, to its repository and to those who run it."""
    wrong = []
    folders = ("*.html", "chapters/*.html", "reference/*.html")
    for page in (page for folder in folders for page in HTML.glob(folder)):
        soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
        for link in soup.select(".article-header-buttons a[href], .bd-sidebar-primary a[href]"):
            if "://" in link["href"] and not (
                address() and link["href"].startswith((address(), *HOSTS))
            ):
                wrong.append((page.name, link["href"]))
    assert wrong == []
