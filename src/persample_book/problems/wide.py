"""Networks of one wide ReLU layer on ten points of the plane, their kernels, and their training.

f(x) = sum_k a_k max(w_k . x, 0) / sqrt(m), with w (m, 2) and a (m,) standard normal. Everything
is written out in NumPy, float64: a width of 16,384 has 49,152 parameters.
"""

import numpy as np

TURN = np.arange(10) * np.pi / 10  # phi
INPUTS = np.column_stack([np.cos(TURN), np.sin(TURN)]) * (1 + np.arange(10) / 10)[:, None]
GOAL = np.sin(3 * TURN)


def draw(width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return w (width, 2) and a (width,)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(width, 2)), rng.normal(size=width)


def kernel(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return all products of the gradients of the ten outputs, (10, 10)."""
    z = INPUTS @ w.T
    on = (z > 0).astype(float)
    return (z * on @ (z * on).T + INPUTS @ INPUTS.T * (on * a**2 @ on.T)) / len(a)


def limit() -> np.ndarray:
    """Return the expectation of the kernel, (10, 10).

    It is half the arc-cosine kernel of degree 1, and x . x' times half that of degree 0.
    Source: Cho and Saul (2009).
    """
    lengths = np.linalg.norm(INPUTS, axis=1)
    both = np.outer(lengths, lengths)
    cosine = np.clip(INPUTS @ INPUTS.T / both, -1, 1)
    rest = np.pi - np.arccos(cosine)
    return (both * (np.sin(rest) + rest * cosine) + INPUTS @ INPUTS.T * rest) / (2 * np.pi)


def errors(w: np.ndarray, a: np.ndarray, power: float = 0.5) -> np.ndarray:
    """Return outputs minus sin(3 phi), (10,); the outputs are divided by m to this power."""
    return np.maximum(INPUTS @ w.T, 0) @ a / len(a) ** power - GOAL


def trained(
    w: np.ndarray, a: np.ndarray, steps: int = 100, power: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Take steps of size m^(2 power - 1) on the mean of half the squared errors.

    With a power of 1 the outputs are divided by m instead of its root. The step size makes up for
    that, so the kernel at the start, times the step size, is the same for every power.
    """
    m = len(a)
    for _ in range(steps):
        z, r = INPUTS @ w.T, errors(w, a, power) / m ** (1 - power) / len(INPUTS)
        w, a = w - (r[:, None] * (z > 0) * a).T @ INPUTS, a - np.maximum(z, 0).T @ r
    return w, a


def missed(start: np.ndarray, end: np.ndarray, K: np.ndarray, steps: int = 100) -> float:
    """How far off a linear model with the kernel K, held fixed, predicts the errors at the end.

    In shares of the errors at the start.
    """
    step = np.eye(len(K)) - K / len(K)
    predicted = np.linalg.matrix_power(step, steps) @ start
    return distance(end, predicted, start)


def distance(one: np.ndarray, other: np.ndarray, unit: np.ndarray) -> float:
    """Return the Euclidean distance of two arrays, in norms of a third."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(unit))


def from_limit(width: int, draws: int) -> float:
    """Return the root mean square, over draws, of the relative distance of kernel and limit."""
    wanted = limit()
    found = (distance(kernel(*draw(width, seed)), wanted, wanted) for seed in range(draws))
    return float(np.mean(np.square(list(found))) ** 0.5)
