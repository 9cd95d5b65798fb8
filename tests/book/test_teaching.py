"""Teaching material: exercises whose checks name mistakes, and slides whose content fits."""

import itertools
import json
import re
import sys
from types import ModuleType

import nbformat
import numpy as np
import pytest
from teaching import CORE, ENDS, exercises, main, slides

from support import ROOT
from support.pages import run
from support.wrong_answers import FORMS, RIGHT, WRONG

CHECKED = [
    *sorted(ROOT.glob("chapters/0[1-9]_*.ipynb")),
    ROOT / "chapters/10_traces.ipynb",
    ROOT / "reference/engine_with_arrays.ipynb",
]


@pytest.mark.slow
@pytest.mark.usefixtures("light_compiler", "own_settings")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.stem)
def test_checks_name_three_mistakes_of_each_exercise_and_take_the_solution(path, monkeypatch):
    """Run the exercises in the form given to students, without the book's package."""
    monkeypatch.chdir(path.parent)
    stored = nbformat.read(path, as_version=4).cells
    given = [c for c in exercises(path, "wheel").cells if c.cell_type == "code"]
    order = [cell.id for cell in stored]
    page = ModuleType(path.stem)  # torch.compile looks for names in their module
    monkeypatch.setitem(sys.modules, path.stem, page)
    names, checked = vars(page), 0
    for before, cell in zip([None, *given], given, strict=False):
        if cell.id not in WRONG:
            try:
                run(cell.source, names)
            except Exception:
                assert "raises-exception" in cell.metadata.get("tags", [])
            continue
        assert not run(cell.source, names).startswith("right")
        for answer, said in WRONG[cell.id]:
            run(before.source, names)
            run(answer, names)
            assert said in run(cell.source, names), answer
        for solution in stored[order.index(cell.id) + 1 :]:
            if ENDS.search(solution.source) and solution.cell_type == "markdown":
                break
            if solution.cell_type == "code":
                run(solution.source, names)
        run(RIGHT.get(cell.id, ""), names)
        assert run(cell.source, names).startswith("right")
        for answer in FORMS.get(cell.id, []):
            run(answer, names)
            assert run(cell.source, names).startswith("right"), answer
        checked += 1
    assert checked == sum("<!-- exercise: " in cell.source for cell in stored)


def test_what_the_checks_share_is_the_same_on_all_pages():
    texts = [
        cell.source
        for path in sorted(ROOT.glob("chapters/*.ipynb"))
        for cell in nbformat.read(path, as_version=4).cells
    ]
    shared = [text for text in texts if text.startswith("import numpy as np\n\n\ndef numbers")]
    assert len(shared) == 11
    assert len(set(shared)) == 1
    names = {}
    exec(shared[0], names)
    same, first_fault = names["same"], names["first_fault"]
    torch = pytest.importorskip("torch")
    leaf = torch.ones(2, requires_grad=True)
    assert all(same(a, [1, 1]) for a in (leaf, [leaf[0], 1.0], (1, np.float32(1)), np.ones(2)))
    bad = (None, [], "1", 1.0, [1.0, np.nan], [[1.0, 1.0]], [1.0], [1.0, 1.001], {1: 1}, leaf.sum)
    assert not any(same(a, [1, 1]) for a in bad)
    assert not same(np.nan, np.nan)
    assert names["said"](leaf, {"twice": 2 * np.ones(2), "right": [1, 1]}, "no") == "right"
    assert [first_fault(t) for t in (["right"], ["right", "a", "b"])] == ["right", "a"]


def test_exercises_are_given_out_without_solutions():
    for path in CORE:
        found = exercises(path, "wheel.whl")
        text = json.dumps(found)
        assert not any(word in text for word in ("Solution", "<!--", "persample_book"))
        assert "your turn" in text
        assert "wheel.whl" in found.cells[0].source
        assert not any(cell.get("outputs") for cell in found.cells)


# What a slide shows beyond its borders, and how far it was drawn smaller.
BEYOND = """
() => {
  const slide = Reveal.getCurrentSlide(), beyond = [];
  for (const e of slide.querySelectorAll("*")) {
    if (e.closest("aside, mjx-assistive-mml") || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    if (box.left < -1 || box.top < -1 || box.right > 1281 || box.bottom > 721
        || (e.tagName === "PRE" && e.scrollWidth > e.clientWidth + 1)) beyond.push(e.outerHTML);
  }
  return [beyond, Number(slide.style.zoom), Reveal.isLastSlide()];
}
"""


