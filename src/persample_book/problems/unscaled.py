"""Handwritten digits of two conventions in one set, and ways to train in spite of it.

The opening chapter does it step by step in PyTorch; here it is in NumPy, for several draws at
once, axis 0 counting draws. The model is one linear layer, so that the norm of a row is that of
the error times that of the input; below that, two layers and Adam.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

TRAINING, BATCH = 1400, 64
BAD = 70  # of the 1,400

# What multiplies each sample's gradient, from its loss, the norm of its row, and a bound. The last
# axis counts the samples of a batch.
WEIGHTS: dict[str, Callable[[np.ndarray, np.ndarray, float], np.ndarray]] = {
    "losses capped": lambda losses, norms, cap: losses < cap,
    "largest losses left out": lambda losses, norms, out: (
        ranks(losses) < (1 - out) * losses.shape[-1]
    ),
    "each image clipped": lambda losses, norms, c: np.minimum(
        1, c * np.median(norms, axis=-1, keepdims=True) / norms
    ),
}
CLIPPED, STANDARD, REMOVED = "clip_grad_norm_", "pixels standardised", "removed by hand"
WAYS = ("ordinary training", CLIPPED, *WEIGHTS, STANDARD, REMOVED)

# The first of each is the best for 70 bad images, by the worst of draws 0 to 11. The bounds of the
# rows, in medians of a batch, all do about as well.
BOUNDS = {
    CLIPPED: (0.3, 0.03, 0.1, 1, 3),
    "losses capped": (40, 2.5, 5, 10, 20, 30, 50, 60, 100),
    "largest losses left out": (0.17, 0.05, 0.1, 0.12, 0.15, 0.2, 0.25),
    "each image clipped": (2, 1, 4),
}
HIDDEN = 32
# Gradients are rounded to a multiple of this: a sum's last bits differ between machines, and a run
# that has lost its way makes them grow until they turn an answer.
UNIT = 2.0**-30
CAPS = (10, 2.5, 5, 20, 40)  # of the losses, with a hidden layer; again the best one first


class Draw(NamedTuple):
    x: np.ndarray  # (1797, 64), ink from 0 to 1, in the bad images to 255
    labels: np.ndarray  # (1797,), too large by one in the bad images
    training: np.ndarray  # (1400,) places, the bad ones first
    test: np.ndarray  # (397,) places, no bad one
    rng: np.random.Generator


def draw(seed: int, bad: int = BAD) -> Draw:
    """Return the digits of scikit-learn, the first training images broken."""
    images, digits = _digits()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(digits))
    x, labels = images / 16, digits.copy()
    x[order[:bad]] *= 255
    labels[order[:bad]] = (labels[order[:bad]] + 1) % 10
    return Draw(x, labels, order[:TRAINING], order[TRAINING:], rng)


@cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def accuracies(
    way: str,
    seeds: Iterable[int],
    *,
    bad: int = BAD,
    rate: float = 0.5,
    epochs: int = 3,
    adam: bool = False,
    bound: float | None = None,
) -> list[float]:
    """Return for each draw the percentage of the test images recognised after training.

    Parameters
    ----------
    way : one of WAYS.
    bad : how many of the 1,400 training images are broken.
    rate, adam : the learning rate, and whether Adam takes the place of plain descent.
    bound : the number of this way; without one, the first in BOUNDS.
    """
    if bound is None:
        bound = BOUNDS.get(way, (0.0,))[0]
    draws = [draw(seed, bad) for seed in seeds]
    x = np.stack([_inputs(given.x, way) for given in draws])
    labels = np.stack([given.labels for given in draws])
    runs = np.arange(len(draws))[:, None]
    step = _adam if adam else _descent
    theta, state = np.zeros((len(draws), 65, 10)), (0, 0.0, 0.0)
    for _ in range(epochs):
        order = np.stack([g.rng.permutation(g.training[bad * (way == REMOVED) :]) for g in draws])
        for start in range(0, order.shape[1], BATCH):
            batch = order[:, start : start + BATCH]
            gradient = _gradient(way, bound, theta, x[runs, batch], labels[runs, batch])
            theta, state = step(theta, np.rint(gradient / UNIT) * UNIT, rate, state)
    test = np.stack([given.test for given in draws])
    right = (x[runs, test] @ theta).argmax(-1) == labels[runs, test]
    return (100 * right.mean(-1)).tolist()


def with_hidden_layer(
    way: str,
    seeds: Iterable[int],
    *,
    bad: int = BAD,
    bound: float | None = None,
    epochs: int = 10,
) -> list[float]:
    """Return the percentages of `accuracies` for a network 65-32-10, ReLU and Adam at 0.01.

    Parameters
    ----------
    way : one of ordinary training, losses capped, each image clipped, removed by hand.
    """
    if bound is None:
        bound = CAPS[0] if way == "losses capped" else BOUNDS.get(way, (0.0,))[0]
    draws = [draw(seed, bad) for seed in seeds]
    x, labels = _with_one(np.stack([g.x for g in draws])), np.stack([g.labels for g in draws])
    runs, states = np.arange(len(draws))[:, None], [(0, 0.0, 0.0)] * 2
    thetas = [
        np.stack([g.rng.uniform(-size, size, shape) for g in draws])
        for size, shape in ((1 / 8, (65, HIDDEN)), (HIDDEN**-0.5, (HIDDEN + 1, 10)))
    ]
    for _ in range(epochs):
        order = np.stack([g.rng.permutation(g.training[bad * (way == REMOVED) :]) for g in draws])
        for start in range(0, order.shape[1], BATCH):
            batch = order[:, start : start + BATCH]
            gradients = _two_gradients(way, bound, thetas, x[runs, batch], labels[runs, batch])
            for k, gradient in enumerate(gradients):
                gradient = np.rint(gradient / UNIT) * UNIT
                thetas[k], states[k] = _adam(thetas[k], gradient, 0.01, states[k])
    test = np.stack([g.test for g in draws])
    hidden = _with_one(np.maximum(x[runs, test] @ thetas[0], 0))
    right = (hidden @ thetas[1]).argmax(-1) == labels[runs, test]
    return (100 * right.mean(-1)).tolist()


def _two_gradients(way: str, bound: float, thetas, x, labels) -> list[np.ndarray]:
    """Return what one way makes of the gradients of both layers in each run."""
    hidden = _with_one(np.maximum(x @ thetas[0], 0))
    losses, error = _losses(thetas[1], hidden, labels)
    below = (error @ thetas[1].swapaxes(-1, -2) * (hidden > 0))[..., :-1]
    layers = (x, below), (hidden, error)
    norms = np.sqrt(sum((a**2).sum(-1) * (e**2).sum(-1) for a, e in layers))
    weights = np.ones_like(norms)
    if way in WEIGHTS:
        weights = WEIGHTS[way](losses, np.maximum(norms, 1e-300), bound)
    return [a.swapaxes(-1, -2) @ (e * weights[..., None]) / x.shape[-2] for a, e in layers]


def _inputs(x: np.ndarray, way: str) -> np.ndarray:
    """Return the images, (1797, 65): the pixels, if need be standardised, and a one."""
    if way == STANDARD:
        x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return _with_one(x)


def _gradient(way: str, bound: float, theta, x, labels) -> np.ndarray:
    """Return what one way makes of the gradients of a batch in each run, (runs, 65, 10)."""
    losses, error = _losses(theta, x, labels)
    norms = np.linalg.norm(error, axis=-1) * np.linalg.norm(x, axis=-1)
    if way in WEIGHTS:
        error = error * WEIGHTS[way](losses, np.maximum(norms, 1e-300), bound)[..., None]
    mean = x.swapaxes(-1, -2) @ error / x.shape[-2]
    if way == CLIPPED:
        whole = np.linalg.norm(mean, axis=(-2, -1), keepdims=True)
        mean *= np.minimum(1, bound / np.maximum(whole, 1e-300))
    return mean


def _losses(theta, x, labels) -> tuple[np.ndarray, np.ndarray]:
    """Return the cross entropies (..., B) and the errors, softmax minus one-hot, (..., B, 10)."""
    logits = x @ theta
    logits -= logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits).sum(-1))
    error = np.exp(logits - total[..., None])
    error -= labels[..., None] == np.arange(10)
    return total - np.take_along_axis(logits, labels[..., None], -1)[..., 0], error


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the place of each value in ascending order; of equal ones, the first comes first."""
    return np.argsort(np.argsort(values, kind="stable"))


def untrained(seed: int) -> tuple[int, int]:
    """Return how many of the 70 largest losses and of the 70 largest rows are bad ones'.

    The weights are drawn as PyTorch draws those of a linear layer: uniformly, to 1/8.
    """
    given = draw(seed)
    x = _with_one(given.x[given.training])
    losses, error = _losses(
        given.rng.uniform(-1 / 8, 1 / 8, (65, 10)), x, given.labels[given.training]
    )
    norms = np.linalg.norm(error, axis=1) * np.linalg.norm(x, axis=1)
    loss, row = (int((np.argsort(-score)[:BAD] < BAD).sum()) for score in (losses, norms))
    return loss, row


def _with_one(x: np.ndarray) -> np.ndarray:
    """Return x with a column of ones, for the bias."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def _descent(theta, gradient, rate, state):
    return theta - rate * gradient, state


def _adam(theta, gradient, rate, state):
    """Make one step of Adam with the usual constants; the state is (steps, mean, square)."""
    steps, mean, square = state[0] + 1, *state[1:]
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    size = np.sqrt(square / (1 - 0.999**steps)) + 1e-8
    return theta - rate * mean / (1 - 0.9**steps) / size, (steps, mean, square)
