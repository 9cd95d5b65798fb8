"""Softmax regression with weight decay, fitted to its minimum: leaving a sample out, in truth.

Separate from the networks because it is convex: there is one minimum, every machine finds it, and
a fit without a sample can be compared with what its row promised.
"""

import numpy as np


def fit(x: np.ndarray, labels: np.ndarray, decay: float, classes: int = 10) -> np.ndarray:
    """Return the weights with the least sum of losses + decay/2 |theta|^2, by Newton's method.

    Parameters
    ----------
    x : (B, d). labels : (B,) integers below ``classes``. decay : a positive number.

    Returns
    -------
    np.ndarray : (classes, d); the gradient there is below 1e-9 in every component.

    Example
    -------
    >>> theta = fit(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0, 1]), decay=1.0, classes=2)
    >>> theta.shape, bool(np.allclose(theta.sum(0), 0))
    ((2, 2), True)
    """
    if decay <= 0:
        raise ValueError(f"fit: decay must be positive, not {decay:g}.")
    if np.min(labels) < 0 or np.max(labels) >= classes:
        raise ValueError(f"fit: labels must be from 0 to {classes - 1}.")
    theta = np.zeros((classes, x.shape[1]))
    targets = np.eye(classes)[labels]
    for _ in range(50):
        slope = (probabilities(theta, x) - targets).T @ x + decay * theta
        if np.abs(slope).max() < 1e-9:
            return theta
        step = np.linalg.solve(hessian(theta, x, decay), slope.ravel()).reshape(theta.shape)
        before = _total(theta, x, targets, decay)
        while _total(theta - step, x, targets, decay) > before + 1e-9:
            step = step / 2
        theta = theta - step
    raise ArithmeticError("fit: no minimum after 50 steps of Newton's method; raise decay.")


def refits(
    theta: np.ndarray, x: np.ndarray, labels: np.ndarray, decay: float, kept: np.ndarray
) -> np.ndarray:
    """Return the minimum for each line of ``kept`` (R, B), True where a sample stays: (R, *theta).

    Every step solves with the Hessian of the full fit ``theta``, so all refits go in step; they
    end where every gradient, of the loss that is left, is below 1e-9 in every component.
    """
    if np.asarray(kept).dtype != bool:
        raise ValueError("refits: kept must be boolean, True where a sample stays.")
    inverse = np.linalg.inv(hessian(theta, x, decay))
    targets = np.eye(len(theta))[labels]
    found = np.repeat(theta[None], len(kept), axis=0)
    for _ in range(300):
        errors = (probabilities(found, x) - targets) * kept[:, :, None]
        slopes = errors.transpose(0, 2, 1) @ x + decay * found
        if np.abs(slopes).max() < 1e-9:
            return found
        found = found - (slopes.reshape(len(kept), -1) @ inverse).reshape(found.shape)
    raise ArithmeticError("refits: no minimum after 300 steps; leave out fewer samples.")


def rows(theta: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the gradient of every sample's own loss, without weight decay, (B, P)."""
    errors = probabilities(theta, x) - np.eye(len(theta))[labels]
    return (errors[:, :, None] * x[:, None, :]).reshape(len(x), -1)


def influence(
    theta: np.ndarray,
    x: np.ndarray,
    labels: np.ndarray,
    decay: float,
    x_asked: np.ndarray,
    labels_asked: np.ndarray,
) -> np.ndarray:
    """Return g_asked . H^-1 g_i for every sample i and every image asked about, (B, A).

    To first order the loss of the image rises by this much where sample i is left out. H is the
    Hessian of the sum of losses and decay; rows have no factor 1/B.

    Source: Koh and Liang (2017), equation 2, with the sign of a sample left out.
    """
    asked = rows(theta, x_asked, labels_asked)
    return rows(theta, x, labels) @ np.linalg.solve(hessian(theta, x, decay), asked.T)


def hessian(theta: np.ndarray, x: np.ndarray, decay: float) -> np.ndarray:
    """Return the second derivatives of what ``fit`` makes small, (P, P), P = classes * d."""
    p, (classes, d) = probabilities(theta, x), theta.shape
    blocks = np.empty((classes, d, classes, d))
    for a in range(classes):
        for b in range(a, classes):
            curvature = p[:, a] * ((a == b) - p[:, b])
            blocks[a, :, b] = blocks[b, :, a] = (x * curvature[:, None]).T @ x
    return blocks.reshape(theta.size, -1) + decay * np.eye(theta.size)


def probabilities(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the softmax of x theta^T, (..., B, classes), for theta (..., classes, d)."""
    scores = x @ np.swapaxes(theta, -1, -2)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def _total(theta, x, targets, decay):
    chosen = (probabilities(theta, x) * targets).sum(1)
    return -np.log(np.maximum(chosen, 1e-300)).sum() + decay / 2 * (theta**2).sum()
