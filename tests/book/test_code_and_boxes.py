"""Code on the built pages, and the boxes that a reader opens or answers."""

import re
from html import unescape

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import HTML, settle

from support.screens import PHONE

pytestmark = pytest.mark.site


def test_a_shadow_says_that_a_formula_goes_on_and_a_comment_stays_whole(chromium, address):
    page = chromium.new_page(viewport=PHONE | {"width": 240})  # where a formula is too wide
    page.goto(f"{address}/chapters/18_fisher.html")
    settle(page)
    page.wait_for_timeout(300)
    shaded = page.eval_on_selector_all(
        "mjx-container[display=true]",
        """(all) => all.map((e) => [getComputedStyle(e).backgroundImage !== "none",
          e.scrollWidth > e.clientWidth + 1])""",
    )
    assert {tuple(one) for one in shaded} == {(True, True), (False, False)}
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/chapters/01_one_gradient_per_sample.html")
    settle(page)
    comment = page.locator(".cell_input .c1", has_text="(1797, 64), (1797,)").first
    assert comment.evaluate("(e) => e.getClientRects().length") == 1
    box = comment.bounding_box()
    assert box["height"] < 24
    assert box["x"] + box["width"] < PHONE["width"]
    page.close()


def test_a_call_that_is_too_long_breaks_behind_its_bracket():
    """Check where a line of code may break, and that it may not in an index."""
    code = (HTML / "chapters/17_gram.html").read_text("utf-8")
    marks = ["Linear(\N{BULLET}64", "x[:1400]"]
    lines = re.findall(
        r'<span class="line".*?\n</span>', code.replace("<wbr>", "\N{BULLET}"), re.S
    )
    text = unescape(re.sub("<[^>]*>", "", "".join(lines)))
    assert all(mark in text for mark in marks)
    assert "[\N{BULLET}" not in text.replace("([\N{BULLET}", "")
    assert "(\N{BULLET})" not in text


