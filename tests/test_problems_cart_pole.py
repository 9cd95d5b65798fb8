"""The cart pole: what the chapter on noise relies on, and that it is equal on every machine."""

import gymnasium
import numpy as np
import pytest

import persample as ps
from persample import statistics
from persample_book import portable
from persample_book.problems import cart_pole


def episode_loss(theta, s, a, weight):
    return ps.array_namespace(theta).sum(weight * ps.logistic_loss(theta, s, a))


def test_episodes_are_padded_with_zeros_and_end_by_the_rules():
    s, a, reward = cart_pole.episodes(np.zeros((20, 4)), seed=3, limit=30)
    lengths = reward.sum(1).astype(int)
    assert s.shape == (20, lengths.max(), 4)
    assert a.shape == reward.shape == (20, lengths.max())
    assert lengths.max() == 30  # some reach the limit
    assert lengths.min() < 30
    assert set(np.unique(a)) == {0.0, 1.0}
    for i, length in enumerate(lengths):
        assert np.all(reward[i, :length] == 1)
        assert not np.any(reward[i, length:])
        assert not np.any(s[i, length:])
        assert not np.any(a[i, length:])
        assert np.all(np.abs(s[i, :length, 0]) <= 2.4)
        assert np.all(np.abs(s[i, :length, 2]) <= np.deg2rad(12) + 1e-6)


def test_the_same_seed_gives_the_same_episodes():
    first, again = (cart_pole.episodes(np.zeros((3, 4)), seed=1, limit=50) for _ in range(2))
    other = cart_pole.episodes(np.zeros((3, 4)), seed=2, limit=50)
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    assert not np.array_equal(first[0][:, 0], other[0][:, 0])


def test_actions_follow_each_lanes_own_policy():
    always_right = np.array([0.0, 0, 0, 0])
    theta = np.stack([always_right, np.array([0.0, 0, 50, 50])])
    _, _, reward = cart_pole.episodes(np.repeat(theta, 20, axis=0), seed=0, limit=200)
    lengths = reward.sum(1)
    assert lengths[:20].mean() < 40 < 100 < lengths[20:].mean()


def test_a_step_is_gymnasiums_to_half_a_unit():
    task = gymnasium.make("CartPole-v1").unwrapped
    rng = np.random.default_rng(0)
    largest = [cart_pole.TRACK, 30_000, cart_pole.FALLEN, 30_000]
    states = rng.integers(-np.array(largest), largest, (200, 4))
    right = rng.random(200) < 0.5
    fallen = []
    for state, push, later in zip(states, right, cart_pole.step(states, right), strict=True):
        task.reset(seed=0)
        task.state = state * cart_pole.UNITS
        fallen.append(task.step(int(push))[2])
        assert np.array_equal(fallen[-1], np.any(abs(later[[0, 2]]) > [largest[0], largest[2]]))
        apart = np.abs(later * cart_pole.UNITS - task.state) / cart_pole.UNITS
        assert np.all(apart <= [1e-6, 0.5 + 1e-6, 1e-6, 0.5 + 1e-6])
    assert 0 < sum(fallen) < 200


def test_the_limits_and_the_start_are_gymnasiums():
    task = gymnasium.make("CartPole-v1").unwrapped
    position, angle = cart_pole.UNITS[[0, 2]]
    assert round(task.x_threshold / position) == cart_pole.TRACK
    assert int(task.theta_threshold_radians / angle) == cart_pole.FALLEN
    s, _, _ = cart_pole.episodes(np.zeros((500, 4)), seed=0, limit=1)
    assert np.all(np.abs(s[:, 0]) <= 0.05 + 1e-12)
    assert np.all(np.abs(s[:, 0]).max(0) > 0.049)


def test_random_pushes_keep_the_pole_up_as_long_as_in_gymnasium():
    ours = cart_pole.episodes(np.zeros((2000, 4)), seed=1, limit=200)[2].sum(1)
    task = gymnasium.make_vec("CartPole-v1", 500, max_episode_steps=200)
    task.reset(seed=1)
    theirs, alive, rng = np.zeros(500), np.ones(500, bool), np.random.default_rng(2)
    while alive.any():
        theirs += alive
        _, _, fallen, cut, _ = task.step(rng.integers(0, 2, 500))
        alive &= ~fallen & ~cut
    error = np.sqrt(ours.var() / 2000 + theirs.var() / 500)
    assert abs(ours.mean() - theirs.mean()) < 4 * error


