"""What the chapter on influence functions says beyond its own run: other splits, and a network."""

import json
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = nbformat.read(ROOT / "chapters/14_influence.ipynb", as_version=4)


def test_the_table_of_the_network_is_what_was_measured():
    stored = json.loads((ROOT / "benchmarks/results/attribution.json").read_text())["scores"]
    text = "\n".join(cell.source for cell in PAGE.cells if cell.cell_type == "markdown")
    table = text.split("| mean of five |")[1].split("\n\n")[0]
    lines = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) ?\|$", table, re.MULTILINE)
    assert len(lines) == len(stored) == 8
    for (_, *shown), found in zip(lines, stored.values(), strict=True):
        cells = [f"{mean:.2f} ± {error:.2f}" for mean, error in found.values()]
        assert [cell.strip("*") for cell in shown if cell] == cells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_other_splits_are_as_the_page_says(capsys, monkeypatch):
    """Runs the page's own cells up to the table, with other random numbers."""
    plt = pytest.importorskip("matplotlib.pyplot")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(plt, "show", plt.close)
    cells = [cell.source for cell in PAGE.cells if cell.cell_type == "code"]
    last = next(i for i, source in enumerate(cells) if "for name, rule in rules.items()" in source)
    program = "\n".join(source for source in cells[: last + 1] if "persample_book" not in source)
    dtype = torch.get_default_dtype()
    for seed, mended, asked, net in ((1, 20, 30, -0.5), (2, 26, 40, -0.9), (3, 27, 35, 0.3)):
        other = program.replace("default_rng(0)", f"default_rng({seed})").replace("41", str(asked))
        try:
            exec(other, {})
        finally:
            torch.set_default_dtype(dtype)
            plt.close("all")
        printed = capsys.readouterr().out
        assert f"{asked} misread" in printed
        words = {line.rsplit(None, 2)[0]: line.split()[-2:] for line in printed.splitlines()[-7:]}
        assert words["influence"] == [str(mended), f"{net:+.1f}"]
        assert int(words["product of rows"][0]) <= mended - 10
        assert int(words["empirical Fisher"][0]) >= mended - 4
