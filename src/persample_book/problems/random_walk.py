"""The random walk of Sutton (1988) and Sutton & Barto (2018, example 6.2).

States 1 to n in a row, a start in the middle, steps to either side with probability 1/2; the
reward is 1 for leaving on the right and 0 otherwise, so the value of a state is the probability
of that: i / (n + 1).
"""

import numpy as np


def true_values(n: int = 5) -> np.ndarray:
    """Return the exact values, (n,)."""
    return np.arange(1, n + 1) / (n + 1)


def features(states: np.ndarray, n: int = 5) -> np.ndarray:
    """Return one-hot rows for states 1 to n, and zeros for the ends 0 and n + 1."""
    return (states[..., None] == np.arange(1, n + 1)).astype(float)


def transitions(n: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each of the 2n transitions once: s (2n, n), r (2n,), s_next (2n, n)."""
    states = np.repeat(np.arange(1, n + 1), 2)
    after = states + np.tile([-1, 1], n)
    return features(states, n), (after == n + 1).astype(float), features(after, n)


def episodes(rng: np.random.Generator, runs: int, n: int = 5) -> tuple[np.ndarray, ...]:
    """Walk one episode in each of ``runs`` independent runs, in step with each other.

    Returns
    -------
    s (T, runs, n), r (T, runs), s_next (T, runs, n), outcome (runs,)
        Zeros after a run's episode has ended. ``outcome`` is the return: 1 for an exit right.
    """
    state, before, after = np.full(runs, (n + 1) // 2), [], []
    while ((state > 0) & (state <= n)).any():
        inside = (state > 0) & (state <= n)
        before.append(np.where(inside, state, 0))
        state = np.where(inside, state + rng.choice([-1, 1], size=runs), state)
        after.append(np.where(inside, state, 0))
    before, after = np.stack(before), np.stack(after)
    return features(before, n), (after == n + 1) * 1.0, features(after, n), (state > 0) * 1.0
