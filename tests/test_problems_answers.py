"""Answers of a small policy and groups of them: listed against brute force and exact fractions."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from persample_book.problems import answers


@pytest.mark.parametrize(("words", "limit"), [(1, 1), (1, 3), (2, 3), (3, 2)])
def test_every_answer_is_there_once(words, limit):
    found = answers.listed(words, limit)
    complete = set()
    for tokens in product(range(words + 1), repeat=limit):  # cut after the first END
        complete.add(tokens[: tokens.index(0) + 1] if 0 in tokens else tokens)
    assert len(found) == len(set(found))
    assert set(found) == complete
    assert [len(answer) for answer in found] == sorted(len(answer) for answer in found)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_groups_are_those_of_all_orders(size):
    p = [Fraction(3, 8), Fraction(15, 64), Fraction(75, 512), Fraction(125, 512)]
    wanted = Counter()
    for group in product(range(4), repeat=size):
        chance = Fraction(1)
        for answer in group:
            chance *= p[answer]
        wanted[tuple(sorted(group))] += chance
    members, chance = answers.groups(np.array([float(x) for x in p]), size)
    assert sum(wanted.values()) == 1
    assert {tuple(group) for group in members.tolist()} == set(wanted)
    assert len(members) == len(wanted)
    for group, found in zip(members.tolist(), chance, strict=True):
        assert abs(found - float(wanted[tuple(group)])) < 1e-15


def test_the_orders_of_a_large_group_may_exceed_an_integer():
    members, chance = answers.groups(np.array([0.25, 0.75]), 80)  # 80! / (40! 40!) > 2**63
    assert chance.dtype == np.float64
    exactly = [comb(80, k) * Fraction(3, 4) ** k / Fraction(4) ** (80 - k) for k in range(81)]
    assert np.array_equal(members.sum(axis=1), np.arange(81))
    np.testing.assert_allclose(chance, [float(q) for q in exactly], rtol=1e-12)


def exact(credit_of, divisor_of, size=4):
    """Return the gradient and an estimate's expectation, in fractions, for P(a) = 5/8."""
    P = Fraction(5, 8)
    q, p = 1 - P, [1 - P, P * (1 - P), P * P * (1 - P), P**3]
    row = [-P, q - P, 2 * q - P, 3 * q]
    reward, length = [1, 0, 0, 1], [1, 2, 3, 3]
    expected = Fraction(0)
    for group in product(range(4), repeat=size):
        chance = Fraction(1)
        for answer in group:
            chance *= p[answer]
        r, n = [reward[o] for o in group], [length[o] for o in group]
        for i, o in enumerate(group):
            expected += chance * Fraction(credit_of(r, i)) / divisor_of(n, i) * row[o]
    return sum(a * b * c for a, b, c in zip(p, reward, row, strict=True)), expected


def test_in_fractions_leaving_out_is_unbiased_and_the_mean_takes_a_quarter():
    others = lambda r, i: r[i] - Fraction(sum(r) - r[i], len(r) - 1)  # noqa: E731
    mean = lambda r, i: r[i] - Fraction(sum(r), len(r))  # noqa: E731
    truth, found = exact(others, lambda n, i: len(n))
    assert found == truth > 0
    assert exact(mean, lambda n, i: len(n))[1] == Fraction(3, 4) * truth
    assert exact(mean, lambda n, i: len(n) * n[i])[1] < 0  # each answer by its own length


def test_bad_input_gets_one_sentence():
    with pytest.raises(ValueError, match=r"words and limit must be at least 1, got 0 and 3"):
        answers.listed(0, 3)
    with pytest.raises(ValueError, match=r"size must be at least 1, got 0"):
        answers.groups(np.array([0.5, 0.5]), 0)
    with pytest.raises(ValueError, match=r"got an array of shape \(2, 2\)"):
        answers.groups(np.full((2, 2), 0.25), 2)


@pytest.mark.parametrize("p", [[0.4, 0.5], [1.5, -0.5], [np.nan, 1.0], [np.inf, 0.0]])
def test_what_is_no_distribution_is_refused(p):
    with pytest.raises(ValueError, match=r"must be at least 0 and add up to 1, got a sum of"):
        answers.groups(np.array(p), 2)


def test_the_rounding_of_a_float32_softmax_is_taken_out():
    p = np.array([0.1, 0.2, 0.7], dtype=np.float32) * np.float32(1 + 3e-7)
    assert abs(p.astype(float).sum() - 1) > 1e-8
    assert abs(answers.groups(p, 3)[1].sum() - 1) < 1e-14
