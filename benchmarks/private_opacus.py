"""The private training loop that chapters/12_privacy.ipynb shows for Opacus, run as it stands.

    python benchmarks/private_opacus.py --save

Run it in the environment of requirements-private.txt (`make private-peers`); the page includes
the part between the marks. No time is measured. It also asks for the epsilon of the trainings that
private_training.py stored.
"""

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

RESULT = Path(__file__).parent / "results" / "private_opacus.json"
TRAINING = RESULT.parent / "private_training.json"


def run() -> dict[str, float | bool]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(81, 24), nn.BatchNorm1d(24), nn.Tanh(), nn.Linear(24, 10))
    data = TensorDataset(torch.randn(1000, 81), torch.randint(10, (1000,)))
    loader = DataLoader(data, batch_size=100)

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name}")
    save = parser.parse_args().save
    stored = {
        "what": "the private loop of the page, run with Opacus",
        "date": datetime.date.today().isoformat(),
        "versions": {name: version(name).partition("+")[0] for name in ("opacus", "torch")},
        "found": run(),
    }
    text = json.dumps(stored, indent=1) + "\n"
    print(text)
    if save:
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
