"""Train on images of which some are broken: plainly, with capped losses, with clipped rows.

    python benchmarks/broken_inputs.py --save

The digits of scikit-learn, 1,400 to train on and 397 to test. A broken image was not divided by
16, so its pixels run to 16 in place of 1, and its label is one too high. Three networks, all with
plain gradient descent: SGD, rate 0.1, batches of 64, ten epochs. Each draw has its own split, its
own broken images and its own starting weights, the same for all ways of training:

- plain: the mean loss;
- loss capped at 3, at 5: beyond it a sample has no gradient. Caps of 3, 5 and 10 were tried on
  three draws; these two were the best for some network;
- rows clipped at 4: each sample's gradient is shortened to norm 4 before they are averaged. No
  other bound was tried: at zero weights, the rows of images in order are a little shorter.

Stored: the mean percentage of test images recognised over the draws, and its standard
error.
"""

import datetime
from functools import partial

import common
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

RESULT = common.RESULTS / "broken_inputs.json"
SHARES, DRAWS, BOUND = (0.0, 0.05, 0.1), 12, 4.0
NETWORKS = {
    "linear": lambda: nn.Linear(64, 10),
    "MLP": lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)),
    "GroupNorm": lambda: nn.Sequential(
        nn.Linear(64, 64), nn.GroupNorm(8, 64), nn.ReLU(), nn.Linear(64, 10)
    ),
}


def data(draw: int, share: float) -> tuple:
    """Return x, y to train on, of which a share is broken, and x, y to test on."""
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(draw).permutation(len(digits))
    x, y = torch.tensor(images[order] / 16).float(), torch.tensor(digits[order])
    broken = slice(0, round(share * 1400))
    x[broken], y[broken] = 16 * x[broken], (y[broken] + 1) % 10
    return x[:1400], y[:1400], x[1400:], y[1400:]


def plain(model: nn.Module, x, y) -> None:
    cross_entropy(model(x), y).backward()


def capped(model: nn.Module, x, y, cap: float) -> None:
    cross_entropy(model(x), y, reduction="none").clamp(max=cap).mean().backward()


def clipped(model: nn.Module, x, y) -> None:
    """Put the mean of the rows, each at most BOUND long, into `.grad`."""

    def loss_of_one(parameters, image, label):
        return cross_entropy(functional_call(model, parameters, image[None]), label[None])

    parameters = {name: p.detach() for name, p in model.named_parameters()}
    rows = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(parameters, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in rows.values()]).norm(dim=0)
    scale = (BOUND / norms).clamp(max=1)
    for name, p in model.named_parameters():
        p.grad = torch.tensordot(scale, rows[name], 1) / len(x)


WAYS = {
    "plain": plain,
    "loss capped at 3": partial(capped, cap=3.0),
    "loss capped at 5": partial(capped, cap=5.0),
    "rows clipped at 4": clipped,
}


def recognised(network: str, way: str, share: float, draw: int) -> float:
    """Train once; return the percentage of the test images that are recognised."""
    x, y, x_test, y_test = data(draw, share)
    torch.manual_seed(draw)
    model = NETWORKS[network]()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        order = np.random.default_rng([draw, epoch]).permutation(len(x))
        for batch in torch.tensor(order).split(64):
            optimiser.zero_grad()
            WAYS[way](model, x[batch], y[batch])
            optimiser.step()
    return 100 * (model(x_test).argmax(1) == y_test).float().mean().item()


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    found: dict = {}
    for network in NETWORKS:
        for way in WAYS:
            for share in SHARES:
                runs = [recognised(network, way, share, draw) for draw in range(options.draws)]
                mean, error = np.mean(runs), np.std(runs, ddof=1) / len(runs) ** 0.5
                cell = {"mean": round(mean, 1), "error": round(error, 1)}
                found.setdefault(network, {}).setdefault(way, {})[f"{share:.0%}"] = cell
            line = (f"{c['mean']:5.1f} +- {c['error']:3.1f}" for c in found[network][way].values())
            print(f"{network:10} {way:18}", *line, flush=True)
    if options.save:
        stored = {
            "what": "percentage of test images recognised, by share of broken training images",
            "date": datetime.date.today().isoformat(),
            "draws": options.draws,
            "torch": torch.__version__.partition("+")[0],
            "networks": found,
        }
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
