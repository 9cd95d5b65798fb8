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


def _table() -> dict:
    """Return gymnasium's table: [state][action] -> [(probability, after, reward, over)]."""
    import gymnasium

    return gymnasium.make("CliffWalking-v1").unwrapped.P


def moves() -> list[tuple[int, int, float, int, bool]]:
    """Return every move (state, action, reward, after, over) from the 37 cells one can be in."""
    cells = [state for state in range(ROWS * COLUMNS) if not START < state <= GOAL]
    return [
        (state, action, float(reward), int(after), bool(over))
        for state in cells
        for action, [(_, after, reward, over)] in _table()[state].items()
    ]


def batch(every: list, policy: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return moves as transitions, s (N, 192), r (N,), s_next (N, 192); ``policy`` goes on."""
    parts = [sample(*move[:4], policy[move[3]], move[4]) for move in every]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def path(policy: np.ndarray, start: int = START, limit: int = 100) -> list[int]:
    """Follow a policy (48,) from a cell; return the cells on the way, ``limit`` steps at most."""
    table, states = _table(), [start]
    while states[-1] != GOAL and len(states) <= limit:
        states.append(int(table[states[-1]][policy[states[-1]]][0][1]))
    return states


def shortest() -> dict[int, int]:
    """Return the least number of steps to the goal from each cell, by breadth-first search."""
    steps, reached = {GOAL: 0}, [GOAL]
    safe = [(state, after) for state, _, reward, after, _ in moves() if reward == -1]
    while reached:
        new = {state for state, after in safe if after in reached and state not in steps}
        steps |= dict.fromkeys(new, steps[reached[0]] + 1)
        reached = list(new)
    return steps
