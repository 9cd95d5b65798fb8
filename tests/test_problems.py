"""The problems of the pages, each computed by another route: PyTorch, enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from persample_book.problems import answers

# Answers of a small policy, and groups of them -----------------------------------------------


@pytest.mark.parametrize(("words", "limit"), [(1, 1), (2, 3), (3, 2)])
def test_every_answer_is_there_once(words, limit):
    found = answers.listed(words, limit)
    complete = set()
    for tokens in product(range(words + 1), repeat=limit):  # cut after the first END
        complete.add(tokens[: tokens.index(0) + 1] if 0 in tokens else tokens)
    assert len(found) == len(set(found))
    assert set(found) == complete


def test_groups_are_those_of_all_orders():
    p = [Fraction(3, 8), Fraction(15, 64), Fraction(75, 512), Fraction(125, 512)]
    wanted = Counter()
    for group in product(range(4), repeat=4):
        chance = Fraction(1)
        for answer in group:
            chance *= p[answer]
        wanted[tuple(sorted(group))] += chance
    members, chance = answers.groups(np.array([float(x) for x in p]), 4)
    assert {tuple(group) for group in members.tolist()} == set(wanted)
    for group, found in zip(members.tolist(), chance, strict=True):
        assert abs(found - float(wanted[tuple(group)])) < 1e-15
    with pytest.raises(ValueError, match="must be at least 0 and add up to 1, got a sum of"):
        answers.groups(np.array([1.5, -0.5]), 2)
