"""Handwritten digits of which 5 % carry a wrong label, and rankings that look for these.

The opening chapter does the same step by step; here it is in one call, for any draw.
"""

from typing import Any, NamedTuple

import numpy as np

WRONG = 90  # labels changed, of 1,797
STEPS = 40


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
    """Train on one draw; return it and scores of every image, (1797,) each.

    "row norm" and "loss" say what they are; "harm" is the scalar product of an image's row with
    the mean row, with its sign turned: positive where the next step raises the image's loss.
    """
    import torch
    from torch.nn.functional import cross_entropy

    from ...layers import layerwise

    given = draw(seed)
    x, y = torch.from_numpy(given.images / 16), torch.from_numpy(given.labels)
    model = new_model(given.rng)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(steps):
        optimiser.zero_grad()
        cross_entropy(model(x), y).backward()
        optimiser.step()
    with layerwise(model) as record:
        losses = cross_entropy(model(x), y, reduction="none")
        record.backward(losses)
    norms = np.sqrt(record.squared_norms().numpy())
    products = sum((g * g.mean(0)).flatten(1).sum(1) for g in record.rows().values())
    found = {"row norm": norms, "loss": losses.detach().numpy(), "harm": -products.numpy()}
    return given, found


def ranked(score: np.ndarray) -> np.ndarray:
    """Return the samples by their score, largest first."""
    return np.argsort(-score)


def hits(seed: int, steps: int = STEPS) -> dict[str, int]:
    """Return for each score how many of its first 90 images carry a wrong label."""
    given, found = scores(seed, steps)
    return {name: int(given.wrong[ranked(score)[:WRONG]].sum()) for name, score in found.items()}
