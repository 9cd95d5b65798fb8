"""The cart pole's episodes: what chapter 3 relies on."""

import numpy as np
import pytest

import persample as ps
from persample import statistics
from persample.book.problems import cart_pole


def episode_loss(theta, s, a, weight):
    return ps.namespace_of(theta).sum(weight * ps.logistic_loss(theta, s, a))


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
