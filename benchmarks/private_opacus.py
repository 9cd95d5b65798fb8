"""The private training loop that chapters/14_privacy.ipynb shows for Opacus, run as it stands.

    python benchmarks/private_opacus.py --save

Run it in the environment of `make private-peers`; the page shows the lines between the marks. No
time is measured. Stored, too, is what Opacus derives from the number of samples.
"""

import datetime
from importlib.metadata import version

import common
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

RESULT = common.RESULTS / "private_opacus.json"


def given(count: int = 1000) -> tuple[nn.Module, DataLoader]:
    """Return a model and a data loader as a reader may have them, before anything is private."""
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
    return {
        "epsilon": round(float(engine.get_epsilon(delta=1e-5)), 3),
        "batches differ in size": len(set(sizes)) > 1,
        "batch norm is gone": not any(isinstance(m, nn.BatchNorm1d) for m in model.modules()),
        "divisor": optimizer.expected_batch_size,
    }


def of_the_number_of_samples(counts: tuple[int, ...] = (999, 1000, 1001)) -> dict[str, dict]:
    """Return {number of samples: divisor, steps in 20 epochs and noise multiplier of Opacus}."""
    found = {}
    for count in counts:
        _, _, optimizer, loader = private(*given(count))
        found[str(count)] = {
            "divisor": optimizer.expected_batch_size,
            "steps": 20 * len(loader),
            "noise_multiplier": round(float(optimizer.noise_multiplier), 3),
        }
    return found


def main() -> None:
    parser = common.parser(__doc__)
    save = parser.parse_args().save
    stored = {
        "what": "the private loop of the page, run with Opacus",
        "date": datetime.date.today().isoformat(),
        "versions": {name: version(name).partition("+")[0] for name in ("opacus", "torch")},
        "found": run() | {"by number of samples": of_the_number_of_samples()},
    }
    common.finish(stored, RESULT, save)


if __name__ == "__main__":
    main()
