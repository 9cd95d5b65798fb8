"""The pages work by keyboard, by touch and on a small screen."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import nbformat
from browser import HTML, pages, settle

pytestmark = pytest.mark.site
PAGE = "chapters/07_grad_troubles.html"

# Every place that the Tab key comes to, and whether a ring shows there.
RINGS = """
() => {
  const e = document.activeElement, style = getComputedStyle(e);
  const seen = e.getBoundingClientRect().width > 0 && e.checkVisibility({checkOpacity: true});
  return [e.tagName, e.className, e.getAttribute("href") ?? "",
    seen && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
}
"""


@pytest.fixture(scope="module")
def page(chromium, address):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.goto(f"{address}/{PAGE}")
    settle(opened)
    yield opened
    context.close()


def test_a_ring_shows_wherever_the_tab_key_comes(page):
    stops = []
    for _ in range(90):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(RINGS))
    assert [stop for stop in stops if not stop[3]] == []
    classes = " ".join(stop[1] for stop in stops)
    for name in ("headerlink", "copybtn", "dropdown-toggle", "theme-switch-button"):
        assert name in classes


def test_the_switch_of_the_theme_keeps_the_focus_and_says_what_it_is_set_to(page):
    switch = page.locator(".theme-switch-button").first
    switch.focus()
    for mode in ("dark", "light", "auto"):
        switch.press("Enter")
        page.wait_for_timeout(50)
        assert page.evaluate("document.activeElement.ariaLabel") == f"Color mode: {mode}"


def test_code_is_copied_without_prompts_and_results_are_not_for_copying(page, address):
    assert page.locator(".cell_output button.copybtn").count() == 0
    cells = page.locator(".cell_input").count()
    assert page.locator(".cell_input button.copybtn").count() == cells
    notebook = nbformat.read(HTML.parents[1] / "chapters/07_grad_troubles.ipynb", as_version=4)
    first = page.locator(".cell:not(details *) > .cell_input").nth(3)
    first.hover()
    first.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()").strip()
    assert copied in [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    page.goto(f"{address}/reference/api.html")
    settle(page)
    block = page.locator("div.highlight", has=page.locator(".gp")).first
    assert ">>> " in block.inner_text()
    block.hover()
    block.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("import numpy as np")
    assert ">>>" not in copied
    assert "array(" not in copied.splitlines()[-1]


def test_a_finger_sees_copy_buttons_and_no_permalinks(chromium, address):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{address}/{PAGE}")
    settle(page)
    shown = page.eval_on_selector_all(
        ".cell_input button.copybtn", "(all) => all.map((e) => +getComputedStyle(e).opacity)"
    )
    assert min(shown) > 0.5
    links = page.locator("article h2 > .headerlink")
    assert links.count()
    assert not any(link.is_visible() for link in links.all())
    context.close()


PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("name", ["chapters/14_privacy", "reference/questions", "index"])
def test_the_menu_of_a_phone_opens_at_the_page_that_one_is_on(chromium, address, name):
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/{name}.html")
    settle(page)
    page.locator(".primary-toggle").first.tap()
    entries = page.locator("#pst-primary-sidebar-modal li.current.active > a")
    box = entries.first.bounding_box()
    assert 0 <= box["y"] <= PHONE["height"] - box["height"]
    other = page.locator("#pst-primary-sidebar-modal li:not(.current) > a").first
    weight = "(e) => getComputedStyle(e).fontWeight"
    assert int(entries.first.evaluate(weight)) > int(other.evaluate(weight))
    context.close()


def test_the_error_index_lists_its_messages_and_a_tap_leads_to_one(chromium, address):
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/reference/errors.html")
    settle(page)
    fold, link = page.locator(".messages"), page.locator(".messages a", has_text="CUDA out of")
    assert fold.bounding_box()["y"] < PHONE["height"]
    assert fold.bounding_box()["height"] < 70
    assert "Ctrl" not in page.locator("article").inner_text()
    headings = page.locator("#error-index > section > section > h3")
    assert page.locator(".messages li li a").count() == headings.count() > 100
    page.locator(".messages .admonition-title").tap()
    link.tap()
    page.wait_for_timeout(300)
    heading = page.locator(":target > h3")
    assert heading.inner_text().startswith("CUDA out of memory")
    assert 0 <= heading.bounding_box()["y"] < 400
    context.close()


def test_links_to_terms_say_what_they_mean():
    text = "".join((HTML / name).read_text(encoding="utf-8") for name in pages() if "/" in name)
    links = re.findall(r"<a [^>]*glossary[.]html#term-[^>]*>", text)
    said = [link for link in links if re.search(r' title="[^"]{30,}"', link)]
    assert len(said) == len(links) > 20
