"""Record by what factor each library's rows differ from the gradients of the single losses.

Four samples, the halved square error of a linear model, once averaged and once summed over the
batch. Exact, not timed. Opacus and BackPACK are no requirements of the book, so the table is
stored.

    pip install opacus==1.6 backpack-for-pytorch==1.7.1
    python benchmarks/recorded_scaling.py --save
"""

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import torch

RESULT = Path(__file__).parent / "results" / "recorded_scaling.json"
X = torch.tensor([[1.0, 0], [0, 2], [1, 1], [2, -1]])
Y = torch.tensor([3.0, 1, 0, -1])
TRUE = torch.tensor([[-2.0, 0], [0, 2], [2, 2], [4, -2]])  # g_i at theta = (1, 1)


def model() -> torch.nn.Module:
    """Return theta . x with theta = (1, 1)."""
    linear = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(linear.weight)
    return linear


def factor(rows: torch.Tensor) -> float:
    """Return c where rows = c * TRUE; refuse rows that are no multiple."""
    c = (rows * TRUE).sum() / (TRUE**2).sum()
    if not torch.allclose(rows, c * TRUE):
        raise ValueError(f"the rows are no multiple of the true ones: {rows}")
    return round(float(c), 6)


def opacus(reduction: str, told: str) -> float:
    """Return Opacus' factor for a loss with ``reduction``, and what the wrapper is told."""
    from opacus.grad_sample import GradSampleModule

    wrapped = GradSampleModule(model(), loss_reduction=told)
    losses = 0.5 * (wrapped(X)[:, 0] - Y) ** 2
    getattr(losses, reduction)().backward()
    return factor(wrapped._module.weight.grad_sample[:, 0])


def backpack(reduction: str) -> float:
    """Return BackPACK's factor for a loss with ``reduction``; its loss has no 1/2."""
    from backpack import backpack as extensions_on
    from backpack import extend
    from backpack.extensions import BatchGrad

    linear, loss = extend(model()), extend(torch.nn.MSELoss(reduction=reduction))
    with extensions_on(BatchGrad()):
        loss(linear(X), Y[:, None]).backward()
    return factor(linear.weight.grad_batch[:, 0] / 2)


def measure() -> dict:
    """Return {library and setting: {reduction: factor}}."""
    settings = {
        'Opacus, loss_reduction="mean" (default)': lambda reduction: opacus(reduction, "mean"),
        'Opacus, loss_reduction="sum"': lambda reduction: opacus(reduction, "sum"),
        "BackPACK, BatchGrad": backpack,
    }
    return {name: {r: f(r) for r in ("mean", "sum")} for name, f in settings.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"store the result in {RESULT.name}")
    packages = ("torch", "opacus", "backpack-for-pytorch")
    result = {
        "what": "reported row / true gradient of one loss, n = 4 samples",
        "date": datetime.date.today().isoformat(),
        "versions": {p: version(p).split("+")[0] for p in packages},
        "factors": measure(),
    }
    print(json.dumps(result, indent=1))
    if parser.parse_args().save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
