"""Cliff walking (Sutton & Barto 2018, example 6.6), from gymnasium: 4 x 12 cells, 4 actions.

Each step costs 1, the cliff along the lower edge 100 and a return to the start.
"""

import numpy as np

ROWS, COLUMNS, START, GOAL = 4, 12, 36, 47
ACTIONS = ("up", "right", "down", "left")


def features(state: int, action: int) -> np.ndarray:
    """Return the one-hot row (192,) of a state and an action."""
    return (np.arange(ROWS * COLUMNS * len(ACTIONS)) == state * len(ACTIONS) + action) * 1.0


def sample(state: int, action: int, reward: float, after: int, then: int, over: bool):
    """Return one transition between pairs (state, action) and (after, then), with a batch axis.

    Returns
    -------
    x (1, 192), r (1,), x_next (1, 192), which is zero where the episode is over.
    """
    x_next = features(after, then) * (not over)
    return features(state, action)[None], np.array([float(reward)]), x_next[None]


def path(policy: np.ndarray, limit: int = 100) -> list[int]:
    """Follow a greedy policy (48,) from the start; return the states, up to ``limit`` steps."""
    import gymnasium

    table = gymnasium.make("CliffWalking-v1").unwrapped.P
    states = [START]
    while states[-1] != GOAL and len(states) <= limit:
        states.append(int(table[states[-1]][policy[states[-1]]][0][1]))
    return states
