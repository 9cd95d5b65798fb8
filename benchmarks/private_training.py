"""What private training costs in accuracy: by epsilon, clipping norm and batch size.

    python benchmarks/private_training.py --save

The digits of the book, in PyTorch, in float64. The noise follows from epsilon by a Renyi
accountant (Mironov et al., 2019). The step size is chosen for each setting, by new images, which
are public. Seeds fix everything, so a rerun gives the same numbers; it takes a few minutes, which
is too long for a page.
"""

import argparse
import datetime
import math
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from storing import finish
from torch import nn

import persample as ps
from persample_book.problems import digits

RESULT = Path(__file__).parent / "results" / "private_training.json"
SAMPLES, NEW, STEPS, DELTA, SEEDS = 10_000, 1000, 200, 1e-5, 5
STEP_SIZES = 1.0, 2.0, 4.0, 8.0  # of these the best by two seeds
USUAL = {"epsilon": 2.0, "max_norm": 1.0, "rate": 0.03}
VARIED = {
    "epsilon": [0.25, 0.5, 1, 2, 4, 8],
    "max_norm": [0.1, 0.3, 1, 3, 10],
    "rate": [0.003, 0.01, 0.03, 0.1],
}


def renyi_epsilon(rate: float, sigma: float) -> float:
    """Return epsilon of all steps by a Renyi accountant of whole orders up to 64."""
    found = []
    for a in range(2, 65):
        k = np.arange(a + 1)
        binomial = [math.lgamma(a + 1) - math.lgamma(i + 1) - math.lgamma(a - i + 1) for i in k]
        terms = binomial + k * math.log(rate) + (a - k) * math.log1p(-rate)
        terms += k * (k - 1) / (2 * sigma**2)
        renyi = STEPS * np.logaddexp.reduce(terms) / (a - 1)
        found.append(renyi + math.log1p(-1 / a) - math.log(a * DELTA) / (a - 1))
    return float(min(found))


@cache
def noise_for(epsilon: float, rate: float) -> float:
    """Return the noise multiplier that has this epsilon, by bisection."""
    low, high = 0.3, 200.0
    for _ in range(30):
        sigma = math.sqrt(low * high)
        enough = renyi_epsilon(rate, sigma) < epsilon
        low, high = (low, sigma) if enough else (sigma, high)
    if renyi_epsilon(rate, high) > epsilon:
        raise ValueError(f"no noise multiplier up to {high:g} has the epsilon {epsilon:g}")
    return high


@cache
def drawn(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = digits.images(np.random.default_rng(seed), count)
    return torch.from_numpy(images.reshape(-1, 81)), torch.from_numpy(labels)


def network() -> nn.Sequential:
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(81, 24), nn.Tanh(), nn.Linear(24, 10)).double()
    for layer in (net[0], net[2]):
        nn.init.zeros_(layer.bias)
        drawn_weight = rng.normal(size=layer.weight.shape) / layer.in_features**0.5
        layer.weight.data = torch.from_numpy(drawn_weight)
    return net


def accuracy(
    seed: int, epsilon: float | None, max_norm: float, rate: float, step_size: float
) -> float:
    """Train, and return the share of new images that are right; epsilon None: no noise."""
    (x, y), net, rng = drawn(SAMPLES, 1), network(), np.random.default_rng(seed)
    sigma = 0.0 if epsilon is None else noise_for(epsilon, rate)
    for _ in range(STEPS):
        batch = ps.privacy.poisson_batch(rng, SAMPLES, rate)
        with ps.record(net) as record:
            record.backward(nn.functional.cross_entropy(net(x[batch]), y[batch], reduction="none"))
        step = ps.privacy.noisy_mean(
            record, max_norm, noise_multiplier=sigma, divisor=rate * SAMPLES, rng=rng
        )
        with torch.no_grad():
            for name, p in net.named_parameters():
                p -= step_size * step[name] / max_norm
    x_new, y_new = drawn(NEW, 2)
    return float((net(x_new).argmax(1) == y_new).double().mean())


@cache
def runs(
    epsilon: float | None, max_norm: float, rate: float, unit: float = 1.0
) -> tuple[float, list[float]]:
    """Return the best step size, in ``unit``, and the accuracy of each seed with it."""
    setting = {"epsilon": epsilon, "max_norm": max_norm, "rate": rate}

    def tried(size, seeds):
        return [accuracy(seed, step_size=size * unit, **setting) for seed in seeds]

    best = max(STEP_SIZES, key=lambda size: float(np.mean(tried(size, range(2)))))
    return best, tried(best, range(SEEDS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name}")
    save = parser.parse_args().save
    huge = 1e6  # clips nothing; the step is divided by it
    openly = runs(None, huge, USUAL["rate"], unit=huge)
    found = {
        name: {f"{value:g}": runs(**{**USUAL, name: value}) for value in values}
        for name, values in VARIED.items()
    }
    stored = {
        "what": "share of new digits that a privately trained network gets right, for each seed",
        "date": datetime.date.today().isoformat(),
        "versions": {name: version(name) for name in ("numpy", "torch")},
        "samples": SAMPLES,
        "steps": STEPS,
        "step sizes tried": STEP_SIZES,
        "delta": DELTA,
        "usual": USUAL,
        "noise multipliers": {
            f"{e:g}": round(noise_for(e, USUAL["rate"]), 4) for e in VARIED["epsilon"]
        },
        "openly": openly[1],
        "step size openly": openly[0],
        "step sizes": {
            name: {value: best for value, (best, _) in of.items()} for name, of in found.items()
        },
        "accuracy": {
            name: {value: seeds for value, (_, seeds) in of.items()} for name, of in found.items()
        },
    }
    finish(stored, RESULT, save)


if __name__ == "__main__":
    main()
