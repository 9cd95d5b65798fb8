"""Measure how much a noisy gradient step lowers the loss, at four points of a training run.

    python benchmarks/one_step.py --save

The training of chapter 8: the 1,797 digits of scikit-learn, 64-32-10 with ReLU, plain gradient
descent with steps of 0.2, batches of 64 drawn with replacement. After 30, 60, 200 and 400 steps,
100 gradients of batches of 128 each try 17 step sizes, powers of sqrt(2) from 1/64 to 4. Stored,
in percent of the decrease by the exact gradient at its best step size:
- measured: the mean decrease at the step size where it is largest, and its standard error;
- simple and full: 128 / (128 + b), with both noise scales b at these weights, from all rows.
"""

import datetime

import common
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.func import functional_call, grad, jvp, vmap
from torch.nn.functional import cross_entropy

RESULT = common.RESULTS / "one_step.json"
POINTS, BATCH, TRIES = (30, 60, 200, 400), 128, 100
SIZES = [2 ** (k / 2) for k in range(-12, 5)]
images, digits = load_digits(return_X_y=True)
X, Y = torch.tensor(images / 16).float(), torch.tensor(digits)
torch.manual_seed(0)
MODEL = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


def loss_at(theta, x=X, y=Y):
    """Return the mean loss at the parameters given by the flat vector theta."""
    named = dict(MODEL.named_parameters())
    parts = theta.split([p.numel() for p in named.values()])
    weights = {k: v.view_as(p) for (k, p), v in zip(named.items(), parts, strict=True)}
    return cross_entropy(functional_call(MODEL, weights, x), y)


def point(theta: torch.Tensor) -> dict:
    """Return both noise scales, the measured decrease and its error, and both predictions (%)."""
    one = vmap(grad(lambda t, x, y: loss_at(t, x[None], y[None])), in_dims=(None, 0, 0))
    rows = one(theta, X, Y)
    exact = rows.mean(0)
    off = rows - exact

    def curved(v):
        return v @ jvp(grad(loss_at), (theta,), (v,))[1]

    def gains(size, gradients):
        return loss_at(theta) - torch.stack([loss_at(theta - size * g) for g in gradients])

    best = max(gains(size, [exact]).item() for size in SIZES)
    draw = np.random.default_rng(1)
    tried = [rows[draw.integers(len(X), size=BATCH)].mean(0) for _ in range(TRIES)]
    shares = max((gains(size, tried) / best for size in SIZES), key=torch.mean)
    simple = (off**2).sum(1).mean() / (exact @ exact)
    full = torch.stack([curved(d) for d in off]).mean() / curved(exact)
    found = {"simple_scale": simple, "full_scale": full}
    found |= {"measured": 100 * shares.mean(), "error": 100 * shares.std() / TRIES**0.5}
    found |= {"simple": 100 * BATCH / (BATCH + simple), "full": 100 * BATCH / (BATCH + full)}
    return {name: round(float(value), 1) for name, value in found.items()}


def main() -> None:
    parser = common.parser(__doc__)
    options, found = parser.parse_args(), {}
    theta = torch.cat([p.detach().flatten() for p in MODEL.parameters()])
    draw = np.random.default_rng(0)
    for step in range(max(POINTS) + 1):
        if step in POINTS:
            found[str(step)] = point(theta)
            print(step, found[str(step)], flush=True)
        batch = draw.integers(len(X), size=64)
        theta = theta - 0.2 * grad(loss_at)(theta, X[batch], Y[batch])
    if options.save:
        stored = {"what": f"share (%) of the exact step's gain, batches of {BATCH}",
                  "date": datetime.date.today().isoformat(), "tries": TRIES,
                  "torch": torch.__version__.partition("+")[0], "after": found}  # fmt: skip
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