def test_no_code_is_cut_in_the_error_index(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/reference/errors.html")
    settle(page)
    outside = """(all) => all.filter((code) => {
      const [a, b] = [code, code.closest("section")].map((e) => e.getBoundingClientRect());
      return a.left < b.left - 1 || a.right > b.right + 1;
    }).length"""
    assert page.eval_on_selector_all("#error-index section section pre", outside) == 0
    page.close()


INDENTED = r"""(lines) => lines.filter((line) => line.textContent.trim()).map((line) => {
  const range = document.createRange();
  const text = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const seen = (node) => node.data.trim() && node.parentElement.getClientRects().length;
  while (text.nextNode() && !seen(text.currentNode));
  const at = text.currentNode.data.search(/\S/);
  range.setStart(text.currentNode, at);
  range.setEnd(text.currentNode, at + 1);
  const [start, block] = [range, line.parentElement].map((e) => e.getBoundingClientRect().left);
  return [parseInt(line.style.getPropertyValue("--in") || 0), Math.round(start - block)];
})"""


def test_code_on_a_phone_keeps_every_level_of_its_indentation(chromium, address):
    page = chromium.new_page(viewport=PHONE)
    page.goto(f"{address}/chapters/06_build_your_own.html")
    settle(page)
    block = page.locator("pre", has_text="def backward(tape, cts)").first
    starts = dict(block.locator(".line").evaluate_all(INDENTED))
    page.close()
    assert sorted(starts) == [0, 4, 8, 12, 16, 20]
    steps = {starts[4 * k + 4] - starts[4 * k] for k in range(5)}
    assert min(steps) > 10
    assert max(steps) - min(steps) <= 1


# Whether what tells the answer is in sight: what cells print, from the box to the mark at the end;
# and all that stands there from the first of it, or from the answer, on.
LEAKS = """() => [...document.querySelectorAll(".predict")].flatMap((box) => {
  const found = [];
  for (let e = box.nextElementSibling; !e.matches(".told"); e = e.nextElementSibling) {
    if (found.length || e.matches(".dropdown")) found.push(e);
    else found.push(...e.querySelectorAll(".cell_output"));
  }
  return found.filter((e) => !e.matches(".covered-note")).map((e) => e.checkVisibility());
})"""


def test_a_guess_is_pressed_and_stays_and_what_tells_comes_after_it(chromium, address):
    told, boxes, context = [], 0, chromium.new_context()
    for path in sorted((HTML / "chapters").glob("*.html")):
        page = context.new_page()
        page.goto(f"{address}/chapters/{path.name}")
        settle(page)
        for box in page.locator(".predict").all():
            boxes += 1
            told += [path.name] if any(page.evaluate(LEAKS)) else []
            choices = box.get_by_role("group", name="Your guess").get_by_role("button")
            letters = [text[:3] for text in choices.all_inner_texts()]
            assert letters == [f"({letter})" for letter in "abcde"[: len(letters)]], path.name
            assert not any(text.strip()[-1] in ";." for text in choices.all_inner_texts())
            choices.last.press("Enter")
            choices.first.click(force=True)  # too late
            assert choices.last.get_attribute("aria-pressed") == "true"
            assert "your guess" in choices.last.inner_text()
            assert "guess" not in choices.first.inner_text()
            kinds = choices.last.get_attribute("class").split()
            assert ("missed" in kinds) != ("answer" in kinds)
            assert all(page.evaluate(LEAKS)), path.name
            right = box.locator(".answer").inner_text()[:3]
            answer = page.locator(".predict ~ .dropdown:not(.toggle-hidden) > :nth-child(2)")
            assert answer.first.inner_text().startswith(right)
        page.emulate_media(media="print")
        assert page.locator(".choices:visible").count() == 0
        assert page.locator(".predict").count() == page.locator(".as-choices:visible").count()
        page.close()
    context.close()
    assert told == []
    assert boxes >= 15
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/chapters/14_privacy.html")
    assert all(page.evaluate(LEAKS))
    assert page.get_by_text("(a) with probability").is_visible()
    context.close()


FOLDS = """() => [...document.querySelectorAll("article :is(.dropdown > :first-child, summary)")]
  .filter((e) => e.checkVisibility()).map((e) => ["background", "font", "padding", "color"]
    .map((x) => getComputedStyle(e)[x]) + getComputedStyle(e.parentElement).border)"""


def test_every_fold_looks_the_same_and_a_click_on_its_title_unfolds_it(chromium, address):
    page, looks = chromium.new_page(), set()
    for name in ("chapters/01_one_gradient_per_sample", "reference/frameworks"):
        page.goto(f"{address}/{name}.html")
        settle(page)
        looks |= set(page.evaluate(FOLDS))
        for title in page.locator("article .dropdown > .admonition-title:visible").all():
            title.click(position={"x": 140, "y": 20})  # on a link in it
        assert page.locator("article .toggle-hidden:visible").count() == 0
    assert len(looks) == 1
    page.locator("button.copybtn:visible").first.press("Enter")
    page.locator("button.copybtn:focus").wait_for()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_works_from_a_folder(chromium, scripts):
    """Check that live figures appear if scripts run, and that the console shows no error."""
    build, linearity = "chapters/06_build_your_own.html", "chapters/04_gradient_linearity.html"
    for name in ("index.html", linearity, build):
        context = chromium.new_context(java_script_enabled=scripts)
        page = context.new_page()
        errors = []
        page.on("console", lambda m, e=errors: e.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error, e=errors: e.append(str(error)))
        page.goto((HTML / name).as_uri())
        for box in page.locator(".live").all():
            assert box.is_visible() == scripts
            assert box.locator("svg:visible").count() == int(scripts)
        still = page.locator("article .still")  # their pictures are not
        assert still.count() == page.locator(".live").count() > 0
        for media in ("screen", "print"):
            page.emulate_media(media=media)
            for picture in still.all():
                assert picture.is_visible() == (media == "print" or not scripts)
        context.close()
        assert errors == []
