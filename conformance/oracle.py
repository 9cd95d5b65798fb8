"""The oracle: one backward pass for each sample, and what follows from its rows."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from conformance.case import Case, Loss

Rows = dict[str, Tensor]


def trained(model: nn.Module) -> dict[str, Tensor]:
    """Return {name: parameter} of the parameters that require grad."""
    return {k: p for k, p in model.named_parameters() if p.requires_grad}


def gradient(model: nn.Module, loss: Tensor) -> Rows:
    """Return {name: gradient of the scalar ``loss``}, zeros for parameters without one.

    It overwrites ``.grad``.
    """
    model.zero_grad(set_to_none=True)
    loss.backward()
    parameters = trained(model).items()
    return {k: torch.zeros_like(p) if p.grad is None else p.grad.clone() for k, p in parameters}


def loop_rows(case: Case, losses: Callable, model: nn.Module, batch: dict, size: int) -> Rows:
    """Return {name: rows}, (B, *shape), from each sample alone, as a batch of one."""
    model = copy.deepcopy(model)
    found = [gradient(model, losses(model, case.sample(batch, i))[0]) for i in range(size)]
    return stack(found)


def whole_rows(losses: Callable, model: nn.Module, batch: dict) -> Rows:
    """Return {name: rows}, by one backward pass from each loss of the whole batch."""
    model = copy.deepcopy(model)
    size = len(losses(model, batch))
    return stack([gradient(model, losses(model, batch)[i]) for i in range(size)])


def stack(rows: list[Rows]) -> Rows:
    return {k: torch.stack([row[k] for row in rows]) for k in rows[0]}


def true_rows(case: Case, loss: Loss, model: nn.Module, batch: dict, size: int) -> Rows:
    """Return {name: rows}; row i is the gradient of losses[i] with respect to the parameter."""
    losses = case.losses_of(loss)
    if case.mixing or loss.mixing:
        return whole_rows(losses, model, batch)
    return loop_rows(case, losses, model, batch, size)


def squared_norms(rows: Rows) -> Tensor:
    return sum(r.double().reshape(len(r), -1).square().sum(1) for r in rows.values())


def clipped_sum(rows: Rows, max_norm: float, epsilon: float = 0.0) -> Rows:
    """Return sum_i g_i min(1, max_norm / (|g_i| + epsilon))."""
    norms = squared_norms(rows).sqrt() + epsilon
    factors = (max_norm / norms.clamp(min=1e-300)).clamp(max=1.0)
    return {k: torch.tensordot(factors, r.double(), 1) for k, r in rows.items()}


def sgd(case: Case, loss: Loss, model: nn.Module, batch: dict) -> None:
    """Take three SGD steps on the mean loss, in place; a gradient is divided by 1 + its norm."""
    copied = copy.deepcopy(model)
    for _ in range(3):
        found = gradient(copied, case.losses_of(loss)(copied, batch).mean())
        with torch.no_grad():
            for name, p in trained(copied).items():
                p.sub_(case.rate * found[name] / (1 + found[name].norm()))
    set_parameters(model, parameters(copied))


def parameters(model: nn.Module) -> dict[str, Tensor]:
    return {k: p.detach().clone() for k, p in model.named_parameters()}


def set_parameters(model: nn.Module, values: dict[str, Any]) -> None:
    """Write values into the model's parameters, in place."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(values[name])
