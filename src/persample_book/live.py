"""What each live figure of the book computes, as Python functions; the page runs them.

``programs(name)`` returns them in JavaScript. The drawing is in ``_ext/live/NAME.js``.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from persample.arrays import array_namespace
from persample.engine import grad, vmap
from persample.losses import squared_loss, td_loss

from . import stepped
from .javascript import javascript


def clipped_rows(theta: Any, x: Any, y: Any, bound: Any) -> tuple:
    """Return the rows of a linear fit, and what clipping does to them.

    Parameters
    ----------
    theta : (2,). x : (B, 2) features. y : (B,). bound : 0-d, the largest norm allowed.

    Returns
    -------
    rows (B, 2), clipped rows (B, 2), mean of the rows (2,), that mean clipped (2,), mean of the
    clipped rows (2,).
    """
    rows = vmap(grad(squared_loss), in_axes=(None, 0, 0))(theta, x, y)
    clipped = vmap(clip, in_axes=(0, None))(rows, bound)
    xp = array_namespace(theta)
    mean = xp.mean(rows, axis=0)
    return rows, clipped, mean, clip(mean, bound), xp.mean(clipped, axis=0)


def clip(row: Any, bound: Any) -> Any:
    """Scale a vector down to the norm ``bound`` where its norm is larger."""
    xp = array_namespace(row)
    norm = xp.sqrt(xp.sum(row * row))
    return bound / xp.maximum(norm, bound) * row


def td_step(theta: Any, s: Any, r: Any, s_next: Any, alpha: Any) -> tuple:
    """Return the row of one transition, and the weights after a step against it."""
    row = grad(td_loss)(theta, s, r, s_next)
    return row, theta - alpha * row


def token_weights(keep: Any) -> tuple:
    """Return the weight of each token's loss in a mean of means, and in the mean over all tokens.

    A weight is the derivative of that mean with respect to the token's loss.

    Parameters
    ----------
    keep : (sequences, tokens), 1 for a token and 0 for padding.
    """
    xp = array_namespace(keep)

    def mean_of_means(losses):
        return xp.mean(xp.sum(losses * keep, axis=1) / xp.sum(keep, axis=1))

    def mean_of_all(losses):
        return xp.sum(losses * keep) / xp.sum(keep)

    at = xp.zeros_like(keep)  # both are linear: their derivative is the same everywhere
    return grad(mean_of_means)(at), grad(mean_of_all)(at)


def line_without(x: Any, y: Any, out: Any) -> tuple:
    """Return a line fitted to all points, and what becomes of it without some of them.

    Parameters
    ----------
    x : (B, 2), 1 and a position for each point. y : (B,). out : (B,), 1 for a point left out.

    Returns
    -------
    line fitted to all (2,), line fitted without (2,), the influence function's estimate of that
    (2,), leverage of each point (B,).
    """
    xp = array_namespace(x)
    everywhere = xp.ones_like(y)
    theta = fitted(x, y, everywhere)
    rows = vmap(grad(squared_loss), in_axes=(None, 0, 0))(theta, x, y)
    inverse = inverse_2x2(x.T @ x)
    estimate = theta + inverse @ (out @ rows)
    leverage = xp.sum((x @ inverse) * x, axis=1)
    return theta, fitted(x, y, everywhere - out), estimate, leverage


def fitted(x: Any, y: Any, weights: Any) -> Any:
    """Return the (2,) parameters of least squares with a weight (B,) for each point."""
    weighted = x * weights[:, None]
    return inverse_2x2(weighted.T @ x) @ (weighted.T @ y)


def inverse_2x2(a: Any) -> Any:
    """Return the inverse of a symmetric (2, 2) matrix."""
    xp = array_namespace(a)
    turned = xp.stack([xp.stack([a[1, 1], -a[0, 1]]), xp.stack([-a[0, 1], a[0, 0]])])
    return turned / (a[0, 0] * a[1, 1] - a[0, 1] * a[0, 1])


def layer_costs(samples: Any, positions: Any, width: Any) -> tuple:
    """Return what a linear layer costs that is as wide as its input: multiplications, numbers.

    The Gram form takes fewer multiplications where positions < width / 2. What is kept exceeds
    all rows where positions > width / 2.

    Parameters
    ----------
    samples, positions, width : 0-d. The layer is applied at each position of each sample.

    Returns
    -------
    Multiplications (4,): of an ordinary pass, of the norms in Gram form and in direct form, of
    the clipped sum once the norms are known. Numbers (4,), of all samples at once: the weights
    (as many as the clipped sum), what the norms are made of (inputs and cotangents), two Gram
    matrices for each sample, and all rows, which the direct form makes.
    """
    xp = array_namespace(samples)
    product = samples * positions * width * width  # of one matrix product of the layer
    grams = 2.0 * samples * positions * positions  # the numbers of both
    kept = 2.0 * samples * positions * width
    weights = width * width
    return (
        xp.stack([3.0 * product, grams * width, product, product]),
        xp.stack([weights, kept, grams, samples * weights]),
    )


# Figure -> name in the page -> the function, and arguments of the shapes that it gets there.
FIGURES: dict[str, dict[str, tuple[Callable, Sequence]]] = {
    "clip": {
        "clippedRows": (
            clipped_rows,
            (np.ones(2), np.ones((4, 2)), np.ones(4), np.ones(())),
        )
    },
    "leave": {
        "lineWithout": (line_without, (np.vander(np.arange(6.0), 2), np.ones(6), np.eye(6)[0]))
    },
    "dial": {"layerCosts": (layer_costs, (np.ones(()), np.ones(()), np.ones(())))},
    "graph": {graph.name: (graph.walk, graph.arguments) for graph in stepped.GRAPHS},
    "means": {"tokenWeights": (token_weights, (np.ones((2, 12)),))},
    "td": {
        "tdStep": (
            td_step,
            (np.ones(5), np.ones(5), np.ones(()), np.ones(5), np.ones(())),
        )
    },
}


# Figure -> name in the page -> what it also has to know there, of plain lists and texts.
DATA = {"graph": {"graphs": [graph.data() for graph in stepped.GRAPHS]}}


def programs(name: str) -> str:
    """Return what a figure computes, and its data, as JavaScript: an object with their names."""
    entries = [
        f"{key}: {javascript(f, *args).rstrip()}" for key, (f, args) in FIGURES[name].items()
    ]
    entries += [
        f"{key}: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}"
        for key, data in DATA.get(name, {}).items()
    ]
    return "{\n" + ",\n".join(entries) + "\n}"
