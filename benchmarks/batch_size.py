"""Count the steps to a target loss at seven batch sizes; the noise scale predicts them.

    python benchmarks/batch_size.py --save

The 1,797 digits of scikit-learn, plain gradient descent, batches drawn with replacement. Two
networks, 64-32-10 with ReLU: "plain", and "LayerNorm" with a LayerNorm before the ReLU. A run ends
with the first step after which the mean loss over all images is at most TARGET.
- The step size is tuned: powers of sqrt(2) are tried from 1/8 on, until two in turn are worse than
  the best so far. The best has the least mean number of steps over eight starts (seeds 0 to 7); a
  start that needs more than twice the best mean so far counts as one that does not arrive.
- With this step size, 24 other starts (seeds 100 to 123) run. Stored: mean steps, standard error.
Predicted: S steps without noise become S (1 + b / B) with batches of B, where b is the mean simple
noise scale along the runs without noise (full batch, best step size) of eight of the 24 starts.
The same eight starts run without noise at 0.71 and 0.5 times this step size, too. Stored for each:
S, b, the number of steps that raised the loss, and the mean noise scale just after such a step.
"""

import datetime

import common
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

RESULT = common.RESULTS / "batch_size.json"
SIZES, TARGET, MOST, ALL = (8, 16, 32, 64, 128, 256, 512), 0.25, 600, 0
TUNING, REPORTED = range(8), range(100, 124)
RATES = [2 ** (k / 2) for k in range(-6, 8)]
NORMS = {"plain": nn.Identity, "LayerNorm": lambda: nn.LayerNorm(32)}
images, digits = load_digits(return_X_y=True)
X, Y = torch.tensor(images / 16).float(), torch.tensor(digits)


def start(network: str, seeds: range) -> tuple:
    """Return a model, and {name: parameters of all starts, stacked along axis 0}."""
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        layers = nn.Linear(64, 32), NORMS[network](), nn.ReLU(), nn.Linear(32, 10)
        models.append(nn.Sequential(*layers))
    return models[0], {k: p.detach() for k, p in stack_module_state(models)[0].items()}


def noise_scales(loss, parameters: dict) -> torch.Tensor:
    """Return the simple noise scale of each start: the rows' total variance over |mean|^2."""
    one = vmap(grad(lambda p, x, y: loss(p, x[None], y[None])), in_dims=(None, 0, 0))

    def scale(p):
        rows = torch.cat([g.flatten(1) for g in one(p, X, Y).values()], dim=1)
        return rows.var(0, correction=0).sum() / (rows.mean(0) ** 2).sum()

    starts = zip(*parameters.values(), strict=True)
    return torch.stack([scale(dict(zip(parameters, start, strict=True))) for start in starts])


def steps(network: str, size: int, rate: float, seeds: range, most: int, note=None) -> np.ndarray:
    """Return the number of steps to the target from each start, infinite where it is not reached.

    Before each step, (noise scales, mean losses, which starts still run) is appended to ``note``.
    """
    model, parameters = start(network, seeds)

    def loss(p, x, y):
        return cross_entropy(functional_call(model, p, x), y)

    gradient = vmap(grad(loss), in_dims=(0, 0, 0) if size else (0, None, None))
    of_all = vmap(lambda p: loss(p, X, Y))
    draws = [np.random.default_rng([seed, size]) for seed in seeds]
    found = np.full(len(seeds), np.inf)
    for step in range(1, most + 1):
        if note is not None:
            scales, losses = noise_scales(loss, parameters).numpy(), of_all(parameters).numpy()
            note.append((scales, losses, np.isinf(found)))
        i = torch.tensor(np.stack([draw.integers(len(X), size=size) for draw in draws]))
        g = gradient(parameters, X[i], Y[i]) if size else gradient(parameters, X, Y)
        parameters = {name: p - rate * g[name] for name, p in parameters.items()}
        now = of_all(parameters).numpy()
        found[(now <= TARGET) & np.isinf(found)] = step
        if np.isfinite(found).all() or not (now < 20).all():
            break
    return found


def tuned(network: str, size: int) -> tuple[float, np.ndarray]:
    """Return the best step size, and the numbers of steps with it from the reported starts."""
    best, rate, worse = MOST, None, 0
    for candidate in RATES:
        mean = steps(network, size, candidate, TUNING, min(MOST, int(2 * best))).mean()
        best, rate, worse = (mean, candidate, 0) if mean < best else (best, rate, worse + 1)
        if worse == 2:
            break
    return rate, steps(network, size, rate, REPORTED, MOST)


def without_noise(network: str, rate: float) -> dict:
    """Return means over eight full-batch runs: steps, noise scale, steps that raised the loss."""
    notes: list = []
    n = steps(network, ALL, rate, REPORTED[:8], MOST, notes)
    scales, losses, on = (np.array(kind) for kind in zip(*notes, strict=True))
    path = np.array([scales[on[:, i], i].mean() for i in range(8)])
    raised = (np.diff(losses, axis=0) > 0) & on[1:]
    error = path.std(ddof=1) / len(path) ** 0.5
    found = {"rate": rate, "steps": n.mean(), "scale": path.mean(), "scale_error": error}
    found["rises"] = raised.sum(axis=0).mean()
    if raised.any():
        found["scale_after_a_rise"] = scales[1:][raised].mean()
    return {name: round(float(value), 4 if name == "rate" else 1) for name, value in found.items()}


def main() -> None:
    parser = common.parser(__doc__)
    options, found = parser.parse_args(), {}
    for network in NORMS:
        runs = {}
        for size in (*SIZES, ALL):
            rate, n = tuned(network, size)
            mean, error = float(n.mean()), float(n.std(ddof=1)) / len(n) ** 0.5
            cell = {"rate": round(rate, 4), "steps": round(mean, 1), "error": round(error, 1)}
            runs[str(size or "all")] = cell
        exact = [without_noise(network, rate * 2 ** (-k / 2)) for k in range(3)]
        scale = {kind: exact[0][kind] for kind in ("scale", "scale_error")}
        found[network] = {**scale, "runs": runs, "without_noise": exact}
        print(network, found[network], flush=True)
    if options.save:
        stored = {"what": f"steps until the mean loss over all images is {TARGET}",
                  "date": datetime.date.today().isoformat(), "starts": len(REPORTED),
                  "torch": torch.__version__.partition("+")[0], "networks": found}  # fmt: skip
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