def test_reward_to_go_and_baseline():
    reward = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 0]])
    to_go = cart_pole.to_go(reward)
    assert np.array_equal(to_go, [[3, 2, 1], [2, 1, 0], [1, 0, 0]])
    baseline = cart_pole.mean_of_others(to_go)
    assert np.array_equal(baseline, [[1.5, 0.5, 0], [2, 1, 0.5], [2.5, 1.5, 0.5]])
    pairs = cart_pole.mean_of_others(np.stack([to_go, 2 * to_go]))
    assert np.array_equal(pairs, [baseline, 2 * baseline])


@pytest.mark.parametrize("weighting", ["past", "others"])
def test_what_no_action_can_change_adds_nothing_on_average(weighting):
    """Fails if the actions share their random numbers with the start states."""
    s, a, reward = cart_pole.episodes(np.zeros((4000, 4)), seed=0, limit=200)
    to_go = cart_pole.to_go(reward)
    past = to_go[:, :1] - to_go
    weight = {"past": past, "others": cart_pole.mean_of_others(to_go)}[weighting] * reward
    rows = ps.per_sample_grad(episode_loss)(np.zeros(4), s, a, weight)
    errors = np.sqrt(statistics.variance(rows) / len(rows))
    assert np.all(np.abs(rows.mean(0)) < 4 * errors)


def nearby(array, rng):
    """Return the array with its last bits changed: by up to 8 units in the last place."""
    return array + rng.integers(-8, 9, np.shape(array)) * np.spacing(array)


class AnotherMachine:
    """NumPy, but with other last bits wherever those differ between machines."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __getattr__(self, name):
        function = getattr(np, name)
        if name not in ("sin", "cos", "exp", "sum"):
            return function
        return lambda *args, **options: nearby(function(*args, **options), self.rng)


def train(machine=None, updates=6, runs=3, batch=8):
    """Learn as the chapter does; return all that was seen, with the weights it ended at."""
    rows_of, seen = ps.per_sample_grad(episode_loss, in_axes=(0, 0, 0, 0)), []
    theta = np.zeros((runs, 4))
    for update in range(updates):
        lanes = np.repeat(theta, batch, axis=0)
        s, a, reward = cart_pole.episodes(lanes, seed=update, limit=100)
        rows = rows_of(lanes, s, a, cart_pole.to_go(reward))
        step = 0.02 * rows.reshape(runs, batch, 4).mean(1)
        step = nearby(step, machine.rng) if machine else step
        theta = portable.rounded(theta - step, 0.01)
        seen += [s, a, reward]
    return [*seen, theta]


@pytest.mark.parametrize("seed", range(3))
def test_another_machine_plays_and_learns_the_same_to_the_last_bit(monkeypatch, seed):
    here = train()
    machine = AnotherMachine(seed)
    assert not np.array_equal(machine.exp(np.ones(20)), np.exp(np.ones(20)))
    monkeypatch.setattr(cart_pole, "np", machine)
    there = train(machine)
    assert here[-1].any()  # it has learnt something
    assert all(np.array_equal(x, y) for x, y in zip(here, there, strict=True))


def test_a_draw_too_close_to_call_is_refused(monkeypatch):
    class Even:
        integers = np.random.default_rng(0).integers

        def random(self, size):
            return np.full(size, 0.5 + 1e-12)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Even())
    with pytest.raises(ArithmeticError, match="the draw of an action is its bound 0.5 to within"):
        cart_pole.episodes(np.zeros((2, 4)), seed=0)


def test_a_change_of_velocity_too_close_to_call_is_refused(monkeypatch):
    """At rest and upright a push turns the pole by a number that can be put half-way."""
    state = np.zeros((1, 4), int)
    turn = cart_pole.step(state, np.array([True]))[0, 3]
    unit = 0.02 * 10 / 1.1 / (0.5 * (4 / 3 - 0.1 / 1.1))
    monkeypatch.setattr(cart_pole, "VELOCITY", unit / (abs(turn) + 0.5))
    with pytest.raises(ArithmeticError, match="a change of velocity is -.*5 units of 1, half-way"):
        cart_pole.step(state, np.array([True]))
