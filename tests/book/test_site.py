"""The built book as files: links, pictures, page heads, live figures and downloads."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import book_files
import book_live
import book_sharing
import nbformat
import pytest
from browser import HTML, ROOT, pages
from bs4 import BeautifulSoup
from PIL import Image

pytestmark = pytest.mark.site
SAID = book_sharing.settings(ROOT)
WHEEL, ARCHIVE = book_files.names(book_files.version(ROOT))


def parsed(folder: Path) -> dict[str, BeautifulSoup]:
    """Return {path: parsed HTML} of every page of a site."""
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in pages(folder)}
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}


@pytest.fixture(scope="module")
def soups():
    return parsed(HTML)


def links(folder: Path, soups: dict[str, BeautifulSoup]) -> list[str]:
    """List the internal links of a site whose target does not exist."""
    broken = []
    anchors = {
        name: {tag.get("id") or tag.get("name") for tag in soup.find_all(True)}
        for name, soup in soups.items()
    }
    for name, soup in soups.items():
        for tag in soup.find_all(["a", "img", "link", "script"]):
            target = urlsplit(tag.get("href") or tag.get("src") or "")
            if target.scheme or target.netloc:
                continue
            path = unquote(target.path)
            file = ((folder / name).parent / path if path else folder / name).resolve()
            inside = file.relative_to(folder.resolve()).as_posix()
            if not file.is_file():
                broken.append(f"{name}: {target.geturl()} is not there")
            elif unquote(target.fragment) not in anchors.get(inside, {target.fragment}) | {""}:
                broken.append(f"{name}: {target.geturl()} has no such place")
    return broken


def test_every_link_inside_the_book_leads_somewhere(soups):
    assert links(HTML, soups) == []


def test_no_id_stands_twice_on_a_page(soups):
    twice = {}
    for name, soup in soups.items():
        ids = [tag["id"] for tag in soup.find_all(id=True)]
        if repeated := {one for one in ids if ids.count(one) > 1}:
            twice[name] = repeated
    assert twice == {}


def test_a_page_asks_for_what_it_uses_and_every_picture_has_a_size(soups):
    wrong = []
    for name, soup in soups.items():
        asked = " ".join(tag["src"] for tag in soup.find_all("script", src=True))
        found = [file for file in ("fontawesome", "mathjax", "searchindex") if file in asked]
        allowed = ["mathjax"] if soup.select(".math") else []
        wrong += [f"{name} asks for {file}" for file in found if file not in allowed]
        for number, picture in enumerate(soup.select("article img")):
            if not (picture.get("width") and picture.get("height")):
                wrong.append(f"{name}: {picture['src']} has no size")
            if number and picture.get("loading") != "lazy":
                wrong.append(f"{name}: {picture['src']} is loaded at once")
    assert wrong == []


def test_the_error_index_lists_its_parts_alone_and_folds_say_what_they_hold(soups):
    entries = soups["reference/errors.html"].select(".bd-sidebar-secondary .page-toc a")
    assert 5 < len(entries) < 20
    folds = [
        (tag.select_one(".collapsed").get_text(), tag.select_one(".expanded").get_text())
        for soup in soups.values()
        for tag in soup.select(".hide > summary")
    ]
    kinds = ["check", "code of the figure", "helper functions"]
    named = {(f"Show the {kind}", f"Hide the {kind}") for kind in kinds}
    named |= {("显示检查代码", "隐藏检查代码"), ("显示辅助函数", "隐藏辅助函数")}
    assert named <= set(folds)
    assert not {"Show the code", "显示代码"} & {show for show, _ in folds}
    assert not re.search("code cell|content", str(folds))


def test_every_live_figure_stands_beside_a_static_figure_or_output(soups):
    found = []
    english = {name: soup for name, soup in soups.items() if soup.html["lang"] == "en"}
    for name, soup in english.items():
        mine = [box["id"].removeprefix("live-") for box in soup.select(".live")]
        found += mine
        for box in soup.select(".live"):
            assert box.has_attr("hidden")
            assert len(box.get_text().split()) > 10
            assert box.find_parent("section").select("figure, .still .drawing, .cell_output")
        used = [tag["src"].partition("?")[0] for tag in soup.find_all("script", src=True)]
        known = {part for figure in book_live.FIGURES for part in book_live.scripts(figure)}
        here = {path.stem for path in map(Path, used) if path.stem in known}
        assert here == {part for figure in mine for part in book_live.scripts(figure)}, name
    assert sorted(found) == book_live.FIGURES


def test_words_that_set_a_figure_stand_beside_one_and_say_the_same_in_each_language(soups):
    """The states themselves are tried in tests/book/test_live.py."""
    for name, soup in soups.items():
        given = [words["data-set"] for words in soup.select(".live-set")]
        assert soup.select(".live") or not given, name
        if name.startswith("zh/") and name.removeprefix("zh/") in soups and given:
            english = soups[name.removeprefix("zh/")].select(".live-set")
            assert sorted(given) == sorted(words["data-set"] for words in english), name


def test_no_number_loses_its_per_cent_sign_at_the_end_of_a_line(soups):
    broken = {}
    for name, soup in soups.items():
        texts = [
            t
            for t in soup.select_one("body").find_all(string=re.compile(r"\d %"))
            if not t.find_parent(["pre", "code", "script", "style", "svg"])
        ]
        broken[name] = [str(t) for t in texts]
    assert {name: texts for name, texts in broken.items() if texts} == {}


def test_every_page_has_words_of_its_own_and_a_picture(soups):
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert set(SAID) == {"index", *re.findall(r"file: (\S+)", contents)}
    words = [mine["description"] for mine in SAID.values()]
    assert len(set(words)) == len(words)
    assert [text for text in words if not 80 <= len(text) <= 180] == []
    for docname, mine in SAID.items():
        head = soups[f"{docname}.html"].head
        tags: dict[str, list[str]] = {}
        for tag in head.find_all("meta"):
            tags.setdefault(tag.get("property") or tag.get("name"), []).append(tag.get("content"))
        assert tags["description"] == tags["og:description"] == [mine["description"]]
        assert len(tags["og:title"]) == 1
        parts = head.title.get_text().split(" — ")
        assert len(set(parts)) == len(parts)
        ((picture,), (alt,)) = tags["og:image"], tags["og:image:alt"]
        assert alt
        if not picture.startswith("http"):
            with Image.open((HTML / docname).parent / picture) as card:
                assert [*card.size] == [1200, 630]
                assert len(card.convert("RGB").getcolors(2**24)) > 10


def test_every_page_says_once_how_wide_it_is(soups):
    said = {name: len(soup.select("meta[name=viewport]")) for name, soup in soups.items()}
    assert set(said.values()) == {1}, said


def test_what_a_host_looks_for_is_there(soups):
    assert (HTML / ".nojekyll").is_file()
    assert soups["404.html"].select("a[href='reference/errors.html']")


# What can be downloaded ----------------------------------------------------------------------


RUN = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
notebook.cells.append(nbformat.v4.new_code_cell("import persample as p; print(p.__file__)"))
nbclient.NotebookClient(notebook, allow_errors=True, timeout=300).execute()
for cell in notebook.cells:
    expected = "raises-exception" in cell.metadata.get("tags", [])
    for output in cell.get("outputs", []):
        if output.output_type == "error" and not expected:
            print(output.ename, cell.source.splitlines()[0])
print(notebook.cells[-1].outputs[0].text)
"""


