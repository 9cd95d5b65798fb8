"""What a clipped sum costs with Opacus' ghost clipping, for networks of `clipped_sums`.

    python benchmarks/clipped_sums_opacus.py

`clipped_sums` runs it with the Python given to ``--opacus``, and stores its output: the least time
relative to ordinary passes of PyTorch, on one core. The sums are compared with those of all rows.
"""

import json
import os
import time
from collections.abc import Callable
from importlib.metadata import version

os.environ.setdefault("OMP_NUM_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
from torch import nn

MAX_NORM = 1.0
SECONDS = 3.0  # of repeats


def mlp(*sizes: int) -> nn.Module:
    layers = []
    for m, n in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(m, n), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2, bias=False), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2, bias=False), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(7 * 7 * 32, 100, bias=False), nn.ReLU(),
        nn.Linear(100, 10, bias=False),
    )  # fmt: skip


# Name in `clipped_sums` -> (model, shape of the inputs, number of classes)
CASES = {
    "MLP 784-256-10, B = 256": (lambda: mlp(784, 256, 10), (256, 784), 10),
    "MLP 3 x 1024, B = 64": (lambda: mlp(1024, 1024, 1024, 1024), (64, 1024), 1024),
    "CNN 28 x 28, B = 128": (cnn, (128, 1, 28, 28), 10),
}


def by_rows(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    """Return the clipped sum of each parameter, from all rows by vmap(grad)."""

    def loss(params, x, y):
        scores = torch.func.functional_call(model, params, (x[None],))
        return nn.functional.cross_entropy(scores, y[None])

    params = {name: p.detach() for name, p in model.named_parameters()}
    rows = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(params, x, y)
    norms = sum(g.flatten(1).square().sum(1) for g in rows.values()).sqrt()
    return [torch.tensordot((MAX_NORM / norms).clamp(max=1), g, 1) for g in rows.values()]


def least(call: Callable, other: Callable) -> float:
    """Return the least time of ``call`` over the least time of ``other``; the two take turns."""
    times: dict = {call: [], other: []}
    start = time.perf_counter()
    while len(times[other]) < 4 or time.perf_counter() - start < SECONDS:
        for each, found in times.items():
            before = time.perf_counter()
            each()
            found.append(time.perf_counter() - before)
    return min(times[call]) / min(times[other])


def measure(make: Callable, shape: tuple, classes: int) -> float:
    torch.manual_seed(0)
    plain, x, y = make(), torch.randn(shape), torch.arange(shape[0]) % classes
    model = GradSampleModuleFastGradientClipping(
        make(), max_grad_norm=MAX_NORM, use_ghost_clipping=True, loss_reduction="sum"
    )
    model._module.load_state_dict(plain.state_dict())
    optimizer = DPOptimizerFastGradientClipping(
        torch.optim.SGD(model.parameters(), lr=0.0),
        noise_multiplier=0.0,
        max_grad_norm=MAX_NORM,
        expected_batch_size=shape[0],
        loss_reduction="sum",
    )

    def ordinary():
        plain.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(plain(x), y).backward()

    def clipped():
        optimizer.zero_grad(set_to_none=True)
        losses = nn.functional.cross_entropy(model(x), y, reduction="none")
        DPTensorFastGradientClipping(model, optimizer, losses, "sum").backward()

    clipped()
    for p, wanted in zip(model.parameters(), by_rows(plain, x, y), strict=True):
        torch.testing.assert_close(p.grad, wanted, atol=1e-4, rtol=1e-3)
    return round(least(clipped, ordinary), 2)


def main() -> None:
    torch.set_num_threads(1)
    print(json.dumps({
        "versions": {name: version(name).partition("+")[0] for name in ("torch", "opacus")},
        "cases": {name: measure(*of) for name, of in CASES.items()},
    }))  # fmt: skip


if __name__ == "__main__":
    main()
