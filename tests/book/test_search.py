"""Plain questions find their page and section; a pasted error message finds its entry first."""

import json
import re
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import book_search
from browser import HTML, settle
from bs4 import BeautifulSoup

from support.error_triggers import TRIGGERS, message
from support.errors_page import PAGE

pytestmark = pytest.mark.site
QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))
ENOUGH = 32  # of 35
# As people paste them: own numbers, advice and all.
PASTED = {
    "train.py:12: UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being"
    " accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed"
    " want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on it.": (
        "The .grad attribute of a Tensor"
    ),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.35 GiB. GPU 0 has a total"
    " capacity of 23.65 GiB of which 512.00 MiB is free.": "CUDA out of memory",
    "leaf Variable that requires grad": "a leaf Variable",
}
# What readers typed and did not find, or did not find first, and the pages that have it.
TYPED = {
    "equinox": "recipes|frameworks",
    "haiku": "frameworks",
    "WGAN": "libraries|12_",
    "discriminator": "libraries",
    "siamese": "04_|libraries",
    "contrastive": "04_|libraries",
    "ensemble": "15_|recipes",
    "offload": "11_|13_",
    "weight_norm": "libraries|12_",
    "TraceContextError": "errors",
    "unbound axis name": "13_",
    "optimizer in backward": "errors|11_",
    "list of losses": "04_|recipes",
    "eligibility": "10_",
    "notebook gradients": "02_",
    "interference": "10_|17_",
    "pseudo batch REINFORCE": "05_|16_",
    "MindSpore per-sample-gradients": "published_pages|frameworks",
    "vmap over LSTM does not work": "errors|libraries",
    "jax recompiles every call slow": "02_",
    "does Opacus support MultiheadAttention": "libraries",
    # One letter wrong, left out or in another place, and a word that is not yet whole.
    "grdient per smaple": "01_|recipes|index",
    "per-sample gradeint": "01_|recipes|index",
    "discriminatr": "libraries",
    "influenc": "15_",
    "interferen": "10_|17_",
    "elig": "10_",
}


# What asks how to do it finds a chapter first, not a message that has the words.
ASKED = ["clip gradients per sample", "per-sample clipping", "grad is None"]


def letters(text: str) -> str:
    return re.sub("[^a-z]", "", text.lower())


@pytest.fixture(scope="module")
def find(chromium, address):
    """Yield a function of queries; for each it returns the first places on the top two pages."""
    page = chromium.new_page()
    page.goto(f"{address}/search.html")
    page.wait_for_function("!!window.bookFind")
    ask = """(queries) => queries.map((q) => bookFind(q).slice(0, 2).map(({places}) =>
      places.slice(0, 3).map(({id, heading}) => [id, heading])))"""
    yield lambda queries: page.evaluate(ask, list(queries))
    page.close()


def test_a_plain_question_finds_its_page_among_two_and_the_place_in_it(find):
    missed = []
    for (question, answer), found in zip(QUESTIONS.items(), find(QUESTIONS), strict=True):
        page, place = answer.split("#")
        ids = [id for places in found for id, _ in places if f"/{page}.html" in id]
        if not any(re.search(place, id.partition("#")[2]) for id in ids):
            missed.append(question)
    assert len(QUESTIONS) - len(missed) >= ENOUGH, missed


def test_who_asks_how_to_do_it_finds_a_chapter_first(find):
    assert [found[0][0][0].startswith("chapters/") for found in find(ASKED)] == [True] * len(ASKED)


def test_what_readers_typed_finds_its_page_among_three(chromium, address):
    page = chromium.new_page()
    page.goto(f"{address}/search.html")
    page.wait_for_function("!!window.bookFind")
    ask = "(q) => bookFind(q).slice(0, 3).map(({places}) => places[0].id)"
    found = {typed: page.evaluate(ask, typed) for typed in TYPED}
    missed = {t: ids for t, ids in found.items() if not re.search(TYPED[t], " ".join(ids))}
    assert missed == {}
    # While one types: sections by name, the words marked, nothing that only the source has.
    page.locator("main input[type=search]").press_sequentially("clipped sum")
    links = page.locator("#search-results li:first-child a")
    title, *others = links.all_inner_texts()
    assert ": " in title
    assert others
    assert not any(title.startswith(text) for text in others)
    page_name = title.partition(": ")[0]  # it is named once
    assert not any(text.startswith(f"{page_name}: ") for text in others)
    assert page.locator("#search-results li a mark").count()
    assert {"clipped", "sum"} <= {m.lower() for m in page.locator("mark").all_inner_texts()}
    # In the dialog of any page, and in the box of the error index, from a folder too.
    page.goto((HTML / "reference/errors.html").as_uri())
    settle(page)
    page.get_by_label("Paste your message").fill("RuntimeError: CUDA out of memory. Tried 7 GiB")
    page.get_by_role("link", name="CUDA out of memory").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("ghost nor")
    page.locator("dialog .found a").first.wait_for()
    page.close()