def test_the_archive_holds_the_book_and_a_chapter_of_it_runs(tmp_path):
    """Run the chapter in this environment, but with the packages in the unpacked archive."""
    assert (HTML / "files" / ARCHIVE).stat().st_size < 8_000_000
    with zipfile.ZipFile(HTML / "files" / ARCHIVE) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / Path(ARCHIVE).stem
    (folder / ".venv/lib").mkdir(parents=True)
    (folder / ".venv/lib/x.py").touch()
    held = {path.relative_to(folder) for path in book_files.files(folder)}
    assert held == {path.relative_to(ROOT) for path in book_files.files(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, "03_leaf_tensors.ipynb"],
        cwd=folder / "chapters",
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    (where,) = done.stdout.split()
    assert where.startswith(str(folder / "src")), done.stderr


def test_every_page_offers_both_and_a_notebook_says_how_to_run_it(soups):
    for docname in SAID:
        found = soups[f"{docname}.html"].select(".dropdown-download-buttons a")
        offered = {link["href"].rpartition("/")[2]: link for link in found}
        assert {WHEEL, ARCHIVE} <= set(offered), docname
        assert f"pip install {WHEEL}" in offered[WHEEL]["title"]
    for path in (HTML / "_sources").rglob("*.ipynb"):
        first, *rest = nbformat.read(path, as_version=4).cells
        assert all(word in first.source for word in (WHEEL, ARCHIVE, "make lab"))
        original = nbformat.read(ROOT / path.relative_to(HTML / "_sources"), as_version=4)
        assert rest == original.cells
