"""How well attribution scores predict retraining on half of the training images.

    python benchmarks/attribution.py --save

1,400 digits of scikit-learn, every twentieth with a wrong label, scaled to 16 x 16, in three
copies shifted by up to two pixels; others to test. Two convolutions with GroupNorm, Adam, ten
epochs. A digit's score is the sum over its copies, from one training on all digits, and from five.
Damping: a tenth of the mean diagonal; the Fisher matrix has one drawn label for each image.
Predicted for a half of the digits: minus the sum of their scores. Stored: the rank correlation
over 32 halves with the mean loss of two trainings on each, averaged over 100 test images (the
linear datamodeling score), and its standard error over these; last, that of a third training's
losses.
"""

import datetime
import json
from functools import partial

import common
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy, interpolate, pad

RESULT = common.RESULTS / "attribution.json"
SEEN, COPIES, ASKED, HALVES, TRAININGS, STARTS = 1400, 3, 100, 32, 2, 5


def data() -> tuple:
    """Return training images (copies of a digit in a row) and labels, test images and labels."""
    rng = np.random.default_rng(0)
    images, digits = load_digits(return_X_y=True)
    order = rng.permutation(len(digits))
    x = torch.tensor(images[order] / 16).float().view(-1, 1, 8, 8)
    x, y = interpolate(x, scale_factor=2, mode="bilinear"), torch.tensor(digits[order])
    y[:SEEN:20] = (y[:SEEN:20] + torch.tensor(rng.integers(1, 10, SEEN // 20))) % 10
    padded, shifts = pad(x[:SEEN], (2, 2, 2, 2)), rng.integers(0, 5, (SEEN * COPIES, 2))
    moved = [padded[k // COPIES, :, a : a + 16, b : b + 16] for k, (a, b) in enumerate(shifts)]
    return torch.stack(moved), y[:SEEN].repeat_interleave(COPIES), x[SEEN:], y[SEEN:]


def trained(x, y, seed: int, checkpoints: list | None = None) -> nn.Module:
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=0.002)
    for epoch in range(10):
        for batch in torch.randperm(len(x)).split(64):
            optimiser.zero_grad()
            cross_entropy(model(x[batch]), y[batch]).backward()
            optimiser.step()
        if checkpoints is not None and epoch % 2 == 1:
            checkpoints.append({k: p.detach().clone() for k, p in model.named_parameters()})
    return model


def rows(model, w, x, y) -> torch.Tensor:
    """Return the per-sample gradients of the loss, (B, P)."""

    def loss_of_one(w, image, label):
        return cross_entropy(functional_call(model, w, (image[None],)), label[None])

    one = vmap(grad(loss_of_one), in_dims=(None, 0, 0))
    parts = [one(w, a, b) for a, b in zip(x.split(300), y.split(300), strict=True)]
    return torch.cat([torch.cat([g.flatten(1) for g in p.values()], 1) for p in parts])


def scores(x, y, x_test, y_test, seed: int) -> dict[str, torch.Tensor]:
    """Return {method: attribution scores, (digits, test images)}, summed over a digit's copies.

    Larger: leaving the digit out raises the test loss more. Scales differ; only ranks compare.
    """
    checkpoints: list = []
    model = trained(x, y, seed, checkpoints)
    pairs = [(rows(model, w, x, y), rows(model, w, x_test, y_test)) for w in checkpoints]
    G, tests = pairs[-1]
    with torch.no_grad():
        features, asked = model[:-1](x), model[:-1](x_test)
        drawn = torch.multinomial(model(x).softmax(1), 1)[:, 0]
    same = (y[:, None] == y_test).float() * 2 - 1
    matrices = [g.T @ g / len(x) for g in (G, rows(model, checkpoints[-1], x, drawn))]
    empirical, fisher = (c + 0.1 * c.diagonal().mean() * torch.eye(len(c)) for c in matrices)
    layers = [sum(p.numel() for p in layer.parameters()) for layer in model]
    mask = torch.block_diag(*[torch.ones(n, n) for n in layers if n])
    unit, solve = partial(nn.functional.normalize, dim=1), torch.linalg.solve
    found = {
        "nearest by last features": unit(features) @ unit(asked).T * same,
        "product": G @ tests.T,
        "cosine": unit(G) @ unit(tests).T,
        "TracIn, 5 checkpoints": sum(a @ b.T for a, b in pairs),
        "empirical Fisher": G @ solve(empirical, tests.T),
        "influence, layer by layer": G @ solve(fisher * mask, tests.T),
        "influence, Gauss-Newton": G @ solve(fisher, tests.T),
    }
    return {name: s.view(len(x) // COPIES, COPIES, -1).sum(1) for name, s in found.items()}


def correlations(predicted, real) -> torch.Tensor:
    """Return Spearman's rank correlation over the halves, for each test image: (tests,)."""
    a, b = (v.argsort(0).argsort(0).float() for v in (predicted, real))
    a, b = a - a.mean(0), b - b.mean(0)
    return (a * b).sum(0) / (a.square().sum(0) * b.square().sum(0)).sqrt()


def main() -> None:
    options = common.parser(__doc__).parse_args()
    torch.set_num_threads(1)
    x, y, x_test, y_test = data()
    x_test, y_test, rng = x_test[:ASKED], y_test[:ASKED], np.random.default_rng(1)
    halves = np.stack([rng.permutation(SEEN) < SEEN // 2 for _ in range(HALVES)])
    real = torch.empty(TRAININGS + 1, HALVES, ASKED)
    for k, half in enumerate(halves):
        kept = torch.tensor(half.repeat(COPIES))
        for t in range(TRAININGS + 1):
            model = trained(x[kept], y[kept], 1000 + 10 * k + t)
            with torch.no_grad():
                real[t, k] = cross_entropy(model(x_test), y_test, reduction="none")
    runs = [scores(x, y, x_test, y_test, seed) for seed in range(STARTS)]
    chosen, last = torch.tensor(halves).float(), "one more training on the half"
    predicted = {(name, "1"): -chosen @ of for name, of in runs[0].items()}
    predicted |= {(name, "5"): -chosen @ sum(run[name] for run in runs) for name in runs[0]}
    predicted[last, "1"] = real[-1]
    found: dict = {}
    for (name, count), of in predicted.items():
        agree = correlations(of, real[:-1].mean(0))
        pair = agree.mean().item(), agree.std(unbiased=False).item() / ASKED**0.5
        found.setdefault(name, {})[count] = [round(number, 3) for number in pair]
    stored = {
        "what": "rank correlation of predicted and real losses after training on halves",
        "date": datetime.date.today().isoformat(),
        "halves": HALVES,
        "torch": torch.__version__.partition("+")[0],
        "scores": found,
    }
    print(json.dumps(stored, indent=1))
    if options.save:
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
