"""Claims of chapter 14 that its cells do not run: stored numbers, Opacus, a noise attack."""

import math
import re

import numpy as np
import pytest
from citations import in_brackets

from support import ROOT, pages
from support.pages import stored

PAGE = "chapters/14_privacy"
PROMISED = 1.99309  # exact, of a hundred steps with all samples and a noise multiplier of 20


@pytest.fixture(scope="module")
def text():
    return pages.text(PAGE)


def test_the_accountants_are_those_that_were_run(text):
    peers = stored("private_peers")
    found, versions = peers["epsilon"]["sampled"], peers["versions"]
    assert found["RDP, Opacus"] == found["RDP, dp-accounting"] == pytest.approx(2.597, abs=5e-4)
    assert f"Opacus {versions['opacus']} and dp-accounting {versions['dp-accounting']}" in text
    less = 1 - found["PLD, dp-accounting"] / found["RDP, dp-accounting"]
    other = 1 - found["PRV, Opacus"] / found["RDP, Opacus"]
    assert round(100 * less) == round(100 * other)
    assert f"PLD {in_brackets('dpaccounting')}, one that is {100 * less:.0f} % lower" in text
    assert peers["epsilon"]["full batch"]["PLD, dp-accounting"] == pytest.approx(
        PROMISED, abs=2e-3
    )
    assert max(peers["clipped sums"].values()) < 3e-6  # Opacus adds 1e-6 to a norm


def test_the_lines_for_opacus_are_those_that_were_run(text):
    program = (ROOT / "benchmarks/private_opacus.py").read_text(encoding="utf-8")
    run = re.search(r"# \[opacus\]\n(.*?) +# \[end\]", program, re.DOTALL).group(1)
    lines = "".join(line.removeprefix("    ") for line in run.splitlines(keepends=True))
    assert f"```python\n{lines}```" in text
    found = stored("private_opacus")["found"]
    assert 1.95 < found["epsilon"] <= 2  # the page asks for 2
    divisors = {n: of["divisor"] for n, of in found["by number of samples"].items()}
    assert divisors == {"999": 99, "1000": 100, "1001": 91}  # the number of samples is told


def told_at_least(ratio, numbers, delta=1e-5):
    """Return a lower bound on epsilon at ``delta`` if a sample scales the variance by ``ratio``.

    It is that of the best threshold on the mean square of ``numbers`` entries, with exact
    chi-square tails.
    """
    chi2 = pytest.importorskip("scipy.stats").chi2
    p = np.geomspace(1.001 * delta, 0.5, 2000)
    high, low = chi2.isf(p, numbers), chi2.ppf(p, numbers)
    others = chi2.logsf(high * ratio, numbers), chi2.logcdf(low / ratio, numbers)
    return (np.log(p - delta) - np.minimum(*others)).max()


@pytest.mark.parametrize(
    ("power", "mistake"), [(2, "divided by the number"), (1, "noise on each")]
)
def test_the_size_of_the_noise_tells_the_number_of_samples(text, power, mistake):
    numbers = 100 * 650
    error = 64 * np.sqrt(2 / numbers) / power  # of the number that is read off
    assert re.search(rf"\| {mistake}.*? to ±{error:.1f} \|", text)
    assert told_at_least((65 / 64) ** power, numbers) > 7 * PROMISED
    assert told_at_least(1.0, numbers) < 0.1


def log_mean_power(order, q, sigma):
    """Return log A(order), the log-moment of the sampled Gaussian (Mironov et al., 2019)."""
    terms = [
        math.log(math.comb(order, k))
        + k * math.log(q)
        + (order - k) * math.log1p(-q)
        + k * (k - 1) / (2 * sigma**2)
        for k in range(order + 1)
    ]
    return np.logaddexp.reduce(terms)


def accountant_of_the_page():
    """Return the names defined by the page's three cells on the accountant."""
    page = {"np": np} | vars(math)
    for source in [cell.source for cell in pages.cells(PAGE)]:
        if source.startswith(("def log_ratio", "def log_mean_power", "def accountant")):
            exec(source.split("\nprint(")[0], page)
    return page


def test_the_page_s_accountant_agrees_with_the_maintained_ones():
    bound = accountant_of_the_page()["accountant"](256 / 60_000, 1.1, 14_062)
    found = stored("private_peers")["epsilon"]["sampled"]
    assert bound == pytest.approx(found["RDP, dp-accounting"], abs=5e-4)


@pytest.mark.parametrize(("q", "sigma"), [(256 / 60_000, 1.1), (0.1, 4.3), (0.1, 0.5), (0.9, 20)])
def test_the_sum_over_a_grid_is_the_binomial_sum(q, sigma):
    page = accountant_of_the_page()
    for order in range(2, 65):
        exact = log_mean_power(order, q, sigma)
        assert page["log_mean_power"](order, q, sigma) == pytest.approx(exact, abs=1e-10)


def test_the_shares_of_the_private_trainings_are_what_was_run(text):
    found = stored("private_start")
    page = found["by number of public images"]["57"]
    assert f"read about {100 * page['both']:.0f} % right" in text
    assert max(page["public alone"], page["private alone"]) < page["both"]
    others = found["eight other splits, 57 public images"]
    assert f"on eight other splits {100 * others['both']:.1f} %" in text
    price = found["price"]
    assert f"average {100 * price['epsilon 1']['mean']:.1f} %" in text
    no_noise = price["no noise, by step size"]["8.0"]
    assert 7 < 100 * (no_noise - price["epsilon 1"]["mean"]) < 8.5
    assert "about eight points" in text
