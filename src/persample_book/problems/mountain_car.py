"""Mountain car (Moore 1990), from gymnasium, under a policy that pumps energy.

The car pushes in the direction in which it moves, which always gets it out of the valley; each
step costs 1. Both the car and the policy are deterministic, so values can be counted.
"""

import numpy as np

LOW, HIGH = np.array([-1.2, -0.07]), np.array([0.6, 0.07])


def scale(state: np.ndarray) -> np.ndarray:
    """Map position and velocity to [-1, 1]."""
    return 2 * (state - LOW) / (HIGH - LOW) - 1


def episodes(count: int, seed: int) -> list[np.ndarray]:
    """Return the states of ``count`` episodes: arrays (T + 1, 2) of position and velocity."""
    import gymnasium

    task = gymnasium.make("MountainCar-v0", max_episode_steps=1000)
    paths = []
    for i in range(count):
        state, done = task.reset(seed=seed + i)[0], False
        path = [state]
        while not done:
            state, _, done, cut, _ = task.step(2 if state[1] >= 0 else 0)
            assert not cut
            path.append(state)
        paths.append(np.array(path, dtype=float))
    return paths


def transitions(paths: list[np.ndarray], gamma: float) -> tuple[np.ndarray, ...]:
    """Return s (N, 2), r (N,), s_next (N, 2), discount (N,), which is 0 at the goal."""
    s = np.concatenate([path[:-1] for path in paths])
    s_next = np.concatenate([path[1:] for path in paths])
    discount = np.concatenate([np.r_[np.full(len(path) - 2, gamma), 0.0] for path in paths])
    return scale(s), np.full(len(s), -1.0), scale(s_next), discount


def true_values(paths: list[np.ndarray], gamma: float) -> np.ndarray:
    """Return the discounted sum of the costs to come, (N,), counted along each path."""
    steps = np.concatenate([np.arange(len(path) - 1, 0, -1) for path in paths])
    return -(1 - gamma**steps) / (1 - gamma)
