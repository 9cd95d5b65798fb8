"""Softmax regression: its minimum, its curvature, and what leaving samples out does to it."""

import numpy as np
import pytest

import persample as ps
from persample_book.problems import softmax

DECAY = 0.5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    labels = rng.integers(4, size=40)
    return x, labels, softmax.fit(x, labels, DECAY, classes=4)


def total(theta, x, labels):
    scores = x @ theta.T
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(len(x)), labels]
    return losses.sum() + DECAY / 2 * (theta**2).sum()


def slope(function, theta, size=1e-6):
    """Return the derivative with central differences, of the shape of the result and theta."""
    columns = []
    for k in range(theta.size):
        step = np.zeros(theta.size)
        step[k] = size
        up, down = (function(theta + sign * step.reshape(theta.shape)) for sign in (1, -1))
        columns.append((np.asarray(up) - np.asarray(down)) / (2 * size))
    return np.stack(columns, axis=-1)


def test_the_fit_is_a_minimum_and_any_step_from_it_is_uphill(data):
    x, labels, theta = data
    assert np.abs(slope(lambda t: total(t, x, labels), theta)).max() < 1e-6
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = 0.01 * rng.normal(size=theta.shape)
        assert total(theta + step, x, labels) > total(theta, x, labels)


def test_the_hessian_is_the_derivative_of_the_gradient(data):
    x, labels, theta = data
    off = theta + 0.3  # nowhere special

    def gradient(t):
        return softmax.rows(t, x, labels).sum(0) + DECAY * t.ravel()

    wanted = slope(gradient, off)
    np.testing.assert_allclose(softmax.hessian(off, x, DECAY), wanted, atol=1e-7)


def test_rows_are_those_of_the_engine(data):
    x, labels, theta = data
    rows = ps.per_sample_grad(lambda t, xi, yi: ps.cross_entropy_loss(t @ xi, yi))(
        theta, x, labels
    )
    np.testing.assert_allclose(
        softmax.rows(theta, x, labels), rows.reshape(len(x), -1), atol=1e-12
    )


def test_a_refit_is_a_fit_of_what_is_left(data):
    x, labels, theta = data
    kept = np.ones((3, 40), bool)
    kept[1, 5] = False
    kept[2, 10:20] = False
    found = softmax.refits(theta, x, labels, DECAY, kept)
    for line, one in zip(kept, found, strict=True):
        wanted = softmax.fit(x[line], labels[line], DECAY, classes=4)
        np.testing.assert_allclose(one, wanted, atol=1e-8)


def test_influence_is_the_derivative_of_the_refitted_loss(data):
    """By weights: an integer weight is a repeated sample, here one part in 50."""
    x, labels, theta = data
    asked, asked_y = np.array([[0.3, -1.0, 0.5], [1.0, 0.0, 2.0]]), np.array([1, 3])

    def losses(t):
        p = softmax.probabilities(t, asked)
        return -np.log(p[np.arange(2), asked_y])

    found = softmax.influence(theta, x, labels, DECAY, asked, asked_y)
    assert found.shape == (40, 2)
    for i in (0, 7, 39):
        changes = []
        for more in (1, -1):
            counts = np.full(40, 400)
            counts[i] += more
            many = np.repeat(np.arange(40), counts)
            fitted = softmax.fit(x[many], labels[many], 400 * DECAY, classes=4)
            changes.append(losses(fitted))
        derivative = (changes[0] - changes[1]) / 2 * 400
        np.testing.assert_allclose(-found[i], derivative, rtol=1e-4, atol=1e-6)


def test_probabilities_of_many_fits_at_once_are_those_of_each(data):
    x, _, theta = data
    several = np.stack([theta, 2 * theta, theta + 900.0])
    together = softmax.probabilities(several, x)
    assert together.shape == (3, 40, 4)
    for one, p in zip(several, together, strict=True):
        np.testing.assert_allclose(p, softmax.probabilities(one, x), rtol=1e-12)
    np.testing.assert_allclose(together.sum(-1), 1.0)
    np.testing.assert_allclose(together[2], together[0], atol=1e-9)


def test_leaving_out_too_much_says_so(data):
    x, labels, theta = data
    kept = np.zeros((1, 40), bool)
    kept[0, :2] = True
    with pytest.raises(ArithmeticError, match="leave out fewer samples"):
        softmax.refits(3 * theta, 9 * x, labels, 1e-3, kept)


def test_what_has_no_minimum_is_refused(data):
    x, labels, theta = data
    with pytest.raises(ValueError, match="decay must be positive, not 0"):
        softmax.fit(x, labels, 0.0, classes=4)
    with pytest.raises(ValueError, match="labels must be from 0 to 3"):
        softmax.fit(x, labels - 1, DECAY, classes=4)
    with pytest.raises(ValueError, match="kept must be boolean"):
        softmax.refits(theta, x, labels, DECAY, np.ones((1, 40), int))
