"""JupyterLab as a reader starts it, with the chapters' markup shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from notebook_rules import chapters, prose

ROOT = Path(__file__).resolve().parents[1]
# The markup that JupyterLab knows. It leaves `literalinclude` empty: see `_ext/book_cures.py`.
BOXES = {
    *("admonition", "dropdown", "exercise", "solution-start", "solution-end"),
    *("figure", "image", "literalinclude", "tab-item", "tab-set"),
}
ROLES = {"cite:p", "cite:t", "doc", "numref", "ref", "term"}


def used(page: Path) -> set[str]:
    """Return the boxes and the roles of a notebook."""
    text = prose(page)
    boxes = set(re.findall(r"^ *[`:~]{3,}\{([^}]+)\}", text, re.M))
    return boxes | {f"{role}`" for role in re.findall(r"(?<!`)\{([a-z:]+)\}`", text)}


@pytest.mark.parametrize("page", chapters(ROOT), ids=lambda page: page.stem)
def test_a_notebook_uses_what_jupyterlab_knows(page):
    text = prose(page)
    assert used(page) <= BOXES | {f"{role}`" for role in ROLES}
    for target in re.findall(r"\{doc\}`([^`]+)`", text):
        assert (page.parent / target).is_file(), f"name its file: {target}"
    assert ("{literalinclude}" in text) == (":class: lab\n" in text)


def few() -> list[Path]:
    """Return few notebooks that have every kind of markup between them."""
    kinds = {page: used(page) for page in chapters(ROOT)}
    wanted, chosen = set().union(*kinds.values()), []
    while wanted:
        chosen.append(max(kinds, key=lambda page: len(kinds[page] & wanted)))
        wanted -= kinds[chosen[-1]]
    return chosen


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab for notebooks that hold the chapters' text; return its address."""
    pytest.importorskip("jupyterlab_myst", reason="jupyterlab-myst is not installed")
    folder = tmp_path_factory.mktemp("lab")
    for path in few():
        notebook = nbformat.read(path, 4)
        notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        nbformat.write(notebook, folder / path.name)
    (folder / "settings/@jupyterlab/notebook-extension").mkdir(parents=True)
    tracker = folder / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    tracker.write_text('{"windowingMode": "none"}')
    command = [Path(sys.executable).with_name("jupyter"), "lab", "--no-browser", "--port=0"]
    command += ["--ServerApp.token=t", "--allow-root", "--notebook-dir", folder]
    own = {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    environment = {**os.environ, **{key: str(folder / name) for key, name in own.items()}}
    with open(folder / "log", "w") as log:
        running = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(120):
            said = (folder / "log").read_text()
            if at := re.search(r"http://(?:localhost|127\.0\.0\.1):(\d+)/lab", said):
                break
            assert running.poll() is None, said
            try:
                running.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
        yield f"http://127.0.0.1:{at[1]}"
    finally:
        running.terminate()
        running.wait(20)


@pytest.mark.site
@pytest.mark.slow
@pytest.mark.parametrize("path", few(), ids=lambda path: path.stem)
def test_it_shows_no_raw_markup(lab, chromium, path):
    page = chromium.new_page()
    page.goto(f"{lab}/doc/tree/{path.name}?token=t&reset")
    cells = page.locator(".jp-MarkdownCell")
    cells.first.wait_for(timeout=60_000)
    rendered = "document.querySelectorAll('.jp-MarkdownCell .myst:not(:empty)').length"
    page.wait_for_function(f"{rendered} === {cells.count()}", timeout=60_000)
    shown = "\n".join(cells.all_inner_texts())
    page.close()
    assert re.findall(r".*(?:Unknown Directive|```|~~~|:::|\{[a-z:-]+\}).*", shown) == []
