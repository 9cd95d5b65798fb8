"""Write the address of the book's repository into its files.

    python scripts/repository.py https://github.com/owner/name

It is written wherever a reader needs it: the pages' buttons (edit, report an error, Colab,
Binder), CITATION.cff, the package's metadata, the README's badges, the lines on errors, and each
notebook's install line and cell that fetches the book in Google Colab. Another address replaces
the last one; `git checkout .` undoes it.
"""

import re
import sys
from pathlib import Path

import nbformat
from notebook_rules import chapters

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
BRANCH = "main"
COLAB, BINDER = "https://colab.research.google.com", "https://mybinder.org"
FIRST = "chapters/01_one_gradient_per_sample.ipynb"
CELL = "colab"  # the id of the cell in a notebook
INSTALL = """\
# Google Colab does not have the book yet. Elsewhere this cell does nothing.
import os
import sys
from importlib.metadata import version

if "google.colab" in sys.modules:
    url = "{url}"
    os.system(f"git clone -q --depth 1 {{url}} /content/book")
    os.system("pip install -q -e '/content/book[notebook]'")
    os.chdir("/content/book/{folder}")
    sys.path.insert(0, "/content/book/src")
    loaded = getattr(sys.modules.get("numpy"), "__version__", version("numpy"))
    if loaded != version("numpy"):
        print("NumPy is newer now: Runtime, Restart session, begin again.")"""

INSTALL_LINE = re.compile(r"(^<!-- install -->\n.*?)`[^`]*`.*", re.MULTILINE)
# What a reader types: the package, or the whole book where a page needs more than the package.
TYPED = {
    False: '`pip install "persample[torch,jax,notebook] @ git+{url}"`',
    True: '`git clone {url} book && pip install -e "book[torch,jax,notebook]"`',
}


def badges(url: str) -> str:
    """Return the README's line of badges."""
    name = url.removeprefix("https://github.com/")
    return " ".join(
        f"[![{text}]({picture})]({target})"
        for text, picture, target in (
            (
                "Tests",
                f"{url}/actions/workflows/book.yml/badge.svg",
                f"{url}/actions/workflows/book.yml",
            ),
            (
                "Open chapter 1 in Colab",
                f"{COLAB}/assets/colab-badge.svg",
                f"{COLAB}/github/{name}/blob/{BRANCH}/{FIRST}",
            ),
            (
                "Open the book on Binder",
                f"{BINDER}/badge_logo.svg",
                f"{BINDER}/v2/gh/{name}/{BRANCH}?urlpath=lab/tree/{FIRST}",
            ),
        )
    )


def edits(url: str) -> list[tuple[str, str, str]]:
    """Return (file, pattern of the present text, replacement) for each place of the address."""
    report = r"\[Open an issue\]\([^)]*\):|Tell those from whom you have this copy:"
    return [
        ("_config.yml", r'(?m)^(repository:\n  url: )".*"$', rf'\1"{url}"'),
        ("_config.yml", r"use_(issues|repository|edit_page)_button: \w+", r"use_\1_button: true"),
        ("_config.yml", r'binderhub_url: ".*"', f'binderhub_url: "{BINDER}"'),
        ("_config.yml", r'colab_url: ".*"', f'colab_url: "{COLAB}"'),
        (
            "CITATION.cff",
            r"(?m)^(type: software\n)(?:repository-code: .*\n)?",
            rf'\1repository-code: "{url}"' + "\n",
        ),
        (
            "pyproject.toml",
            r"(?m)^(?:\[project\.urls\]\n(?:.+\n)+\n)?(\[project\.optional-dependencies\])$",
            f'[project.urls]\nRepository = "{url}"\nIssues = "{url}/issues"\n\n\\1',
        ),
        (
            "README.md",
            r"\A(# .*\n\n)(?:\[!\[.*\n\n)?",
            rf"\1{badges(url)}" + "\n\n",
        ),
        ("README.md", report, f"[Open an issue]({url}/issues):"),
        ("index.md", report, f"[Open an issue]({url}/issues):"),
    ]


def with_install(text: str, url: str, folder: str) -> str:
    """Return a notebook, as JSON text, whose install line names the address ``url``.

    If it imports the package, its first code cell fetches the book in Colab. Where that cell is
    new, the execution counts of the others increase by one, as when the notebook is run.
    """
    notebook = nbformat.reads(text, as_version=4)
    said = notebook.cells[0]
    of_the_book = "persample_book" in text or "../chapters/files" in text
    typed = TYPED[of_the_book].format(url=url)
    said.source = INSTALL_LINE.sub(lambda m: m[1] + typed, said.source)
    if not re.search(r"\b(?:import|from) persample(?:_book)?\b", text):
        return nbformat.writes(notebook).rstrip("\n") + "\n"
    source = INSTALL.format(url=url, folder=folder)
    known = [cell for cell in notebook.cells if cell.id == CELL]
    if known:
        known[0].source = source
        return nbformat.writes(notebook).rstrip("\n") + "\n"
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.execution_count += 1
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count += 1
            if output.output_type == "error":
                output.traceback = [
                    re.sub(r"Cell In\[(\d+)\]", lambda m: f"Cell In[{int(m[1]) + 1}]", line)
                    for line in output.traceback
                ]
    cell = nbformat.v4.new_code_cell(
        source, id=CELL, execution_count=1, metadata={"tags": ["remove-cell"]}
    )
    notebook.cells.insert(first, cell)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def stamp(root: Path, url: str) -> list[Path]:
    """Write the address into every file that names it; return the changed files.

    Raise ValueError if it is not a repository on GitHub, or if a file has no place for it.
    """
    match = ADDRESS.fullmatch(url)
    if match is None:
        raise ValueError(
            f"{url!r} is no address of a repository on GitHub;"
            " give it as https://github.com/owner/name"
        )
    url = f"https://github.com/{match[1]}/{match[2]}"
    made: dict[Path, str] = {}
    for name, there, new in edits(url):
        path = root / name
        text = made.get(path) or path.read_text(encoding="utf-8")
        made[path], count = re.subn(there, new, text)
        if not count:
            raise ValueError(f"{name} has no place for the address: {there}")
    for path in chapters(root):
        made[path] = with_install(path.read_text(encoding="utf-8"), url, path.parent.name)
    changed = [path for path, text in made.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(made[path], encoding="utf-8")
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give one address: python scripts/repository.py https://github.com/owner/name")
    try:
        for path in stamp(ROOT, sys.argv[1]):
            print(path.relative_to(ROOT))
    except ValueError as why:
        sys.exit(f"{why}.")