@pytest.mark.slow
def test_nothing_on_a_slide_is_cut_and_nothing_comes_from_elsewhere(chromium, monkeypatch):
    from browser import serve

    main("slides")
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    with serve(ROOT / "_build/slides") as at:
        for path in CORE:
            page.goto(f"{at}/{path.stem}.html")
            page.wait_for_function("window.Reveal?.isReady?.()")
            count, last = 0, False
            while not last:
                beyond, zoom, last = page.evaluate(BEYOND)
                assert beyond == [], f"{path.stem}, {page.url}"
                # The first slide of chapter 6 has the whole program and who wrote each line.
                assert zoom > (0.65 if path.stem.startswith("06_") else 0.85)
                page.evaluate("Reveal.next()")
                count += 1
            assert count > 20
            assert page.locator("img:not([alt]), img[alt=''], img[alt^='No desc']").count() == 0
        assert page.locator("aside.notes").count() > 20
    assert [url for url in asked if not url.startswith((at, "data:"))] == []


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_no_slide_answers_its_own_predict_box(path):
    cells = slides(path).cells
    for cell, after in itertools.pairwise(cells):
        if cell.source.startswith("### Predict"):
            assert after.metadata["slideshow"]["slide_type"] != "-"
            assert "### Answer" not in cell.source


def test_the_lessons_name_cells_sections_and_exercises_that_are_there():
    text = (ROOT / "reference/teaching.md").read_text(encoding="utf-8")
    cells = [cell for path in CORE for cell in exercises(path, "wheel").cells]
    lines = tuple(c.source.splitlines()[0] for c in cells if c.cell_type == "code")
    named = re.findall(r"\b[Cc]ell `([^`]+)`", text)
    assert len(named) > 30
    assert [name for name in named if not any(x.startswith(name) for x in lines)] == []
    pages = "\n".join(path.read_text(encoding="utf-8") for path in CORE)
    titles = re.findall(
        r"(?<!\*)\*((?:Spot|Make|Modify|Recall)[^*]+|[A-Z][^*|.;]+\?)\*(?!\*)", text
    )
    assert len(titles) > 25
    assert [title for title in titles if title not in pages] == []
    bank = (ROOT / "reference/questions.md").read_text(encoding="utf-8")
    polled = set(re.findall(r"<(question-\d+)>", text))
    assert len(polled) > 5
    assert all(f"({label})=" in bank for label in polled)


LESSONS = {"Lesson 1": "1", "Lesson 2": "2", "Lesson 3": "34", "Lesson 4": "5", "A half-day": "6"}
STEP = re.compile(r"(up to )?\b[Cc]ell `([^`]+)`(?: to cell `([^`]+)`)?( and the one after it)?")


def places(cells, name):
    lines = [cell.source.splitlines()[0] for cell in cells]
    found = [i for i, line in enumerate(lines) if line == name]
    return found or [i for i, line in enumerate(lines) if line.startswith(name)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", LESSONS)
def test_the_cells_that_a_lesson_names_run_alone_in_its_order(title):
    text = (ROOT / "reference/teaching.md").read_text(encoding="utf-8")
    table = text.split(f"\n## {title}")[1].split("\n|---")[1].split("\n\n")[0]
    found = [exercises(CORE[int(number) - 1], "wheel").cells for number in LESSONS[title]]
    pages = [([cell for cell in cells if cell.cell_type == "code"], {}) for cells in found]
    for start, name, end, more in STEP.findall(table):
        cells, names = next(page for page in pages if places(page[0], name))
        (first,), (last,) = places(cells, name), places(cells, end or name)
        for cell in cells[0 if start else first : last + 1 + bool(more)]:
            try:
                run(cell.source, names)
            except Exception:
                assert "raises-exception" in cell.metadata.get("tags", []), cell.source


def test_forty_questions_have_a_folded_answer_that_names_a_choice():
    text = (ROOT / "reference/questions.md").read_text(encoding="utf-8")
    pairs = re.findall(
        r"^\*\*(\d+)\.\*\* (.+)\n\n```\{admonition\} Answer (\d+)\n:class: dropdown\n(.+)\n```$",
        text,
        re.MULTILINE,
    )
    assert [int(number) for number, *_ in pairs] == list(range(1, 41))
    for number, question, same, answer in pairs:
        assert number == same
        offered = set(re.findall(r"\(([a-d])\)", question))
        assert len(offered) >= 3 or offered == {"a", "b"}
        assert answer[1] in offered
        assert set(re.findall(r"\(([a-d])\)", answer)) <= offered
        assert len(re.findall(r"\([a-d]\)", answer)) >= 1
