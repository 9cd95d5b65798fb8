"""The page of the package's names is complete, and the text's names lead to it."""

import re
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "_ext"))

import book_api  # noqa: E402

import persample as ps  # noqa: E402

pytestmark = pytest.mark.site
MODULES = {"engine", "privacy", "recorder", "statistics", "tape"}


def page() -> BeautifulSoup:
    return BeautifulSoup((HTML / book_api.PAGE).read_text("utf-8"), "html.parser")


def test_every_public_name_has_its_entry():
    public = {f"persample.{name}" for name in ps.__all__ if name not in MODULES}
    public |= {f"persample.statistics.{name}" for name in ps.statistics.__all__}
    public |= {f"persample.privacy.{name}" for name in ps.privacy.__all__}
    public |= {f"persample.recorder.{name}" for name in ps.recorder.__all__ if name != "record"}
    public |= {f"persample.engine.{name}" for name in ps.engine.__all__ if name.islower()}
    described = {}
    for entry in page().select("dt[id^='persample.']"):
        described[entry["id"]] = entry.find_next_sibling("dd").get_text(" ", strip=True)
    assert public - set(described) == set()
    assert [name for name, text in described.items() if len(text) < 20] == []


def test_parameters_results_and_examples_are_shown():
    entry = page().find(id="persample.per_sample_grad").find_next_sibling("dd")
    fields = [dt.get_text(strip=True).rstrip(":") for dt in entry.select("dl.field-list > dt")]
    assert fields == ["Parameters", "Returns", "Raises", "Example"]
    assert [dt.get_text() for dt in entry.select("dl.field-list dd dl.simple > dt")][:2] == [
        "loss",
        "in_axes",
    ]
    assert entry.select(".gp")
    assert "|" in page().find(id="persample.statistics.norms").find_next_sibling("dd").get_text()


def test_names_in_the_text_lead_there():
    places = {tag["id"] for tag in page().select("[id]")}
    links = 0
    for path in [*HTML.glob("chapters/*.html"), *HTML.glob("reference/*.html")]:
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser").find("article")
        for link in soup.select("a[href*='api.html#persample.']"):
            assert link["href"].partition("#")[2] in places
            links += 1
        for code in soup.select("p > code.docutils, li > code.docutils"):
            name = re.match(r"ps\.(\w+)", code.get_text())
            if name and f"persample.{name[1]}" in places and path.name != "api.html":
                pytest.fail(f"{path.name}: {code.get_text()} has no link")
    assert links > 20


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["Return |g_i|, ``|x|``."], [r"Return \|g_i\|, ``|x|``."]),
        (["See `Record`."], ["See ``Record``."]),
        (
            ["Parameters", "----------", "x : (d,)", "    features"],
            ["", ":Parameters:", "", "    ``x``", "        (d,)", "        features", ""],
        ),
        (["Source: Sutton (1988)."], ["", ":Source: Sutton (1988).", ""]),
    ],
)
def test_a_docstring_is_rewritten(given, made):
    assert book_api.rewritten(given) == made
