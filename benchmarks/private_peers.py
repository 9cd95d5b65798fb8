"""Epsilon of private training by maintained libraries, and their clipped sums beside ours.

    python benchmarks/private_peers.py --save

Run it in the environment of `make private-peers`. No time is measured.
"""

import datetime
import math
from importlib.metadata import version

import common
import dp_accounting
import jax
import numpy as np
import optax
import torch
from dp_accounting import pld, rdp
from opacus import GradSampleModule
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
from opacus.optimizers import DPOptimizer
from prv_accountant.dpsgd import DPSGDAccountant
from torch.nn.functional import cross_entropy

import persample as ps

RESULT = common.RESULTS / "private_peers.json"
DELTA = 1e-5
# name -> (rate, noise multiplier, steps)
SETTINGS = {"full batch": (1.0, 20.0, 100), "sampled": (256 / 60_000, 1.1, 14_062)}


def by_dp_accounting(kind, rate: float, sigma: float, steps: int) -> float:
    event = dp_accounting.GaussianDpEvent(sigma)
    if rate < 1:
        event = dp_accounting.PoissonSampledDpEvent(rate, event)
    accountant = kind()
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, steps))
    return accountant.get_epsilon(DELTA)


def by_opacus(kind, rate: float, sigma: float, steps: int) -> float:
    accountant = kind()
    accountant.history = [(sigma, rate, steps)]
    return float(accountant.get_epsilon(DELTA))


def by_prv(rate: float, sigma: float, steps: int) -> list[float]:
    accountant = DPSGDAccountant(sigma, rate, steps, eps_error=0.05, delta_error=DELTA / 1000)
    return [float(e) for e in accountant.compute_epsilon(DELTA, steps)]


def epsilons(rate: float, sigma: float, steps: int) -> dict[str, float | list[float]]:
    setting = rate, sigma, steps
    found = {
        "PLD, dp-accounting": by_dp_accounting(pld.PLDAccountant, *setting),
        "RDP, dp-accounting": by_dp_accounting(rdp.RdpAccountant, *setting),
        "RDP, Opacus": by_opacus(RDPAccountant, *setting),
    }
    if rate < 1:
        found["PRV, prv-accountant"] = by_prv(*setting)
        found["PRV, Opacus"] = by_opacus(PRVAccountant, *setting)
        found["CLT, Opacus"] = by_opacus(GaussianAccountant, *setting)
    return {
        name: [round(e, 4) for e in value] if isinstance(value, list) else round(value, 4)
        for name, value in found.items()
    }


def clipped_sums(max_norm: float = 1.0) -> dict[str, float]:
    """Return library -> |its clipped sum - ours| / |ours|, Euclidean norms over all parameters."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    jax.config.update("jax_enable_x64", True)
    model = torch.nn.Sequential(torch.nn.Linear(81, 24), torch.nn.Tanh(), torch.nn.Linear(24, 10))
    x, y = torch.randn(64, 81), torch.randint(10, (64,))
    with ps.record(model) as record:
        record.backward(cross_entropy(model(x), y, reduction="none"))
    rows, ours = record.rows(), record.clipped_sum(max_norm)
    norm = math.sqrt(sum(float(total.square().sum()) for total in ours.values()))
    for p in model.parameters():
        p.grad = None

    wrapped = GradSampleModule(model)
    optimiser = DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=1.0),
        noise_multiplier=0.0,
        max_grad_norm=max_norm,
        expected_batch_size=64,
    )
    cross_entropy(wrapped(x), y).backward()
    optimiser.clip_and_accumulate()
    of_opacus = {name: p.summed_grad for name, p in model.named_parameters()}

    names = list(rows)
    leaves = [jax.numpy.asarray(rows[name].numpy()) for name in names]
    sums, _ = optax.per_example_global_norm_clip(leaves, max_norm)
    of_optax = dict(zip(names, sums, strict=True))
    return {
        library: float(f"{_apart(sums, ours) / norm:.1e}")
        for library, sums in (("Opacus", of_opacus), ("optax", of_optax))
    }


def _apart(sums, ours):
    parts = [np.ravel(np.asarray(sums[k]) - ours[k].numpy()) for k in ours]
    return float(np.linalg.norm(np.concatenate(parts)))


def main() -> None:
    parser = common.parser(__doc__)
    save = parser.parse_args().save
    packages = "dp-accounting", "prv-accountant", "opacus", "optax", "numpy", "torch", "jax"
    stored = {
        "what": "epsilon by accountants of maintained libraries; their clipped sums against ours",
        "date": datetime.date.today().isoformat(),
        "versions": {name: version(name).partition("+")[0] for name in packages},
        "delta": DELTA,
        "settings": {
            name: dict(zip(("rate", "noise_multiplier", "steps"), setting, strict=True))
            for name, setting in SETTINGS.items()
        },
        "epsilon": {name: epsilons(*setting) for name, setting in SETTINGS.items()},
        "clipped sums": clipped_sums(),
    }
    common.finish(stored, RESULT, save)


if __name__ == "__main__":
    main()
