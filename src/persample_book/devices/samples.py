"""The samples and the network of the chapter on many devices, as NumPy arrays.

Eight samples whose rows are whole numbers, and a network with sixteen random ones.
"""

import numpy as np

# The loss of a sample is half the square of x @ THETA - y; its row is (x @ THETA - y) x.
THETA = np.array([1.0, 1.0])
ERRORS = np.array([1.0, -1, 1, 1, -1, 1, 1, -1])
ROWS = np.array(
    [[1.0, 3], [4, 1], [-3, 2], [-3, -1], [2, -1], [3, -3], [-1, -3], [-1, 4]]
)
X = ROWS / ERRORS[:, None]
Y = X @ THETA - ERRORS

FEATURES, HIDDEN, CLASSES = 6, 5, 3
NUMBERS = (FEATURES + 1) * HIDDEN + (
    HIDDEN + 1
) * CLASSES  # of the network: 53


def network(seed: int = 0) -> dict[str, np.ndarray]:
    """Return the parameters of a network with one hidden layer, float64."""
    rng = np.random.default_rng(seed)
    shapes = {
        "0.weight": (HIDDEN, FEATURES),
        "0.bias": (HIDDEN,),
        "2.weight": (CLASSES, HIDDEN),
        "2.bias": (CLASSES,),
    }
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def batch(size: int = 16, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return ``size`` samples, (size, 6), and their classes, (size,)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(16, FEATURES))[:size], rng.integers(
        0, CLASSES, 16
    )[:size]


def clipped_rows(size: int = 4096, seed: int = 2) -> np.ndarray:
    """Return rows of norm 1 at most, (size, 8), float32: what many devices are to add up."""
    g = np.random.default_rng(seed).normal(size=(size, 8)) + 1
    return (
        g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1)
    ).astype(np.float32)


def one_process(size: int = 16, max_norm: float = 1.0) -> dict:
    """Return rows, norms, clipped sum, mean and second moment, by NumPy, one sample at a time.

    This is what every number of devices is compared with: backpropagation by hand.
    """
    p, (x, y) = network(), batch(size)
    rows: dict[str, list] = {name: [] for name in p}
    for sample, label in zip(x, y, strict=True):
        h = np.tanh(p["0.weight"] @ sample + p["0.bias"])
        scores = p["2.weight"] @ h + p["2.bias"]
        ct = np.exp(scores - scores.max())
        ct = ct / ct.sum() - (np.arange(CLASSES) == label)
        back = (ct @ p["2.weight"]) * (1 - h**2)
        found = {"0.weight": np.outer(back, sample), "0.bias": back}
        for name, g in {
            **found,
            "2.weight": np.outer(ct, h),
            "2.bias": ct,
        }.items():
            rows[name].append(g)
    stacked = {name: np.array(g) for name, g in rows.items()}
    norms = np.sqrt(
        sum((g.reshape(size, -1) ** 2).sum(1) for g in stacked.values())
    )
    factors = np.minimum(1, max_norm / norms)
    return {
        "rows": stacked,
        "norms": norms,
        "clipped sum": {
            name: np.tensordot(factors, g, 1) for name, g in stacked.items()
        },
        "mean": {name: g.mean(0) for name, g in stacked.items()},
        "second moment": {name: (g**2).mean(0) for name, g in stacked.items()},
    }
