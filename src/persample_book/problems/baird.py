"""Baird's counterexample (1995), in the form of Sutton & Barto (2018, section 11.2).

Seven states, eight weights, every reward 0, so all values are 0 and can be represented. The
policy in question always goes to the seventh state; states are met equally often.
"""

import numpy as np

GAMMA = 0.99
START = np.array([1.0, 1, 1, 1, 1, 1, 10, 1])


def features() -> np.ndarray:
    """Return the features (7, 8): 2 w_i + w_8 for states 1 to 6, w_7 + 2 w_8 for state 7."""
    x = np.zeros((7, 8))
    x[np.arange(6), np.arange(6)] = 2.0
    x[:6, 7], x[6, 6], x[6, 7] = 1.0, 1.0, 2.0
    return x


def transitions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one transition from every state to the seventh: s (7, 8), r (7,), s_next (7, 8)."""
    x = features()
    return x, np.zeros(7), np.tile(x[6], (7, 1))
