"""Claims of the chapter on influence functions about other splits and about a network."""

import re

import pytest

from support.pages import cells, stored, text

PAGE = "chapters/15_influence"


def test_the_table_of_the_network_is_what_was_measured():
    scores = stored("attribution")["scores"]
    table = text(PAGE).split("| mean of five |")[1].split("\n\n")[0]
    lines = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) ?\|$", table, re.MULTILINE)
    assert len(lines) == len(scores) == 8
    for (_, *shown), found in zip(lines, scores.values(), strict=True):
        wanted = [f"{mean:.2f} ± {error:.2f}" for mean, error in found.values()]
        assert [cell.strip("*") for cell in shown if cell] == wanted


def program_of_the_page():
    """Return the page's source up to the table of simpler scores, without persample_book."""
    code = [cell.source for cell in cells(PAGE) if cell.cell_type == "code"]
    last = next(i for i, source in enumerate(code) if "for name, rule in rules.items()" in source)
    return "\n".join(source for source in code[: last + 1] if "persample_book" not in source)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.usefixtures("own_settings")
def test_an_opponent_takes_its_part_of_the_curvature_with_it():
    """Compare estimates for single opponents, with and without their part of H, with refits."""
    torch, page = pytest.importorskip("torch"), {}
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
    errors = [(torch.stack(said) - real).abs().mean() for said in (plain, corrected)]
    assert (real < torch.stack(plain)).sum() > 30
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.usefixtures("own_settings")
def test_other_splits_are_as_the_page_says(capsys):
    """Run the page's code up to the table with other seeds, and compare what it prints."""
    torch, program = pytest.importorskip("torch"), program_of_the_page()
    dtype = torch.get_default_dtype()
    splits = ((1, 20, 30, -0.5, -0.6), (2, 26, 40, -0.9, 0.0), (3, 27, 35, 0.3, 0.6))
    for seed, mended, asked, net, net_at_random in splits:
        other = program.replace("default_rng(0)", f"default_rng({seed})").replace("41", str(asked))
        torch.set_default_dtype(dtype)
        exec(other, {})
        printed = capsys.readouterr().out
        assert f"{asked} misread" in printed
        words = {line.rsplit(None, 2)[0]: line.split()[-2:] for line in printed.splitlines()[-7:]}
        assert words["influence"] == [str(mended), f"{net:+.1f}"]
        assert words["random wrong label"][1] == f"{net_at_random:+.1f}"
        assert int(words["product of rows"][0]) <= mended - 10
        assert int(words["empirical Fisher"][0]) >= mended - 4
