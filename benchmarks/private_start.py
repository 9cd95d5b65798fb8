"""Private training that starts from a model of a few public images.

    python benchmarks/private_start.py --save

The model, the images and the private step of chapters/14_privacy.ipynb, with epsilon 1: 100 steps,
q = 0.1, sigma = 4.3, C = 1, step size 1. Of 1,797 digits, in the order of a seed, the first
``size`` are public, 1,200 are private, and the rest are for the test. Stored is the test accuracy
of three models: of the public images alone (100 steps with all of them), of the private ones
alone, and of both, the private training starting from the public model. Four sizes on the page's
split, three seeds of noise each; size 57 on eight other splits, two seeds each. Also stored are
twelve seeds on the page's split, and the same steps without noise, with six step sizes.
"""

import datetime

import common
import numpy as np
import torch
from sklearn.datasets import load_digits

RESULT = common.RESULTS / "private_start.json"
images, digits = load_digits(return_X_y=True)
ZERO = torch.zeros(650, dtype=torch.float64)


def logits(theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x @ theta[:640].view(10, 64).T + theta[640:]


def rows_of(theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the rows of the cross-entropy of a linear layer, (B, 650)."""
    errors = torch.softmax(logits(theta, x), 1)
    errors[torch.arange(len(y)), y] -= 1
    return torch.cat([(errors[:, :, None] * x[:, None, :]).flatten(1), errors], 1)


def right(theta: torch.Tensor, data: tuple) -> float:
    x, y = data
    return (logits(theta, x).argmax(1) == y).double().mean().item()


def split(seed: int, size: int) -> list[tuple]:
    """Return (images, labels) of the public, the private and the test set, in ``seed``'s order.

    They have ``size``, 1,200 and 597 - ``size`` images; pixels are in [0, 1].
    """
    order = np.random.default_rng(seed).permutation(1797)
    x, y = torch.tensor(images[order] / 16), torch.tensor(digits[order])
    sizes = [size, 1200, 597 - size]
    return list(zip(x.split(sizes), y.split(sizes), strict=True))


def public_model(data: tuple) -> torch.Tensor:
    theta = ZERO
    for _ in range(100):
        theta = theta - rows_of(theta, *data).mean(0)
    return theta


def private_model(theta: torch.Tensor, data: tuple, seed: int, sigma=4.3, step_size=1.0):
    x, y = data
    rng = np.random.default_rng(seed)
    for _ in range(100):
        drawn = np.flatnonzero(rng.random(1200) < 0.1)
        rows = rows_of(theta, x[drawn], y[drawn])
        total = (1 / rows.norm(dim=1)).clamp(max=1) @ rows
        noise = sigma * torch.tensor(rng.normal(size=650))
        theta = theta - step_size * (total + noise) / 120
    return theta


def three(splits: list[int], size: int, seeds: range) -> dict[str, float]:
    """Return the mean test accuracy of each of the three models, over splits and seeds."""
    found = {"public alone": [], "private alone": [], "both": []}
    for number in splits:
        public, private, new = split(number, size)
        start = public_model(public)
        found["public alone"].append(right(start, new))
        for seed in seeds:
            found["private alone"].append(right(private_model(ZERO, private, seed), new))
            found["both"].append(right(private_model(start, private, seed), new))
    return {name: round(float(np.mean(shares)), 4) for name, shares in found.items()}


def price() -> dict:
    """Return test accuracies of private training: epsilon 1 over twelve seeds, and without noise.

    With noise they are the mean and the least; without it one number for each of six step sizes.
    """
    _, private, new = split(0, 57)
    noisy = [right(private_model(ZERO, private, seed), new) for seed in range(12)]
    exact = {
        size: right(private_model(ZERO, private, 0, sigma=0, step_size=size), new)
        for size in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    }
    return {
        "epsilon 1": {"mean": round(float(np.mean(noisy)), 4), "least": min(noisy)},
        "no noise, by step size": {str(size): round(share, 4) for size, share in exact.items()},
    }


def main() -> None:
    parser = common.parser(__doc__)
    save = parser.parse_args().save
    stored = {
        "what": "share of new digits read right after public, private and both trainings",
        "date": datetime.date.today().isoformat(),
        "by number of public images": {
            str(size): three([0], size, range(3)) for size in (37, 47, 57, 97)
        },
        "eight other splits, 57 public images": three(list(range(1, 9)), 57, range(2)),
        "price": price(),
    }
    common.finish(stored, RESULT, save)


if __name__ == "__main__":
    main()