def test_every_message_finds_its_entry_first(find):
    """Search for all messages with a trigger, unchanged and with other numbers and names."""
    raised = {name: ": ".join(message(name)) for name in TRIGGERS}
    assert sum(name.startswith(("torch.", "jax.")) for name in raised) >= 40
    others = [re.sub(r"\d+", "17", text).replace("<lambda>", "step") for text in raised.values()]
    wrong = {}
    for said in (raised.values(), others):
        for name, (((_, heading), *_), *_) in zip(raised, find(said), strict=True):
            before = PAGE[: PAGE.index("\n", PAGE.index(f"% quote: {name}\n") + len(name) + 12)]
            entry = before.rpartition("\n### ")[2].partition("\n")[0]
            if letters(heading) != letters(entry):
                wrong[name] = heading, entry
    assert wrong == {}
    for text, (((_, heading), *_), *_) in zip(PASTED, find(PASTED), strict=True):
        assert PASTED[text] in heading


@pytest.mark.parametrize("typed", ["clip", "clipp", "Clipping"])
def test_a_term_finds_its_meaning_then_the_page_that_explains_it_and_exercises_last(
    chromium, address, typed
):
    page = chromium.new_page()
    page.goto(f"{address}/search.html?q={typed}")
    page.locator("#search-results a").first.wait_for()
    found = page.evaluate("(q) => bookFind(q).map(({places}) => places.map(({id}) => id))", typed)
    (first, *_), (second, *_), *_ = found
    assert first == "reference/glossary.html#term-clipping"
    assert second.startswith("chapters/01_")
    assert any("#exercises" in ids[-1] for ids in found)
    assert not any("#exercises" in id for ids in found for id in ids[:-1])
    marks = page.locator("#search-results mark").all_inner_texts()
    assert {mark.lower()[:4] for mark in marks} == {"clip"}
    page.close()


def test_a_place_with_one_of_two_mistyped_words_does_not_answer(find):
    (pages,) = find(["diferential privcy"])
    assert len(pages) == 2
    assert all("privacy" in places[0][0] for places in pages)
    assert not any("differentiated" in heading for places in pages for _, heading in places)


UNKNOWN = [
    "RuntimeError: flux capacitor overheated",
    "FileNotFoundError: [Errno 2] No such file or directory: 'train.csv'",
    "IndexError: list index out of range",
    "TypeError: 'int' object is not callable",
    "KeyError: 'loss'",
]


def test_a_message_without_an_entry_is_told_so_and_each_with_one_is_not(chromium, address):
    page = chromium.new_page()
    page.goto(f"{address}/reference/errors.html")
    box, found = page.get_by_label("Paste your message"), page.locator(".paste .found")
    known = [": ".join(message(name)) for name in TRIGGERS]
    box.fill("CUDA")
    found.get_by_role("link").first.wait_for()
    for texts, no_match in ((UNKNOWN, True), ([*known, *PASTED, "out of memory", "vmap"], False)):
        for text in texts:
            box.fill(text)
            page.wait_for_timeout(5)
            assert found.inner_text().startswith("No match: ") == no_match, text
            assert bool(found.locator("a").count()) != no_match, text
    page.close()


def test_what_is_shown_of_an_answer_is_said_of_it_and_no_list_of_words(chromium, address):
    page = chromium.new_page()
    page.goto(f"{address}/search.html?q=WGAN")
    page.locator("#search-results li").first.wait_for()
    assert "discriminator" not in page.locator("#search-results li").first.inner_text()
    page.goto(f"{address}/reference/errors.html")
    page.get_by_label("Paste your message").fill(
        "RuntimeError: Trying to backward through the graph a second time (or directly access"
        " saved tensors after they have already been freed). Specify retain_graph=True"
    )
    page.locator(".paste .found a").first.wait_for()
    assert page.locator(".paste .found a").count() <= 3
    marks = {mark.lower() for mark in page.locator(".paste mark").all_inner_texts()}
    assert not marks & {"not", "only", "the", "a"}
    page.close()


