"""A sample of the generated calls of `make fuzz`, and faults planted for the harness to notice."""

import json
from collections import Counter

import fuzz
import fuzz_calls
import fuzz_modules
import numpy as np
import pytest
import torch
from figures import FOLDER
from fuzz_outcomes import FAILED, REFUSED, RIGHT, judged

import persample as ps
from persample.recorder import rules

SAMPLE, SEED = 150, 7


def without_jax(monkeypatch):
    """JAX compiles each operation for each shape: half of the time for one call of thirty."""
    monkeypatch.setattr(fuzz_calls, "SHARES", (0.69, 0.31, 0.0))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """The arrays are small: more threads would only wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def count(numbers, seed=SEED):
    return Counter(outcome.kind for _, outcome, _ in fuzz.run(numbers, seed))


def test_a_sample_of_the_calls(monkeypatch, capsys):
    without_jax(monkeypatch)
    results = fuzz.run(range(SAMPLE), SEED)
    counts = fuzz.report(results, SEED)
    assert counts[FAILED] == 0, capsys.readouterr().out
    assert counts[RIGHT] + counts[REFUSED] == SAMPLE
    assert counts[RIGHT] > SAMPLE / 2  # not everything is refused
    assert counts[REFUSED] > SAMPLE / 10  # and some of it is wrong


def test_a_call_follows_from_its_number(monkeypatch):
    without_jax(monkeypatch)
    numbers = (3, 5, 11, 12)
    assert [fuzz.judge(n, SEED) for n in numbers] == [fuzz.judge(n, SEED) for n in numbers]
    assert len({fuzz.judge(n, SEED).what for n in numbers}) == len(numbers)


# Planted faults. Each must turn some of the sample's calls into failures.
def test_rows_wrong_by_a_thousandth_are_noticed(monkeypatch):
    without_jax(monkeypatch)
    true = ps.per_sample_grad

    def wrong(*given, **options):
        rows_of = true(*given, **options)
        if options.get("has_aux"):
            return rows_of
        scaled = lambda rows: ps.trees.tree_map(lambda g: 1.001 * g, rows)  # noqa: E731
        return lambda *arguments, **more: scaled(rows_of(*arguments, **more))

    monkeypatch.setattr(fuzz_calls.ps, "per_sample_grad", wrong)
    assert count(range(2, 62, 5))[FAILED] >= 1


def test_a_rule_of_a_layer_wrong_by_a_thousandth_is_noticed(monkeypatch):
    rule = rules.RULES["AddmmBackward0"][2]
    wrong = rules.Rule(
        lambda use, ct, saved: rule.make(use, ct * 1.001, saved), rule.needs, rule.fits
    )
    monkeypatch.setitem(rules.RULES["AddmmBackward0"], 2, wrong)
    assert count(n for n in range(60) if n % 5 < 2)[FAILED] >= 2


def test_a_bare_error_inside_the_package_is_noticed(monkeypatch):
    without_jax(monkeypatch)

    def broken(where, in_axes, count):
        return {}["in_axes"]

    monkeypatch.setattr(ps.checks, "axes_of", broken)
    results = fuzz.run(range(2, 42, 5), SEED)
    texts = [outcome.text for _, outcome, _ in results if outcome.kind == FAILED]
    assert any(text.startswith("bare error: KeyError") for text in texts)


def test_an_answer_where_a_refusal_is_needed_is_noticed():
    outcome = judged("", lambda: None, must_refuse=True)
    assert (outcome.kind, outcome.text) == (
        FAILED,
        "answered in silence, where a refusal is needed",
    )


@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError])
def test_an_error_from_elsewhere_is_no_documented_one(error):
    def fail():
        raise error("per_sample_grad: a sentence that sounds as if it were the package's own.")

    assert judged("", fail).kind == FAILED


def test_an_error_of_the_package_is_a_documented_one():
    theta, x, y = np.ones(3), np.ones((4, 3)), np.ones(5)
    refused = lambda: ps.per_sample_grad(ps.squared_loss)(theta, x, y)  # noqa: E731
    assert judged("", refused).kind == REFUSED
    assert judged("", refused, may_refuse=False).kind == FAILED


def test_nan_in_one_sample_hides_no_wrong_row_of_another():
    good = torch.tensor([[1.0], [2.0]])
    spread = torch.tensor([[torch.nan], [torch.nan]])  # 0 times NaN, in the oracle
    mine = torch.tensor([[torch.nan], [2.0]])
    fuzz_modules.near("row", mine, spread, 1e-6, clean=good)
    with pytest.raises(fuzz_modules.Wrong):
        fuzz_modules.near("row", mine * 1.01, spread, 1e-6, clean=good)


def test_the_stored_figures_are_those_of_a_whole_run():
    stored = (FOLDER / "fuzz.json").read_text(encoding="utf-8")
    figures = dict(json.loads(stored)["figures"])
    numbers = [int(text.replace(",", "")) for text in figures.values()]
    assert numbers[0] == fuzz.CALLS == sum(numbers[1:])
    assert numbers[-1] == 0
