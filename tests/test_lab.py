"""JupyterLab as a reader starts it: from a container too, with the chapters' markup shown."""

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import nbformat
import pytest
from notebook_rules import chapters, prose

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("user", "allowed"), [("0", True), ("1000", False)])
def test_only_root_is_told_that_it_may(tmp_path, user, allowed):
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    done = subprocess.run(
        ["make", "-n", f"VENV={sys.prefix}", f"--assume-old={sys.prefix}/.reader", "lab"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("--allow-root" in done.stdout) == allowed
    assert "--ip localhost" in done.stdout


# The markup that JupyterLab knows. It leaves `literalinclude` empty: see `_ext/book_lab.py`.
BOXES = {
    *("admonition", "dropdown", "exercise", "solution-start", "solution-end"),
    *("figure", "image", "literalinclude", "tab-item", "tab-set"),
}
ROLES = {"cite:p", "cite:t", "doc", "numref", "ref", "term"}


@pytest.mark.parametrize("page", chapters(ROOT), ids=lambda page: page.stem)
def test_a_notebook_uses_what_jupyterlab_knows(page):
    text = prose(page)
    assert set(re.findall(r"^ *[`:~]{3,}\{([^}]+)\}", text, re.M)) <= BOXES
    assert set(re.findall(r"(?<!`)\{([a-z:]+)\}`", text)) <= ROLES
    for target in re.findall(r"\{doc\}`([^`]+)`", text):
        assert (page.parent / target).is_file(), f"name its file: {target}"
    assert ("{literalinclude}" in text) == (":class: lab\n" in text)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab for notebooks that hold the chapters' text; return its address."""
    pytest.importorskip("jupyterlab_myst", reason="jupyterlab-myst is not installed")
    folder = tmp_path_factory.mktemp("lab")
    for path in chapters(ROOT):
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


@pytest.mark.slow
def test_it_starts_and_has_the_extension(lab):
    with urllib.request.urlopen(f"{lab}/lab?token=t") as answer:
        assert '"jupyterlab-myst"' in answer.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
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
