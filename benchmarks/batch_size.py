"""Count the steps to a target loss at seven batch sizes, and what the noise scale predicts.

    python benchmarks/batch_size.py --save

The 1,797 digits of scikit-learn, plain gradient descent, batches drawn with replacement. Two
networks, 64-32-10 with ReLU: "plain", and "LayerNorm" with a LayerNorm before the ReLU. A run ends
with the first step after which the mean loss over all images is at most TARGET.
- The step size is tuned: powers of sqrt(2) are tried from 1/8 on, until two in turn are worse than
  the best so far. Best is the least mean number of steps over eight starts (seeds 0 to 7); a start
  that needs more than twice the best mean so far counts as one that does not arrive.
- With this step size, 24 other starts (seeds 100 to 123) run. Stored: mean steps, standard error.
Predicted: S steps without noise become S (1 + b / B) with batches of B, where b is the mean simple
noise scale along the runs without noise (full batch, best step size) of eight of the 24 starts.
"""

import argparse
import datetime
import json
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

RESULT = Path(__file__).parent / "results" / "batch_size.json"
SIZES, TARGET, MOST, ALL = (8, 16, 32, 64, 128, 256, 512), 0.25, 600, 0
TUNING, REPORTED = range(8), range(100, 124)
RATES = [2 ** (k / 2) for k in range(-6, 8)]
NORMS = {"plain": nn.Identity, "LayerNorm": lambda: nn.LayerNorm(32)}
images, digits = load_digits(return_X_y=True)
X, Y = torch.tensor(images / 16).float(), torch.tensor(digits)


def start(network: str, seeds: range) -> tuple:
    """Return a model, and the parameters of one start for each seed, stacked."""
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        layers = nn.Linear(64, 32), NORMS[network](), nn.ReLU(), nn.Linear(32, 10)
        models.append(nn.Sequential(*layers))
    return models[0], {k: p.detach() for k, p in stack_module_state(models)[0].items()}


def noise_scales(loss, parameters: dict) -> torch.Tensor:
    """Return the simple noise scale of each start: spread of all rows over their squared mean."""
    one = vmap(grad(lambda p, x, y: loss(p, x[None], y[None])), in_dims=(None, 0, 0))

    def scale(p):
        rows = torch.cat([g.flatten(1) for g in one(p, X, Y).values()], dim=1)
        return rows.var(0, correction=0).sum() / (rows.mean(0) ** 2).sum()

    starts = zip(*parameters.values(), strict=True)
    return torch.stack([scale(dict(zip(parameters, start, strict=True))) for start in starts])


def steps(network: str, size: int, rate: float, seeds: range, most: int, note=None) -> np.ndarray:
    """Return the steps to the target from each start, infinite where it is not reached."""
    model, parameters = start(network, seeds)

    def loss(p, x, y):
        return cross_entropy(functional_call(model, p, x), y)

    gradient = vmap(grad(loss), in_dims=(0, 0, 0) if size else (0, None, None))
    of_all = vmap(lambda p: loss(p, X, Y))
    draws = [np.random.default_rng([seed, size]) for seed in seeds]
    found = np.full(len(seeds), np.inf)
    for step in range(1, most + 1):
        if note is not None:
            note.append((noise_scales(loss, parameters).numpy(), np.isinf(found)))
        i = torch.tensor(np.stack([draw.integers(len(X), size=size) for draw in draws]))
        g = gradient(parameters, X[i], Y[i]) if size else gradient(parameters, X, Y)
        parameters = {name: p - rate * g[name] for name, p in parameters.items()}
        now = of_all(parameters).numpy()
        found[(now <= TARGET) & np.isinf(found)] = step
        if np.isfinite(found).all() or not (now < 20).all():
            break
    return found


def tuned(network: str, size: int) -> tuple[float, np.ndarray]:
    """Return the best step size, and with it the steps of the reported starts."""
    best, rate, worse = MOST, None, 0
    for candidate in RATES:
        mean = steps(network, size, candidate, TUNING, min(MOST, int(2 * best))).mean()
        best, rate, worse = (mean, candidate, 0) if mean < best else (best, rate, worse + 1)
        if worse == 2:
            break
    return rate, steps(network, size, rate, REPORTED, MOST)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name}")
    options, found = parser.parse_args(), {}
    for network in NORMS:
        runs = {}
        for size in (*SIZES, ALL):
            rate, n = tuned(network, size)
            mean, error = float(n.mean()), float(n.std(ddof=1)) / len(n) ** 0.5
            cell = {"rate": round(rate, 4), "steps": round(mean, 1), "error": round(error, 1)}
            runs[str(size or "all")] = cell
        notes: list = []
        steps(network, ALL, rate, REPORTED[:8], MOST, notes)
        path = [np.mean([scales[i] for scales, on in notes if on[i]]) for i in range(8)]
        error = round(float(np.std(path, ddof=1) / len(path) ** 0.5), 1)
        mean = round(float(np.mean(path)), 1)
        found[network] = {"scale": mean, "scale_error": error, "runs": runs}
        print(network, found[network], flush=True)
    if options.save:
        stored = {"what": f"steps until the mean loss over all images is {TARGET}",
                  "date": datetime.date.today().isoformat(), "starts": len(REPORTED),
                  "torch": torch.__version__.partition("+")[0], "networks": found}  # fmt: skip
        RESULT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
