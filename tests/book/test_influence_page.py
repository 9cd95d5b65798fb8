"""Claims of the chapter on influence functions about other splits and about a network."""

import json
import re

import nbformat
import pytest

from support import ROOT

PAGE = nbformat.read(ROOT / "chapters/15_influence.ipynb", as_version=4)


def test_the_table_of_the_network_is_what_was_measured():
    stored = json.loads((ROOT / "benchmarks/results/attribution.json").read_text())["scores"]
    text = "\n".join(cell.source for cell in PAGE.cells if cell.cell_type == "markdown")
    table = text.split("| mean of five |")[1].split("\n\n")[0]
    lines = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) ?\|$", table, re.MULTILINE)
    assert len(lines) == len(stored) == 8
    for (_, *shown), found in zip(lines, stored.values(), strict=True):
        cells = [f"{mean:.2f} ± {error:.2f}" for mean, error in found.values()]
        assert [cell.strip("*") for cell in shown if cell] == cells


def program_of_the_page():
    """Return the page's own code up to the table of simpler scores."""
    cells = [cell.source for cell in PAGE.cells if cell.cell_type == "code"]
    last = next(i for i, source in enumerate(cells) if "for name, rule in rules.items()" in source)
    return "\n".join(source for source in cells[: last + 1] if "persample_book" not in source)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_an_opponent_takes_its_part_of_the_curvature_with_it(monkeypatch):
    """Without that part in H, the estimates for single opponents are nearer to the new fits."""
    plt = pytest.importorskip("matplotlib.pyplot")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(plt, "show", plt.close)
    dtype, page = torch.get_default_dtype(), {}
    try:
        exec(program_of_the_page(), page)
        H, x, rows, theta, missed = (page[n] for n in ("H", "x", "rows", "theta", "missed"))
        single = page["lowest"](page["score"], 1)
        real = page["own_loss"](page["without"](single)) - page["before"]
        plain, corrected = [], []
        for i, j in zip(single[:, 0], missed, strict=True):
            chances = (theta @ x[i]).softmax(0)
            part = torch.kron(chances.diag() - chances.outer(chances), x[i].outer(x[i]))
            plain.append(page["score"][i, j])
            corrected.append(torch.linalg.solve(H - part, rows[i]) @ page["tests"][j])
    finally:
        torch.set_default_dtype(dtype)
        plt.close("all")
    errors = [(torch.stack(said) - real).abs().mean() for said in (plain, corrected)]
    assert (real < torch.stack(plain)).sum() > 30
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_other_splits_are_as_the_page_says(capsys, monkeypatch):
    """Runs the page's own cells up to the table, with other random numbers."""
    plt = pytest.importorskip("matplotlib.pyplot")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(plt, "show", plt.close)
    program = program_of_the_page()
    dtype = torch.get_default_dtype()
    splits = ((1, 20, 30, -0.5, -0.6), (2, 26, 40, -0.9, 0.0), (3, 27, 35, 0.3, 0.6))
    for seed, mended, asked, net, net_at_random in splits:
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
        assert words["random wrong label"][1] == f"{net_at_random:+.1f}"
        assert int(words["product of rows"][0]) <= mended - 10
        assert int(words["empirical Fisher"][0]) >= mended - 4
