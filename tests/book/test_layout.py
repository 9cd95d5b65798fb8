"""Where things stand on the built pages: terms, sources and contents beside the text, figures."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import HTML, pages, settle

from support.screens import PHONE, drawn

pytestmark = pytest.mark.site


def test_the_list_of_pages_shows_the_page_that_one_is_on(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    for name in ("chapters/18_fisher", "chapters/01_one_gradient_per_sample", "reference/errors"):
        page.goto(f"{address}/{name}.html")
        settle(page)
        entry = page.locator("#pst-primary-sidebar .current.active").bounding_box()
        assert 0 <= entry["y"] <= 800 - entry["height"], name
    page.close()


def test_a_term_says_what_it_means_on_hover_with_the_keys_and_at_a_tap(chromium, address):
    context = chromium.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(f"{address}/chapters/02_dynamic_vs_static_graphs.html")
    settle(page)
    link, meaning = page.locator("article a[data-about]").nth(2), page.locator(".meaning")
    before, about = page.url, link.get_attribute("data-about")
    for show in (link.hover, link.tap):
        show()
        assert meaning.inner_text().startswith(about.replace("`", ""))
        page.keyboard.press("Escape")
        assert not meaning.is_visible()
    assert page.url == before
    link.tap()
    link.tap()
    page.wait_for_url("**/glossary.html#*")
    context.close()


@pytest.mark.parametrize(
    "name", ["17_gram.html#term-Gram-matrix", "15_influence.html#term-leverage"]
)
def test_a_meaning_with_a_formula_is_typeset_on_hover_with_the_keys_and_at_a_tap(
    chromium, address, name
):
    name, term = name.split("#")
    context = chromium.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(f"{address}/chapters/{name}")
    settle(page)
    link, meaning = page.locator(f"article p a[href$={term}]").first, page.locator(".meaning")
    for show in (link.hover, link.tap, link.focus):
        if show == link.focus:
            page.keyboard.press("Tab")
        show()
        meaning.locator("mjx-container").first.wait_for()
        assert not re.search(r"[\\^_`$]", meaning.inner_text())
        box = meaning.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        page.keyboard.press("Escape")
        page.mouse.move(0, 0)
    context.close()


SHOWN = "getComputedStyle(document.querySelector('.page-toc')).opacity == 1"
COLUMN = """() => {
  const column = document.querySelector(".bd-sidebar-secondary");
  const c = column.getBoundingClientRect();
  const end = c.top + column.scrollHeight;
  const beside = [...document.querySelectorAll("article :is(.beside, .live-wide)")].some((e) => {
    const b = e.getBoundingClientRect(), passed = e.matches(".beside") || b.bottom > c.top;
    return b.height && b.right > c.left && b.top < end && passed;
  });
  return [column.classList.contains("hide"), beside];
}"""


def test_the_contents_stand_open_at_first_and_fold_from_the_first_note_on(chromium, address):
    page, folded = chromium.new_page(), 0
    screens = [{"width": width, "height": 800} for width in (1280, 1600)]
    scroll = "(top) => scrollTo({top, behavior: 'instant'})"
    for name in (name for name in pages() if name.startswith("chapters/")):
        page.goto(f"{address}/{name}")
        settle(page)
        for screen in screens:
            page.set_viewport_size(screen)
            page.evaluate(scroll, 0)
            drawn(page)
            page.wait_for_function(SHOWN)
            assert page.evaluate(COLUMN) == [False, False], name
            for top in range(200, 2000, 300):
                page.evaluate(scroll, top)
                drawn(page)
                hides, beside = page.evaluate(COLUMN)
                assert hides == beside, (name, top)
                folded += hides
    assert folded > 20
    page.goto(f"{address}/chapters/17_gram.html")
    settle(page)
    for screen in screens:
        page.set_viewport_size(screen)
        states = []
        for top in range(0, 9000, 150):
            page.evaluate(scroll, top)
            drawn(page)
            states.append(page.evaluate(COLUMN)[0])
        assert states == sorted(states)  # they fold once
    page.close()


NOTES = """() => {
  const notes = [...document.querySelectorAll("article div.beside")];
  const shown = notes.filter((e) => e.checkVisibility());
  const edge = document.querySelector("article p").getBoundingClientRect().right;
  const boxes = shown.map((e) => e.getBoundingClientRect());
  return {
    count: shown.length,
    inside: boxes.every((b) => b.left > edge && b.right <= document.documentElement.clientWidth),
    apart: boxes.every((b, i) => !i || b.top >= boxes[i - 1].bottom),
  };
}"""


COVERED = """() => {
  const notes = [...document.querySelectorAll("article div.beside")];
  const covers = (a, b) => a.width && a.left < b.right && b.left < a.right
    && a.top < b.bottom && b.top < a.bottom;
  return [...document.querySelectorAll(".page-toc .nav-link")].filter((e) => {
    const box = e.getBoundingClientRect();
    return e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && box.width
      && notes.some((note) => covers(note.getBoundingClientRect(), box));
  }).map((e) => e.textContent);
}"""


@pytest.mark.parametrize("name", ["01_one_gradient_per_sample", "14_privacy"])
def test_terms_and_sources_stand_in_the_margin_where_there_is_one(chromium, address, name):
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{address}/chapters/{name}.html")
    settle(page)
    links = page.locator("article section > p a[data-about]")
    targets = {link.get_attribute("href") for link in links.all()}
    targets = {target for target in targets if "reference/api" not in target}
    assert page.locator("article div.beside[data-of*='reference/api']").count() == 0
    found = page.evaluate(NOTES)
    assert found["inside"]
    assert found["apart"]
    assert found["count"] >= len(targets)
    # A formula is typeset as in the glossary; a note in sight needs no second box.
    notes = page.locator("article div.beside", has=page.locator("mjx-container"))
    assert name != "01_one_gradient_per_sample" or notes.count()
    note = page.locator("article div.beside[data-of*=glossary]").first
    link = page.locator(f"article a[href='{note.get_attribute('data-of')}']").first
    link.hover()
    assert not page.locator(".meaning").is_visible()
    assert "lit" in note.get_attribute("class")
    # The contents of the page do not stand behind a note.
    page.locator("article div.beside").last.evaluate("(e) => e.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(500)
    assert page.evaluate(COVERED) == []
    for size in (PHONE, {"width": 1100, "height": 800}):
        page.set_viewport_size(size)
        assert page.evaluate(NOTES)["count"] == 0
    page.close()


MARKED = "() => [...document.querySelectorAll('.page-toc a.active')].map((e) => e.hash)"
READ = """() => {
  const heads = [...document.querySelectorAll("article section section > :is(h2, h3)")];
  const above = heads.filter((e) => e.getBoundingClientRect().top <= innerHeight / 3);
  return above.length ? [`#${above.at(-1).parentElement.id}`] : [];
}"""


def test_the_contents_mark_the_section_that_is_read_downwards_and_upwards(chromium, address):
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{address}/chapters/02_dynamic_vs_static_graphs.html")
    settle(page)
    height = page.evaluate("document.documentElement.scrollHeight") - 900
    steps = [height * i // 12 for i in range(12)]
    for top in [*steps, *reversed(steps)]:
        page.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
        page.wait_for_timeout(80)
        if height - top > 600:
            assert page.evaluate(MARKED) == page.evaluate(READ), top
    page.evaluate(f"scrollTo({{top: {height + 900}, behavior: 'instant'}})")
    page.wait_for_timeout(80)
    assert page.evaluate(MARKED) == ["#sources"]
    for name in ("summary", "what-becomes-of-an-if"):  # the one asked for, wherever it stands
        page.locator(f".page-toc a[href='#{name}']").click()
        page.wait_for_timeout(600)
        assert page.evaluate(MARKED) == [f"#{name}"]
    page.close()


AS_IT_COMES = """() => document.querySelectorAll(".live").forEach((box) => {
  for (const part of ["picture", "words", "controls"]) box.querySelector(`.live-${part}`).remove();
  box.hidden = true;
})"""


def test_a_live_figure_has_its_room_before_it_comes_and_fits_a_screen(chromium, address):
    """Check, in each language, that its box has the same height before and after its script."""
    wrong, widths, page = {}, (1280, 390), chromium.new_page()
    for name in pages():
        if '<div class="live' not in (HTML / name).read_text(encoding="utf-8"):
            continue
        page.goto(f"{address}/{name}")
        heights = []
        for width in (*widths, *reversed(widths)):
            page.set_viewport_size({"width": width, "height": 900})
            drawn(page)
            boxes = page.locator(".live").all()
            heights.append([box.bounding_box()["height"] for box in boxes])
            if len(heights) == 2:
                page.evaluate(AS_IT_COMES)
        for desk, phone, phone_before, desk_before in zip(*heights, strict=True):
            if abs(desk - desk_before) > 30 or abs(phone - phone_before) > 30:
                wrong[name] = heights
            elif desk > 800 - 72:  # below the head of the page
                wrong[name] = desk
            elif phone > 780:  # of a phone
                wrong[name] = phone
    page.close()
    assert wrong == {}


BESIDE = """(down) => {
  const box = document.querySelector(".live-wide");
  scrollBy({top: box.getBoundingClientRect().top - down, behavior: "instant"});
  return new Promise((done) => setTimeout(() => {
    const a = box.getBoundingClientRect();
    const meets = [...document.querySelectorAll("div.beside, .page-toc .nav-link")].filter((e) => {
      const b = e.getBoundingClientRect();
      return e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && b.width
        && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    });
    done([a.width, meets.map((e) => e.textContent)]);
  }, 600));
}"""


@pytest.mark.parametrize("width", [1280, 1500])
def test_a_wide_live_figure_has_the_margin_to_itself(chromium, address, width):
    wide = [
        n for n in pages() if 'class="live live-wide"' in (HTML / n).read_text(encoding="utf-8")
    ]
    assert wide
    for name in wide:
        page = chromium.new_page(viewport={"width": width, "height": 800})
        page.goto(f"{address}/{name}")
        settle(page)
        for down in (500, 250, 70, -200):
            across, meets = page.evaluate(BESIDE, down)
            assert across > 800
            assert meets == [], (name, down)
        page.close()
