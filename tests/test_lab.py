"""The chapters use the markup that JupyterLab shows, as jupyterlab-myst does."""

import re
from pathlib import Path

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