def test_the_arrow_keys_go_through_what_is_found_and_enter_opens_it(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    focus = "() => document.activeElement.textContent"
    page.goto(f"{address}/chapters/05_td0.html")
    settle(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("clipped sum")
    links = page.locator("#pst-search-dialog .found a")
    links.nth(2).wait_for()
    for key, at in (("Down", 0), ("Down", 1), ("Down", 2), ("Up", 1)):
        page.keyboard.press(f"Arrow{key}")
        assert page.evaluate(focus) == links.nth(at).text_content()
    target = links.nth(1).get_attribute("href").rpartition("/")[2]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.value") == "clipped sum"
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(f"**/{target}")
    page.goto(f"{address}/search.html?q=clipped+sum")
    page.locator("#search-results a").first.wait_for()
    page.locator("main input[type=search]").press("ArrowDown")
    assert page.evaluate(focus) == page.locator("#search-results a").first.text_content()
    page.close()


def test_a_search_says_that_it_searches_until_the_texts_have_come(chromium, address):
    page, held = chromium.new_page(), []
    page.route("**/book_search.js*", lambda route: held.append(route))
    page.goto(f"{address}/index.html")
    settle(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("clipping")
    found = page.locator("#pst-search-dialog .found")
    page.wait_for_function("document.querySelector('dialog .found').textContent !== ''")
    assert found.inner_text() == "Searching …"
    held[0].continue_()
    found.locator("a").first.wait_for()
    assert "Searching" not in found.inner_text()
    page.close()


def test_what_is_said_of_a_place_has_no_holes():
    said = (HTML / "_static/book_search.js").read_text("utf-8").partition(";\n")[0]
    places = json.loads(said.removeprefix("const bookPlaces = "))
    words = {place["place"]: place.get("words", "") for place in places if "/errors" not in place}
    assert "the A-split of ‹" in words[next(p for p in words if "not-held-fixed" in p)]
    # The words of a link are said once.
    said = {place["place"]: place.get("words", "") for place in places}
    graph = next(text for place, text in said.items() if "does-not-have-a-grad-fn" in place)
    assert graph.count("no graph") == 1
    cost = words[
        "chapters/01_one_gradient_per_sample.html#what-do-they-cost-and-where-is-the-trap"
    ]
    assert "Rows need B times the memory" in cost
    first = words["chapters/01_one_gradient_per_sample.html#one-gradient-for-each-sample"]
    assert "One sample, far from the line, turns the mean" in first  # words that set a figure
    assert not [place for place, text in said.items() if ",," in text]
    assert "\\" not in re.sub(r"\\n", "", cost)


@pytest.mark.parametrize(
    "said",
    [
        ("batchnorm", "batch norm", "BatchNorm", "batch_norm"),
        ("layernorm", "layer norm", "LayerNorm"),
        ("weight_norm", "weight norm", "weightnorm"),
        ("dataloader", "data loader", "DataLoader"),
    ],
)
def test_a_name_of_two_words_is_found_however_it_is_written(find, said):
    (first, *others) = find(said)
    assert first
    assert [found for found in others if found != first] == []
    assert find([re.split("[_ ]|norm|loader", said[0])[0]]) != [first]  # both words count


def test_no_answer_and_no_solution_is_shown_of_a_place():
    """Compare with the sentences that begin the answers and solutions of the pages."""
    places, said, answers = book_search.written(HTML), {}, 0
    for place in places:
        page = place["place"].partition("#")[0]
        said[page] = said.get(page, "") + place.get("words", "")
        assert not re.search(r"\([a-e]\)\. (Not|The average)", place.get("words", ""))
    for path in sorted((HTML / "chapters").glob("*.html")):
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for fold in soup.select("article .dropdown p:not(.admonition-title), .live details p"):
            first = " ".join(str(fold.contents[0].get_text()).split())
            if len(first) > 40:
                answers += 1
                assert first.replace("’", "'")[:40] not in said[f"chapters/{path.name}"].replace(
                    "’", "'"
                )
    assert answers > 30
    assert any("The average is" in place.get("folded", "") for place in places)


def test_a_table_says_what_its_cells_say():
    places = {place["place"]: place.get("words", "") for place in book_search.written(HTML)}
    update = next(
        text for name, text in places.items() if "05_td0.html#what-is-the-update" in name
    )
    assert "‹δ s›" in update
    assert "…" not in update
    assert book_search.plain(r"\|g\|\dots") == "…"
    assert book_search.plain(r"\tfrac12\delta^2 \cdot g_i") == "½δ² · gᵢ"


@pytest.mark.parametrize("served", [True, False])
def test_the_entry_opens_in_view_and_marked_from_a_folder_too(chromium, address, served):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    start = f"{address}/search.html" if served else (HTML / "search.html").as_uri()
    page.goto(f"{start}?q={quote(list(PASTED)[served])}")
    page.locator("#search-results a").first.click()
    page.wait_for_url("**/reference/errors.html#*")
    settle(page)
    heading = page.locator("section:target > :is(h2, h3)")
    assert heading.evaluate("(e) => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
    assert 0 <= heading.bounding_box()["y"] < 600
    assert page.locator(".highlighted").count() == 0
    page.close()
