"""The A-split problem of Sutton & Barto (2018, example 11.2): where residuals mislead.

A leads to B or to C with probability 1/2 each; then the episode ends, with reward 1 from B and 0
from C. The values of A, B, C are 1/2, 1, 0.
"""

import numpy as np

TRUE_VALUES = np.array([0.5, 1.0, 0.0])


def transitions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the transitions A-B, A-C, B-end, C-end, as often as they occur in two episodes."""
    a, b, c = np.eye(3)
    end = np.zeros(3)
    return np.stack([a, a, b, c]), np.array([0.0, 0.0, 1.0, 0.0]), np.stack([b, c, end, end])
