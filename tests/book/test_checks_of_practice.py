"""The checks of chapters 11 to 18 reject each wrong answer and accept the folded solution."""

import contextlib
import sys
from types import ModuleType

import nbformat
import pytest

from support import ROOT
from support.pages import run
from support.wrong_answers_of_practice import FORMS, RIGHT, WRONG

PAGES = sorted(ROOT.glob("chapters/1[1-8]_*.ipynb"))


def test_each_has_three_wrong_answers_or_more():
    cells = [cell for page in PAGES for cell in nbformat.read(page, as_version=4).cells]
    assert {cell.id for cell in cells} >= WRONG.keys() >= RIGHT.keys() | FORMS.keys()
    assert len(WRONG) == sum("<!-- exercise: " in cell.source for cell in cells)
    assert all(len(answers) >= 3 for answers in WRONG.values())


@pytest.mark.slow
@pytest.mark.usefixtures("own_settings")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_wrong_answer_passes_and_the_solution_does(page, monkeypatch):
    if page.stem.endswith("many_devices"):
        monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
        if len(pytest.importorskip("jax").devices()) < 2:
            pytest.skip("JAX has started with one device: run this test alone")
    monkeypatch.chdir(page.parent)
    module = ModuleType(page.stem)
    monkeypatch.setitem(sys.modules, page.stem, module)
    names, check, before = vars(module), None, ""
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type == "markdown":
            if check and ("<!-- exercise" in cell.source or "## Sources" in cell.source):
                run(RIGHT.get(check.id, ""), names)
                assert run(check.source, names).startswith("right"), check.id
                for answer in FORMS.get(check.id, []):
                    run(answer, names)
                    assert run(check.source, names).startswith("right"), answer
                check = None
            continue
        if cell.source.startswith("%%") or "subprocess" in cell.source:
            continue
        if cell.id in WRONG:
            check = cell
            for answer, said in WRONG[cell.id]:
                run(before, names)
                run(answer, names)
                found = run(cell.source, names)
                assert said in found, answer
                assert not found.startswith("right"), answer
            continue
        before = cell.source
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            with contextlib.suppress(*[AssertionError] * ("check(wrong" in cell.source)):
                run(cell.source, names)
