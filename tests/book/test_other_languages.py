"""The built pages in other languages: their translated text, and files shared with English."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from book_translation import ROOT, SEARCH, code, languages, pages
from browser import HTML, settle
from bs4 import BeautifulSoup

pytestmark = pytest.mark.site
SHOWN = [(language, name) for language in languages(ROOT) for name in pages(ROOT, language)]
READ = [(language, name) for language, name in SHOWN if name != SEARCH]
FOUND = {"逐样本梯度": "01_one", "叶子张量": "03_leaf", "动态图": "02_dyn", "静态图": "02_dyn"}
HAN = re.compile(r"[\u4e00-\u9fff]")


def parsed(path: str) -> BeautifulSoup:
    return BeautifulSoup((HTML / path).read_text(encoding="utf-8"), "html.parser")


def texts(soup: BeautifulSoup, selector: str) -> list[str]:
    return [tag.get_text() for tag in soup.select(f"article :is({selector})")]


@pytest.mark.parametrize(("language", "name"), SHOWN)
def test_a_page_and_its_english_one_lead_to_each_other(language, name):
    ours, lang = f"{code(language)}/{name}.html", language.replace("_", "-")
    there = {"en": HTML / f"{name}.html", lang: HTML / ours}
    for mine, other in (("en", lang), (lang, "en")):
        path = there[mine]
        soup = parsed(path.relative_to(HTML).as_posix())
        assert soup.html["lang"] == mine
        (switch,) = soup.select("a.language")
        assert (switch["hreflang"], switch["lang"]) == (other, other)
        assert (path.parent / switch["href"]).resolve() == there[other]
        alternate = {link["hreflang"]: link["href"] for link in soup.select("link[hreflang]")}
        assert {key: (path.parent / to).resolve() for key, to in alternate.items()} == there


def test_a_page_in_english_alone_leads_to_the_first_page_of_the_other_languages():
    with_one = {name for _, name in SHOWN}
    for path in HTML.rglob("*.html"):
        name = path.relative_to(HTML).with_suffix("").as_posix()
        if name.split("/")[0] in {"_static", *map(code, languages(ROOT))} or name in with_one:
            continue
        soup = parsed(f"{name}.html")
        switches = soup.select("a.language")
        assert all(switch["title"] for switch in switches)
        assert not soup.select("link[hreflang]"), name
        there = [(path.parent / switch["href"]).resolve() for switch in switches]
        assert there == [HTML / code(one) / "index.html" for one in languages(ROOT)], name


@pytest.mark.parametrize(("language", "name"), READ)
def test_a_page_has_the_code_the_outputs_and_the_formulas_of_the_english_one(language, name):
    ours, english = parsed(f"{code(language)}/{name}.html"), parsed(f"{name}.html")
    for selector in ("pre", ".cell_output", "code.literal", ".math"):
        found, wanted = texts(ours, selector), texts(english, selector)
        assert sorted(found) == sorted(wanted), selector
    for selector in ("section", "figure, img", "table", "td", "dl dt", ".admonition", ".live"):
        assert len(ours.select(selector)) == len(english.select(selector)), selector
    ids = [{tag["id"] for tag in soup.select("article [id]")} for soup in (ours, english)]
    assert ids[0] == ids[1]
    assert "**" not in "".join(texts(ours, "p, li, td, dt"))
    assert [tag["alt"] for tag in ours.select("article img") if not HAN.search(tag["alt"])] == []


@pytest.mark.parametrize(("language", "name"), READ)
def test_a_link_to_an_english_page_says_so(language, name):
    here = HTML / code(language)
    soup = parsed(f"{code(language)}/{name}.html")
    links = [a for a in soup.select("a[href]") if re.match(r"[^:#]+\.html", a["href"])]
    assert len(links) > 30
    for link in links:
        target = (here / name).parent / link["href"].partition("#")[0]
        is_here = target.resolve().is_relative_to(here.resolve())
        assert is_here != (link.get("hreflang") == "en"), link
        # A citation, and a name in code, are in English anyway.
        is_short = "bibliography.html#" in link["href"] or link.find("code", recursive=False)
        if not is_here and not is_short and "language" not in link.get("class", []):
            assert "英文" in link.get_text(), link


@pytest.mark.parametrize(("language", "name"), SHOWN)
def test_what_a_page_says_besides_its_text_is_in_its_language(chromium, address, language, name):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/{code(language)}/{name}.html")
    settle(page)
    said = page.evaluate(
        """() => [...document.querySelectorAll("body *")].flatMap((e) => [
          ...["aria-label", "title", "placeholder"].map((name) => e.getAttribute(name)),
          e.matches("button, summary, label, .caption-text, .admonition-title, .live text")
            && !e.closest("pre, mjx-container") ? e.textContent : ""])"""
    )
    words = {text.strip() for text in said if text and re.search("[A-Za-z]{4}", text)}
    assert {text for text in words if not HAN.search(text)} <= {"English", ".grad"}
    if page.locator(".predict").count():
        box = page.locator(".predict").first
        box.get_by_role("button").first.click()
        assert "你的猜测" in box.inner_text()
    link = page.locator("article a[data-about][href*='glossary.html#']")
    if link.count():
        assert HAN.search(link.first.get_attribute("data-about"))
    page.close()


@pytest.mark.parametrize("site", ["search.html", "zh/search.html"])
def test_chinese_words_find_their_page_first(chromium, address, site):
    page = chromium.new_page()
    page.goto(f"{address}/{site}")
    page.wait_for_function("!!window.bookFind")
    ask = "(q) => bookFind(q).map(({places}) => places[0].id)"
    found = {word: page.evaluate(ask, word) for word in FOUND}
    assert {word: ids[0] for word, ids in found.items() if FOUND[word] not in ids[0]} == {}
    page.locator("main input[type=search]").fill("逐样本梯度")
    page.locator("#search-results a").first.click()
    page.wait_for_url("**/zh/chapters/01_one_gradient_per_sample.html*")
    page.close()


def test_an_english_question_finds_english_pages_and_on_the_chinese_site_what_is_there(
    chromium, address
):
    ask = "(q) => bookFind(q).map(({places}) => places[0].id)"
    for site, own in (("", "chapters/05_td0"), ("zh/", "zh/chapters/05_td0")):
        page = chromium.new_page()
        page.goto(f"{address}/{site}search.html")
        page.wait_for_function("!!window.bookFind")
        assert any(id.startswith(own) for id in page.evaluate(ask, "pseudo-loss TD error"))
        assert any("12_whole" in id for id in page.evaluate(ask, "GradScaler"))
        ids = page.evaluate(ask, "vmap")
        assert not {f"zh/{id}" for id in ids} & set(ids)
        page.close()
