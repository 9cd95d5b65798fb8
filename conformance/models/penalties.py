"""Gradient penalties: losses of the gradient with respect to the input."""

import torch
from torch import Tensor, nn

from conformance.case import Case, Loss
from conformance.models.batches import features
from conformance.models.layers import drawn


def critic(*norm: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        *norm,
        nn.LeakyReLU(0.2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(12, 1),
    )


def with_gradient(model, batch: dict) -> Tensor:
    """Return scores and gradients with respect to the images, flattened: (B, 1 + pixels)."""
    with torch.enable_grad():
        x = batch["x"].clone().requires_grad_()
        score = model(x)
        (gradient,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    return torch.cat([score, gradient.flatten(1)], 1)


def penalty(out: Tensor, batch: dict) -> Tensor:
    return (out[:, 1:].norm(dim=1) - 1) ** 2


def score_and_penalty(out: Tensor, batch: dict) -> Tensor:
    return out[:, 0] + 10 * penalty(out, batch)


LOSSES = (Loss("penalty", penalty), Loss("score and penalty", score_and_penalty))

CASES = (
    Case("gradient penalty, convolution", critic, features(1, 4, 4), LOSSES, with_gradient),
    Case(
        "gradient penalty, LayerNorm",
        lambda: critic(drawn(nn.LayerNorm([4, 4]))),
        features(1, 4, 4),
        LOSSES,
        with_gradient,
    ),
)
