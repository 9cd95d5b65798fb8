"""You are the Predictor (Sutton & Barto 2018, example 6.4): eight episodes, two states.

Once A, 0, B, 0; six times B, 1; once B, 0. What is the value of A?
"""

import numpy as np

A, B, END = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.zeros(2)


def transitions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nine transitions: s (9, 2), r (9,), s_next (9, 2)."""
    rewards = np.array([0.0, 0, 1, 1, 1, 1, 1, 1, 0])
    return np.stack([A] + [B] * 8), rewards, np.stack([B] + [END] * 8)


def returns() -> tuple[np.ndarray, np.ndarray]:
    """Return every visited state and the reward that followed it: x (9, 2), G (9,)."""
    return np.stack([A] + [B] * 8), np.array([0.0, 0, 1, 1, 1, 1, 1, 1, 0])
