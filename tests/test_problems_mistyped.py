"""The digits with wrong labels: what the opening chapter claims, for ten other draws."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from persample.book.problems import mistyped


def test_a_draw_changes_ninety_labels_and_each_to_another_digit():
    first, second = mistyped.draw(0), mistyped.draw(1)
    assert first.wrong.sum() == mistyped.WRONG
    assert (first.labels != second.labels).sum() == (first.wrong ^ second.wrong).sum() + (
        (first.labels != second.labels) & first.wrong & second.wrong
    ).sum()
    assert set(first.labels) == set(range(10))


@pytest.mark.parametrize("seed", range(1, 11))
def test_the_norms_find_most_of_the_wrong_labels(seed):
    found = mistyped.hits(seed)
    assert found["row norm"] >= 0.6 * mistyped.WRONG
    assert found["loss"] >= found["row norm"]


def test_the_scores_are_those_of_one_image_alone():
    given, found = mistyped.scores(3, steps=2)
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    model = mistyped.new_model(mistyped.draw(3).rng)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        optimiser.zero_grad()
        cross_entropy(model(x), y).backward()
        optimiser.step()
    flat = lambda loss: torch.cat(  # noqa: E731
        [g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]
    )
    mean = flat(cross_entropy(model(x), y))
    for i in (0, 5, 1796):
        row = flat(cross_entropy(model(x[i : i + 1]), y[i : i + 1]))
        np.testing.assert_allclose(found["row norm"][i], row.norm(), rtol=1e-9)
        np.testing.assert_allclose(found["harm"][i], -row @ mean, rtol=1e-7, atol=1e-10)
