"""The digits with wrong labels: what the opening chapter claims, for ten other draws."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from persample_book.problems import mistyped


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
    for i in (0, 5, 1796):
        row = flat(alone := cross_entropy(model(x[i : i + 1]), y[i : i + 1]))
        np.testing.assert_allclose(found["row norm"][i], row.norm(), rtol=1e-9)
        np.testing.assert_allclose(found["loss"][i], alone.item(), rtol=1e-9)


def test_the_scores_along_a_training_are_those_of_one_image_alone():
    """By autograd, one image at a time, over three steps."""
    given, found = mistyped.along(3, steps=3)
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    rng = mistyped.draw(3).rng
    model = mistyped.new_model(rng)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)

    def seen(model, i):
        scores = model(x[i : i + 1])
        loss = cross_entropy(scores, y[i : i + 1])
        row = torch.cat([g.flatten() for g in torch.autograd.grad(loss, [*model.parameters()])])
        error = cross_entropy(leaf := scores.detach().requires_grad_(), y[i : i + 1])
        return loss.item(), torch.autograd.grad(error, leaf)[0].norm().item(), row @ row

    images, passed = (0, 5, 1796), []
    for _ in range(3):
        passed.append([seen(model, i) for i in images])
        optimiser.zero_grad()
        cross_entropy(model(x), y).backward()
        optimiser.step()
    starts = [mistyped.new_model(rng) for _ in range(5)]
    for k, i in enumerate(images):
        loss, error, square = seen(model, i)
        wanted = {
            "loss": loss,
            "loss, mean of all steps": np.mean([p[k][0] for p in passed]),
            "EL2N": error,
            "row norm": square**0.5,
            "TracIn with itself": sum(p[k][2] for p in passed),
            "GraNd, untrained": np.mean([seen(start, i)[2] ** 0.5 for start in starts]),
        }
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name][i], float(value), rtol=1e-8, err_msg=name)


def test_a_choice_is_judged_by_images_it_has_not_seen():
    """All 1,400, and all without a wrong label, trained anew by an optimiser."""
    found = mistyped.chosen(1, steps=4)
    given = mistyped.draw(1)
    order = given.rng.permutation(1797)
    begin = mistyped.new_model(given.rng).state_dict()
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    seen, other = order[:1400], order[1400:]
    for name, images in (
        ("all", seen),
        ("without every wrong label", seen[~given.wrong[seen]]),
    ):
        model = mistyped.new_model(given.rng)
        model.load_state_dict(begin)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(4):
            optimiser.zero_grad()
            cross_entropy(model(x[images]), y[images]).backward()
            optimiser.step()
        right = model(x[other]).argmax(1).numpy() == given.digits[other]
        assert found[name] == pytest.approx(100 * right.mean())


def test_what_the_choices_leave_out(monkeypatch):
    """The sizes of the training sets, seen by the loss."""
    sizes = []
    real = torch.nn.functional.cross_entropy

    def counted(scores, y, **options):
        sizes.append(len(y))
        return real(scores, y, **options)

    monkeypatch.setattr(torch.nn.functional, "cross_entropy", counted)
    mistyped.chosen(2, steps=1)
    wrong = mistyped.draw(2)
    seen = wrong.rng.permutation(1797)[:1400]
    assert sizes[-7:] == [1400, 980, 980, 980, 1330, 1330, 1400 - wrong.wrong[seen].sum()]
