"""Cart pole (Barto, Sutton & Anderson 1983), from gymnasium, under a linear stochastic policy.

A step earns 1 until the pole falls, the cart leaves the track, or the limit is reached. The
policy pushes to the right with probability sigma(theta . s), s = position, velocity, angle, its
rate; so -log pi(a | s) is the logistic loss of the action. Lanes run in step with each other.
"""

import numpy as np


def episodes(theta: np.ndarray, seed: int, limit: int = 500) -> tuple[np.ndarray, ...]:
    """Run one episode a lane, each lane under weights of its own.

    Parameters
    ----------
    theta : (B, 4), one policy a lane. limit : the most steps an episode may have.

    Returns
    -------
    s (B, T, 4), a (B, T), reward (B, T), padded with zeros after a lane's end; T is the longest.
    """
    import gymnasium

    lanes = len(theta)
    # Not the task's own seed: its start states would be the very numbers that choose the actions.
    rng = np.random.default_rng([seed, 1])
    task = gymnasium.make_vec("CartPole-v1", lanes, max_episode_steps=limit)
    state = task.reset(seed=seed)[0]
    alive, history = np.ones(lanes, bool), []
    while alive.any():
        s = np.where(alive[:, None], state, 0.0)
        right = 1 / (1 + np.exp(-np.sum(s * theta, axis=1)))
        a = (rng.random(lanes) < right) & alive
        state, _, fallen, cut, _ = task.step(a.astype(int))
        history.append((s, a * 1.0, alive * 1.0))
        alive = alive & ~fallen & ~cut
    return tuple(np.stack(part, axis=1) for part in zip(*history, strict=True))


def to_go(reward: np.ndarray) -> np.ndarray:
    """Return the sum of the rewards from each step on, (B, T): G_t = r_t + r_{t+1} + ..."""
    return np.cumsum(reward[:, ::-1], axis=1)[:, ::-1].copy()  # torch takes no reversed views


def mean_of_others(to_go: np.ndarray) -> np.ndarray:
    """Return for each episode and step the mean of the *other* episodes' reward to go.

    A baseline that does not depend on the episode's own actions. An episode that has ended counts
    as 0, what it had left. Shape (..., B, T) for B >= 2 episodes of one policy.
    """
    total = to_go.sum(axis=-2, keepdims=True)
    return (total - to_go) / (to_go.shape[-2] - 1)
