"""The page of the package's names is complete, and the text's names lead to it."""

import re

import book_api
import pytest
from bs4 import BeautifulSoup

import persample as ps
from support import ROOT

HTML = ROOT / "_build" / "html"

pytestmark = pytest.mark.site
PAGE = HTML / book_api.PAGE
MODULES = {"engine", "privacy", "recorder", "statistics", "tape"}


def test_every_public_name_has_its_entry_and_names_in_the_text_lead_there():
    page = BeautifulSoup(PAGE.read_text("utf-8"), "html.parser")
    public = {f"persample.{name}" for name in ps.__all__ if name not in MODULES}
    for module in (ps.statistics, ps.privacy, ps.recorder):
        public |= {f"{module.__name__}.{name}" for name in module.__all__ if name != "record"}
    public |= {f"persample.engine.{name}" for name in ps.engine.__all__ if name.islower()}
    entries = {tag["id"]: tag for tag in page.select("dt[id^='persample.']")}
    assert public - set(entries) == set()
    for name, tag in entries.items():
        assert len(tag.find_next_sibling("dd").get_text(" ", strip=True)) >= 20, name
    entry = entries["persample.per_sample_grad"].find_next_sibling("dd")
    fields = [dt.get_text(strip=True).rstrip(":") for dt in entry.select("dl.field-list > dt")]
    assert fields == ["Parameters", "Returns", "Raises", "Example"]
    places, links = {tag["id"] for tag in page.select("[id]")}, 0
    for path in [*HTML.glob("chapters/*.html"), *HTML.glob("reference/*.html")]:
        text = path.read_text("utf-8")
        for place in re.findall(r'href="[^"]*api\.html#(persample\.[\w.]+)"', text):
            assert place in places, (path.name, place)
            links += 1
    assert links > 20
