"""A pasted error message finds its entry of the error index first, and opens there."""

from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import HTML, settle

pytestmark = pytest.mark.site

# As people paste them: class name, own shapes, numbers, advice and all -> the title it must find.
PASTED = {
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": (
        "element 0 of tensors"
    ),
    "AttributeError: 'NoneType' object has no attribute 'norm'": "NoneType",
    "train.py:12: UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being"
    " accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed"
    " want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on it.": (
        "The .grad attribute of a Tensor"
    ),
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.35 GiB. GPU 0 has a total"
    " capacity of 23.65 GiB of which 512.00 MiB is free.": "CUDA out of memory",
    "ValueError: vmap: Expected all tensors to have the same size in the mapped dimension, got"
    " sizes [17, 5] for the mapped dimension": "vmap: Expected all tensors",
    "TypeError: Gradient only defined for scalar-output functions. Output had shape: (128, 3).": (
        "Gradient only defined"
    ),
    "ValueError: per_sample_grad: the loss my_loss returned an array of shape (12,) for one"
    " sample; it must return one number, a 0-d array": "the loss … returned an array",
    "leaf Variable that requires grad": "a leaf Variable",
}


def opened(chromium, search: str, query: str) -> tuple[str, bool, bool]:
    """Search, follow the first result: its title, whether it is in view, whether it is marked."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{search}?q={quote(query)}")
    page.wait_for_selector("#search-results a", timeout=20_000)
    first = page.locator("#search-results a").first
    title = first.inner_text()
    first.click()
    page.wait_for_load_state("load")
    settle(page)
    heading = page.locator("section:target > :is(h2, h3)").first
    marked = heading.count() == 1 and heading.evaluate(
        "(e) => getComputedStyle(e).backgroundColor !== 'rgba(0, 0, 0, 0)'"
    )
    seen = heading.count() == 1 and 0 <= heading.bounding_box()["y"] < 600
    page.close()
    return title, seen, marked


def test_a_pasted_message_finds_its_entry_first_and_other_words_find_none(chromium, address):
    page = chromium.new_page()
    page.goto(f"{address}/search.html")
    page.wait_for_function("!!window.bookFind")
    find = "(queries) => queries.map((q) => bookFind(q).map((e) => e.title))"
    found = dict(zip(PASTED, page.evaluate(find, list(PASTED)), strict=True))
    others = ["batch size of the run", "how to plot a figure", "noise scale"]
    none = page.evaluate(find, others)
    page.close()
    wrong = {
        text: titles for text, titles in found.items() if PASTED[text] not in "".join(titles[:1])
    }
    assert wrong == {}
    assert none == [[], [], []]


@pytest.mark.parametrize("served", [True, False])
def test_the_entry_opens_in_view_and_marked_from_a_folder_too(chromium, address, served):
    text = list(PASTED)[5 * served]
    search = f"{address}/search.html" if served else (HTML / "search.html").as_uri()
    title, seen, marked = opened(chromium, search, text)
    assert PASTED[text] in title
    assert (seen, marked) == (True, True)


def test_a_word_whose_stem_is_a_stop_word_is_found(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/search.html?q=being+clipped")  # "being" has the stem "be"
    page.wait_for_selector("#search-results ul.search a", timeout=20_000)
    page.close()
