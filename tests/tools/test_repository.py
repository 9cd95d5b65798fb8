"""scripts/repository.py writes the address into all files; before, no file has an address."""

import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from notebook_rules import chapters, problems
from repository import CELL, COLAB, stamp

from support import ROOT

URL = "https://github.com/ada/rows"
FILES = ("_config.yml", "CITATION.cff", "pyproject.toml", "README.md", "index.md")
NOTEBOOKS = {
    "chapters/01_one_gradient_per_sample.ipynb": "persample[torch,jax,notebook] @ git+",
    "chapters/05_td0.ipynb": "persample[torch,jax,notebook] @ git+",
    "reference/engine.ipynb": "git clone ",  # it shows the package's own files
    "reference/engine_with_arrays.ipynb": "git clone ",  # it imports a file of the book
}
OWN = r"https://(?:github\.com|colab\.research\.google\.com/github|mybinder\.org/v2/gh)/"


def named(root: Path) -> dict[str, set[str]]:
    """Return {file: the GitHub repositories that it names as the book's own}."""
    texts = {name: (root / name).read_text("utf-8") for name in FILES}
    return {
        name: set(re.findall(OWN + r"([\w.-]+/[\w.-]+)", text)) for name, text in texts.items()
    }


@pytest.fixture
def copy(tmp_path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    for name in NOTEBOOKS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_place_names_the_last_address_and_the_buttons_show(copy):
    stamp(copy, "https://github.com/someone/else.git")
    stamp(copy, f"{URL}/")
    assert named(copy) == dict.fromkeys(FILES, {"ada/rows"})
    assert stamp(copy, URL) == []
    assert not any("someone" in path.read_text("utf-8") for path in chapters(copy))
    settings = yaml.safe_load((copy / "_config.yml").read_text("utf-8"))
    assert settings["repository"] == {"url": URL, "path_to_book": "", "branch": "main"}
    buttons = ("use_issues_button", "use_repository_button", "use_edit_page_button")
    assert [settings["html"][name] for name in buttons] == [True] * 3
    assert settings["launch_buttons"]["colab_url"] == COLAB


def test_a_notebook_fetches_the_book_in_colab_and_keeps_the_rules(copy, monkeypatch, capsys):
    stamp(copy, URL)
    fetched = []
    monkeypatch.setattr("os.system", fetched.append)
    monkeypatch.setattr("os.chdir", fetched.append)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for path in chapters(copy):
        notebook = nbformat.read(path, as_version=4)
        line = NOTEBOOKS[path.relative_to(copy).as_posix()] + URL
        assert line in notebook.cells[0].source
        assert problems(notebook) == []  # also: the cells behind it are counted one further
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        assert (first.id, first.metadata.tags) == (CELL, ["remove-cell"])
        exec(first.source, {})
        assert fetched == []
        with monkeypatch.context() as colab:
            colab.setitem(sys.modules, "google.colab", sys)
            exec(first.source, {})
            assert capsys.readouterr().out == ""
            colab.setattr("numpy.__version__", "2.0.2")  # of before the installation
            exec(first.source, {})
            assert "Restart session" in capsys.readouterr().out
        assert fetched[0] == f"git clone -q --depth 1 {URL} /content/book"
        assert fetched[-1] == f"/content/book/{path.parent.name}"
        fetched.clear()


def test_what_is_no_address_and_a_place_that_is_gone_are_refused(copy):
    for url in ("", "github.com/ada/rows", "https://example.org/a/b", URL[:-5]):
        with pytest.raises(ValueError, match="give it as https://github.com/owner/name"):
            stamp(copy, url)
    (copy / "index.md").write_text("# Book\n")
    with pytest.raises(ValueError, match=r"^index.md has no place for the address"):
        stamp(copy, URL)
    assert named(copy)["README.md"] == named(ROOT)["README.md"]


def test_the_files_agree_on_the_address():
    known = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
    assert named(ROOT) == dict.fromkeys(FILES, {known.removeprefix("https://github.com/")} - {""})
