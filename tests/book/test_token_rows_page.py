"""Claims of chapter 16 about its stored run, and about token counts over many groups."""

import itertools
import re

import numpy as np

from support.pages import stored, text

TEXT = text("chapters/16_token_rows")
RUNS = stored("token_divisors")["runs"]
NAMES = {"before": "before", "constant": "constant", "all tokens": "all", "own tokens": "own"}


def test_the_table_is_what_was_measured():
    shown = re.findall(r"^\| (before|constant|all tokens|own tokens) \| (.*) \|$", TEXT, re.M)
    assert len(shown) == 4
    for name, cells in shown:
        wanted = []
        for task in ("told", "not told"):
            values = np.array(RUNS[task][NAMES[name]])[:, 1:]
            errors = values.std(0, ddof=1) / len(values) ** 0.5
            wanted += [f"{m:.2f} ± {e:.2f}" for m, e in zip(values.mean(0), errors, strict=True)]
        assert cells.split(" | ") == wanted


def test_the_divisor_shows_where_the_model_is_told_and_not_in_the_reward():
    own = np.array(RUNS["told"]["own"])
    assert len(own) == 8
    assert own[:, 1].max() < 2.1
    assert own[:, 2].min() > 7.7
    for name in ("constant", "all"):
        apart = np.diff(np.array(RUNS["told"][name])[:, 1:])[:, 0]
        assert apart.mean() < 2 * apart.std(ddof=1) / 8**0.5
    for runs in RUNS.values():
        shares = {name: np.mean(runs[name], 0)[0] for name in runs}
        assert round(100 * shares.pop("before")) == 37
        assert {round(100 * share) for share in shares.values()} <= {83, 84}
    for name in ("before", "constant", "all", "own"):
        assert abs(np.diff(np.array(RUNS["not told"][name])[:, 1:])).max() < 0.11


def test_a_count_of_many_groups_hardly_favours_a_length():
    """Compute, in the page's model, the extra reward of an answer of two tokens over four."""
    p, tokens = np.array([4, 2, 1, 1] * 2) / 16, np.array([2, 3, 4, 4] * 2)
    right = np.array([1.0] * 4 + [0.0] * 4)
    groups = np.array(list(itertools.product(range(8), repeat=4)))
    chance, count = p[groups].prod(1), tokens[groups].sum(1)
    credit = right[groups] - right[groups].mean(1, keepdims=True)
    rest, found = np.array([1.0]), {}
    for m in range(1, 33):
        counts = count[:, None] + np.arange(len(rest))
        weight = (chance * (rest / counts).sum(1))[:, None] * credit
        pay = [weight[groups == o].sum() / p[o] for o in (0, 3)]
        found[m] = pay[1] / pay[0]
        rest = np.convolve(rest, np.bincount(count, chance))
    shares = [f"{100 / found[m] - 100:.{places}f}" for m, places in ((1, 0), (4, 0), (32, 1))]
    said = r"paid (\S+) % more than a 42 .* this is (\S+) %, with 128 it is (\S+) %"
    assert list(re.search(said, TEXT).groups()) == shares
