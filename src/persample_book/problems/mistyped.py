"""Handwritten digits of which 5 % carry a wrong label, and rankings that look for these.

The opening chapter does the same step by step; here it is in one call, for any draw. Below that,
what the chapter on influence asks of the same images: other scores, and training on a part.
"""

from typing import Any, NamedTuple

import numpy as np

WRONG = 90  # labels changed, of 1,797
STEPS = 40
# Two scores closer than this could change places on another machine; rounding errors are below
# 1e-11 here.
MARGIN = 1e-9


class Draw(NamedTuple):
    images: np.ndarray  # (1797, 64), ink from 0 to 16
    digits: np.ndarray  # (1797,) what the images show
    labels: np.ndarray  # (1797,) as trained with
    wrong: np.ndarray  # (1797,) True where the label was changed
    rng: np.random.Generator


def draw(seed: int) -> Draw:
    """Return the digits of scikit-learn with 90 labels changed to another digit."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    changed = rng.choice(len(digits), WRONG, replace=False)
    labels = digits.copy()
    labels[changed] = (digits[changed] + rng.integers(1, 10, WRONG)) % 10
    return Draw(images, digits, labels, np.isin(np.arange(len(digits)), changed), rng)


def new_model(rng: np.random.Generator) -> Any:
    """Return a float64 network 64-32-10 whose weights NumPy has drawn."""
    import torch

    layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    model = torch.nn.Sequential(*layers).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(size=p.shape) / p.shape[-1] ** 0.5))
    return model


def scores(seed: int, steps: int = STEPS) -> tuple[Draw, dict[str, np.ndarray]]:
    """Train on one draw; return it, and the row norm and loss of every image, (1797,) each."""
    import torch
    from torch.nn.functional import cross_entropy

    import persample as ps

    given = draw(seed)
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    model = new_model(given.rng)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(steps):
        optimiser.zero_grad()
        cross_entropy(model(x), y).backward()
        optimiser.step()
    with ps.record(model) as record:
        losses = cross_entropy(model(x), y, reduction="none")
        record.backward(losses)
    norms = np.sqrt(record.squared_norms().numpy())
    found = {"row norm": norms, "loss": losses.detach().numpy()}
    return given, found


def ranked(score: np.ndarray) -> np.ndarray:
    """Return the samples by their score, largest first."""
    return np.argsort(-score)


def hits(seed: int) -> dict[str, int]:
    """Return for each score how many of its first 90 images carry a wrong label."""
    given, found = scores(seed)
    return {name: int(given.wrong[ranked(score)[:WRONG]].sum()) for name, score in found.items()}


def along(seed: int, steps: int = STEPS) -> tuple[Draw, dict[str, np.ndarray]]:
    """Train on one draw; return it and scores of every image, (1797,) each, by their names.

    "TracIn with itself" adds up the squared row norms of all steps. "GraNd, untrained" is the row
    norm, averaged over five networks before their training. The others are what they are called.
    """
    import torch

    given = draw(seed)
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    model = new_model(given.rng)
    norms, losses = [], []
    for last in [False] * steps + [True]:
        of_images, errors, squares = _looked_at(model, x, y)
        if not last:
            norms.append(squares)
            losses.append(of_images)
            _step(model, of_images)
    starts = [_looked_at(new_model(given.rng), x, y)[2] ** 0.5 for _ in range(5)]
    found = {
        "loss": of_images,
        "loss, mean of all steps": sum(losses) / steps,
        "EL2N": errors,
        "row norm": squares**0.5,
        "TracIn with itself": sum(norms),
        "GraNd, untrained": sum(starts) / 5,
    }
    return given, {name: score.detach().numpy() for name, score in found.items()}


def _looked_at(model, x, y):
    """Return for every image its loss, the norm of its error (EL2N) and its squared row norm."""
    import torch
    from torch.nn.functional import cross_entropy, one_hot

    import persample as ps

    with ps.record(model) as record:
        scores = model(x)
        losses = cross_entropy(scores, y, reduction="none")
        record.backward(losses, retain_graph=True)
    errors = (torch.softmax(scores, 1) - one_hot(y, 10)).norm(dim=1)
    return losses, errors.detach(), record.squared_norms()


def _step(model, losses):
    import torch

    slopes = torch.autograd.grad(losses.mean(), list(model.parameters()))
    with torch.no_grad():
        for p, slope in zip(model.parameters(), slopes, strict=True):
            p -= 0.5 * slope


def chosen(seed: int, steps: int = STEPS) -> dict[str, float]:
    """Return for each choice of training images how many others are read rightly, in percent.

    Of the images 1,400 are for training, ranked by EL2N after 40 steps on all of them; each
    choice leaves some out and trains from the same start. The others are judged by what they show.

    Raises
    ------
    ArithmeticError : where two digits are too close to call, so that machines would differ.
    """
    import copy

    import torch
    from torch.nn.functional import cross_entropy

    given = draw(seed)
    order = given.rng.permutation(len(given.digits))
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    begin, seen, other = new_model(given.rng), order[:1400], order[1400:]

    def trained(images, steps):
        model = copy.deepcopy(begin)
        for _ in range(steps):
            _step(model, cross_entropy(model(x[images]), y[images], reduction="none"))
        return model

    errors = _looked_at(trained(seen, STEPS), x[seen], y[seen])[1]
    ranked = seen[np.argsort(errors.numpy())]
    choices = {
        "all": ranked,
        "without 30 %, at random": given.rng.permutation(ranked)[:980],
        "without the lowest 30 %": ranked[420:],
        "without the highest 30 %": ranked[:980],
        "without 5 %, at random": given.rng.permutation(ranked)[:1330],
        "without the highest 5 %": ranked[:1330],
        "without every wrong label": ranked[~given.wrong[ranked]],
    }
    found = {}
    for name, images in choices.items():
        best = trained(images, steps)(x[other]).detach().topk(2, dim=1)
        if (best.values[:, 0] - best.values[:, 1]).min() < MARGIN:
            raise ArithmeticError("chosen: two digits are too close to call; take another seed.")
        found[name] = 100 * float((best.indices[:, 0].numpy() == given.digits[other]).mean())
    return found
