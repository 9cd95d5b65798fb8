"""What the chapter on the divergence of TD(0) says in prose and does not run on its page."""

import numpy as np
import pytest
import torch

GAMMA, ALPHA = 0.99, 0.1
X = np.zeros((7, 8))
X[:6, :6], X[:6, 7], X[6, 6:] = 2 * np.eye(6), 1, [1, 2]
BAIRD = X, np.tile(X[6], (7, 1))
FIRST = np.array([[1.0]]), np.array([[2.0]])
START = {8: np.array([1.0, 1, 1, 1, 1, 1, 10, 1]), 1: np.ones(1)}


def mean_row(theta, s, s_next):
    return -((GAMMA * s_next @ theta - s @ theta) @ s) / len(s)


@pytest.mark.parametrize("seed", range(5))
def test_no_small_step_helps_from_other_starts(seed):
    for alpha in (0.1, 0.01):
        theta = np.random.default_rng(seed).normal(size=8)
        for _ in range(round(60 / alpha)):
            theta = theta - alpha * mean_row(theta, *BAIRD)
        assert np.abs(X @ theta).max() > 1e4


def test_where_the_residual_gradient_and_tdc_creep_the_td_errors_are_small():
    s, s_next = BAIRD
    residual, corrected, h = START[8], START[8], np.zeros(8)
    for _ in range(5000):
        difference = GAMMA * s_next - s
        residual = residual - ALPHA * (difference @ residual) @ difference / 7
        delta, guess = difference @ corrected, s @ h
        corrected = corrected + ALPHA * (delta @ s - GAMMA * guess @ s_next) / 7
        h = h + 0.5 * (delta - guess) @ s / 7
    for theta in (residual, corrected):
        values, errors = s @ theta, difference @ theta
        assert np.abs(values - 1.93).max() < 0.03
        assert np.abs(errors).max() < 0.0101 * values.max()


@pytest.mark.parametrize("period", [1, 3, 10, 30, 100, 300])
def test_a_target_network_grows_on_two_states_and_on_bairds_if_refreshed_often(period):
    largest = {}
    for s, s_next in (BAIRD, FIRST):
        theta = START[s.shape[1]]
        for step in range(6000):
            if step % period == 0:
                frozen = theta
            delta = GAMMA * s_next @ frozen - s @ theta
            theta = theta + ALPHA * delta @ s / len(s)
        largest[len(s)] = np.abs(s @ theta).max()
    assert largest[1] > 1e5
    assert (largest[7] < 12) == (period >= 10)


def test_adam_stays_bounded_on_bairds_example_from_another_start():
    begin = np.random.default_rng(0).normal(size=8) * 10
    theta, largest = torch.tensor(begin), 0.0
    adam = torch.optim.Adam([theta], lr=0.1)
    for _ in range(3000):
        theta.grad = torch.tensor(mean_row(theta.numpy(), *BAIRD))
        adam.step()
        largest = max(largest, np.abs(X @ theta.numpy()).max())
    assert largest < 1.5 * np.abs(X @ begin).max()
