"""A network 64-32-10 that reads handwritten digits, for the chapters that ask what it learned.

Separate from `mistyped` because here all labels are right, and the network is smooth.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from . import mistyped


class Split(NamedTuple):
    """Images with ink from 0 to 1, float64, and the digits they show."""

    seen: torch.Tensor  # (1400, 64), to train on
    seen_y: torch.Tensor  # (1400,)
    x: torch.Tensor  # (397, 64), others
    y: torch.Tensor  # (397,)


def split() -> Split:
    """Return the digits of scikit-learn, 1,400 to train on and 397 others, all labelled right."""
    given = mistyped.draw(seed=0)
    images, digits = torch.tensor(given.images / 16), torch.tensor(given.digits)
    return Split(images[:1400], digits[:1400], images[1400:], digits[1400:])


def new_model() -> nn.Sequential:
    """Return the network, float64, with the same weights from NumPy every time."""
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    for layer in (model[0], model[2]):
        weight = rng.normal(size=layer.weight.shape)
        layer.weight.data = torch.tensor(weight) / layer.in_features**0.5
        layer.bias.data = torch.zeros(layer.out_features, dtype=torch.float64)
    return model


def losses(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of each image, (B,)."""
    return cross_entropy(model(x), y, reduction="none")


def step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, size: float, times: int = 1) -> None:
    """Take steps of gradient descent on the mean loss of these images."""
    for _ in range(times):
        model.zero_grad()
        losses(model, x, y).mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= size * p.grad
