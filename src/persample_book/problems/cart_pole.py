"""Cart pole (Barto, Sutton & Anderson 1983) under a linear stochastic policy.

A step earns 1 until the pole falls, the cart leaves the track, or the limit is reached. The
policy pushes to the right with probability sigma(theta . s), s = position, velocity, angle, its
rate; so -log pi(a | s) is the logistic loss of the action. Lanes run in step with each other.
"""

import numpy as np

from ..portable import below, rounded

# Of gymnasium's CartPole-v1, in kg, m, s and N; of the pole half its length.
GRAVITY, CART, POLE, HALF, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

# The state is held in whole numbers, as sums of whole numbers have no rounding error. A velocity
# counts units of 0.0001 m/s (rad/s), a place the units that such a velocity covers in one step.
VELOCITY = 1e-4
UNITS = np.array([TAU * VELOCITY, VELOCITY, TAU * VELOCITY, VELOCITY])
START = np.array([25_000, 500, 25_000, 500])  # 0.05 of each
TRACK, FALLEN = 1_200_000, 104_719  # 2.4 m, and 12 degrees, which are 104,719.8 units


def episodes(theta: np.ndarray, seed: int, limit: int = 500) -> tuple[np.ndarray, ...]:
    """Run one episode a lane, each lane under weights of its own.

    Equal weights give equal episodes on every machine: the state is exact, and the draw of an
    action is refused where the last bit of the probability could turn it.

    Parameters
    ----------
    theta : (B, 4), one policy a lane. limit : the most steps an episode may have.

    Returns
    -------
    s (B, T, 4), a (B, T), reward (B, T), padded with zeros after a lane's end; T is the longest.

    Raises
    ------
    ArithmeticError : a number too close to where it would be rounded or drawn otherwise.
    """
    lanes = len(theta)
    rng = np.random.default_rng(seed)
    state = rng.integers(-START, START, (lanes, 4), endpoint=True)
    alive, history = np.ones(lanes, bool), []
    while alive.any() and len(history) < limit:
        s = np.where(alive[:, None], state * UNITS, 0.0)
        right = 1 / (1 + np.exp(-np.sum(s * theta, axis=1)))
        a = below(rng.random(lanes), right, "the draw of an action") & alive
        history.append((s, a * 1.0, alive * 1.0))
        state = np.where(alive[:, None], step(state, a), state)
        alive = alive & (abs(state[:, 0]) <= TRACK) & (abs(state[:, 2]) <= FALLEN)
    return tuple(np.stack(part, axis=1) for part in zip(*history, strict=True))


def step(state: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the state 0.02 s later: places move by the old velocities, then these change.

    A velocity changes by whole units. So the last bit of a sine, which differs between machines,
    is forgotten in each step; otherwise it would grow until it turns an action.

    Parameters
    ----------
    state : (B, 4) integers, which count ``UNITS``. right : (B,), whether to push to the right.

    Returns
    -------
    (B, 4) integers.

    Source: Barto, Sutton & Anderson (1983), appendix, without friction; Euler's method.
    """
    _, _, angle, spin = (state * UNITS).T
    sin, cos = np.sin(angle), np.cos(angle)
    push = (np.where(right, FORCE, -FORCE) + POLE * HALF * spin**2 * sin) / (CART + POLE)
    turn = (GRAVITY * sin - cos * push) / (HALF * (4 / 3 - POLE * cos**2 / (CART + POLE)))
    drive = push - POLE * HALF * turn * cos / (CART + POLE)
    change = TAU / VELOCITY * np.stack([drive, turn], axis=1)
    later = state.copy()
    later[:, [0, 2]] += state[:, [1, 3]]
    later[:, [1, 3]] += rounded(change, 1, "a change of velocity").astype(int)
    return later


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
