"""The private training loop that chapters/13_privacy.ipynb shows for Opacus, run as it stands.

    python benchmarks/private_opacus.py --save

Run it in the environment of `make private-peers`; the page includes the parts between the marks.
No time is measured. It also asks for the epsilon of the trainings that private_training.py stored,
for what Opacus reads from the number of samples, and for the rows that it clips where a sample is
several images.
"""

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import torch
from opacus import GradSampleModule
from storing import finish
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

RESULT = Path(__file__).parent / "results" / "private_opacus.json"
TRAINING = RESULT.parent / "private_training.json"


def given(count: int = 1000) -> tuple[nn.Module, DataLoader]:
    """Return a model and a loader as a reader may have them: nothing private yet."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(81, 24), nn.BatchNorm1d(24), nn.Tanh(), nn.Linear(24, 10))
    data = TensorDataset(torch.randn(count, 81), torch.randint(10, (count,)))
    return model, DataLoader(data, batch_size=100)


def private(model: nn.Module, loader: DataLoader) -> tuple:
    # fmt: off
    # [opacus]
    from opacus import PrivacyEngine
    from opacus.validators import ModuleValidator

    model = ModuleValidator.fix(model)  # no BatchNorm
    optimizer = torch.optim.Adam(model.parameters())
    engine = PrivacyEngine(accountant="prv")
    (model, optimizer,
     loader) = engine.make_private_with_epsilon(
        module=model, optimizer=optimizer,
        data_loader=loader, epochs=20,
        target_epsilon=2.0, target_delta=1e-5,
        max_grad_norm=1.0)
    # [end]
    # fmt: on
    return engine, model, optimizer, loader


def run() -> dict[str, float | bool]:
    engine, model, optimizer, loader = private(*given())
    sizes = []
    for _ in range(20):
        for x, y in loader:
            sizes.append(len(x))
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
    print(engine.get_epsilon(1e-5))  # what the page tells to add
    from opacus.accountants import PRVAccountant

    chapter, accountant = json.loads(TRAINING.read_text(encoding="utf-8")), PRVAccountant()
    usual = chapter["usual"]
    sigma = chapter["noise multipliers"][f"{usual['epsilon']:g}"]
    accountant.history = [(sigma, usual["rate"], chapter["steps"])]
    return {
        "epsilon of the page's training": round(
            float(accountant.get_epsilon(chapter["delta"], eps_error=0.001)), 3
        ),
        "epsilon": round(float(engine.get_epsilon(delta=1e-5)), 3),
        "batches differ in size": len(set(sizes)) > 1,
        "batch norm is gone": not any(isinstance(m, nn.BatchNorm1d) for m in model.modules()),
        "divisor": optimizer.expected_batch_size,
    }


def of_the_number_of_samples(counts: tuple[int, ...] = (999, 1000, 1001)) -> dict[str, dict]:
    """Return number of samples -> what Opacus computes from it, twenty epochs each."""
    found = {}
    for count in counts:
        _, _, optimizer, loader = private(*given(count))
        found[str(count)] = {
            "divisor": optimizer.expected_batch_size,
            "steps": 20 * len(loader),
            "noise_multiplier": round(float(optimizer.noise_multiplier), 3),
        }
    return found


def largest_part() -> int:
    """Return how many samples are in memory at once where batches are taken in parts."""
    _, model, optimizer, loader = private(*given())
    # fmt: off
    # [parts]
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    sizes = []
    with BatchMemoryManager(
            data_loader=loader, optimizer=optimizer,
            max_physical_batch_size=32) as parts:
        for x, y in parts:  # your loop, as before
            sizes.append(len(x))
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
    # [parts end]
    # fmt: on
    return max(sizes)


def rows_of_persons(flat: bool, persons: int = 11, images: int = 4) -> int:
    """Return how many rows Opacus forms of persons with several images each."""

    class Person(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(81, 10)

        def forward(self, x):
            return self.layer(x.reshape(-1, 81) if flat else x)

    model = GradSampleModule(Person())
    x, y = torch.randn(persons, images, 81), torch.randint(10, (persons * images,))
    cross_entropy(model(x).reshape(-1, 10), y).backward()
    return len(model._module.layer.weight.grad_sample)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name}")
    save = parser.parse_args().save
    stored = {
        "what": "the private loop of the page, run with Opacus",
        "date": datetime.date.today().isoformat(),
        "versions": {name: version(name).partition("+")[0] for name in ("opacus", "torch")},
        "found": run()
        | {
            "by number of samples": of_the_number_of_samples(),
            "largest part": largest_part(),
            "rows of 11 persons": {
                "flattened": rows_of_persons(flat=True),
                "kept": rows_of_persons(flat=False),
            },
        },
    }
    finish(stored, RESULT, save)


if __name__ == "__main__":
    main()
