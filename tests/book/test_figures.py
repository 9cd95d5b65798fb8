"""SVG figures: the normal form stored in a notebook, and what the page makes of it."""

import re
from xml.etree import ElementTree

import matplotlib
import nbformat
import numpy as np
import pytest
from book_figures import inline
from matplotlib.figure import Figure
from notebook_rules import chapters

from persample_book.figures import drawing
from support import ROOT


def drawn(shift=0.0, cmap="gray_r") -> str:
    with matplotlib.rc_context(fname=ROOT / "chapters/matplotlibrc"):
        axes = Figure(figsize=(4, 3)).subplots(1, 2)
        axes[0].plot([1, 20 + shift, 300], "o-", label="1e-3 & $10^{-3}$")
        axes[0].set(yscale="log", xlabel="0.12345")
        axes[0].legend()
        axes[1].imshow(np.eye(3), cmap=cmap)
        return drawing(axes[0].figure)


def names(svg: str) -> tuple[list[str], list[str]]:
    """Return the ids that an SVG drawing defines, and those that it refers to."""
    return re.findall(r' id="([^"]*)"', svg), re.findall(r'(?:href="|url\()#([^")]*)', svg)


def test_a_drawing_is_the_same_twice_and_names_do_not_depend_on_the_numbers():
    one, moved = drawn(), drawn(1e-9)
    assert one == drawn() == moved
    shifted = drawn(3)
    assert shifted != one
    assert names(shifted) == names(one)


def test_a_drawing_gives_the_names_it_uses_rounds_places_and_keeps_words():
    svg = drawn()
    given, used = names(svg)
    assert given
    assert sorted(given) == sorted(set(used))
    assert "0.12345" in [e.text for e in ElementTree.fromstring(svg).iter()]
    inside = "".join(re.findall(r"<[^>]+>", svg))
    assert re.search(r"\d\.\d\d\b", inside)
    assert not re.search(r"\d\.\d{3}", inside)
    assert not re.search("metadata|date", svg)


def test_a_figure_without_axes_is_not_drawn():
    assert drawing(Figure()) is None


def test_on_a_page_two_drawings_share_no_name_and_nothing_styles_the_page():
    first, second = (inline(drawn(), number, set(), "A line", "") for number in (0, 1))
    assert not {*names(first)[0]} & {*names(second)[0]}
    for one in (first, second):
        given, used = names(one)
        assert sorted(given) == sorted(set(used))
        root = ElementTree.fromstring(one)
        assert (root.get("role"), root.get("aria-label")) == ("img", "A line")
        assert not re.search("<style|font-family|<title|<metadata", one)


def test_on_a_page_known_colours_are_variables_and_pictures_on_white_are_marked():
    one = inline(drawn(), 0, {"0072b2", "22262b"}, "", "")
    assert "stroke: var(--ink-0072b2)" in one
    assert "fill: var(--ink-22262b)" in one
    assert "stroke: #5a6470" in one
    for cmap, marked in {"gray_r": 1, "Blues": 1, "PuOr": 0, "cividis": 0}.items():
        assert inline(drawn(cmap=cmap), 0, set(), "", "").count('class="grounded"') == marked


def test_on_a_page_a_power_is_written_in_one_run():
    first, *others = re.findall(
        r"<tspan[^>]*>", inline(drawn(), 0, set(), "", "").split("<text>")[1]
    )
    assert " x=" in first
    assert others
    assert not any(" x=" in other for other in others)


@pytest.mark.parametrize("path", chapters(ROOT), ids=lambda path: path.stem)
def test_every_figure_of_a_notebook_is_a_picture_and_a_drawing_on_white(path):
    for cell in nbformat.read(path, as_version=4).cells:
        for data in (out.get("data", {}) for out in cell.get("outputs", [])):
            assert ("image/svg+xml" in data) == ("image/png" in data)  # for all readers
            if svg := data.get("image/svg+xml"):
                ground = ElementTree.fromstring(svg).find(".//{*}path")
                assert "fill: #ffffff" in ground.get("style")
