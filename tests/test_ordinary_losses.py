"""Losses as people write them: the same rows in every backend, and by every route.

A loss is a function of the parameters and one sample's data; the decorator says what to draw for
both. Nothing is used but the Array API and what ``persample`` itself offers.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from optree import tree_flatten, tree_map

import persample as ps
from persample import engine
from persample.backends import BACKENDS

from .cases import arrays
from .specs import Input, positive, real
from .tolerances import FINITE_DIFFERENCES, FLOAT32, assert_close

SAMPLES = 4


class Loss(NamedTuple):
    """A loss, and how to draw its parameters (a tree of Inputs) and one sample's data."""

    loss: Callable
    params: Any
    sample: tuple

    def draw(self, seed: int = 0) -> tuple:
        """Return parameters, and data of SAMPLES distinct samples."""
        rng = np.random.default_rng(seed)
        if isinstance(self.params, dict):
            params = {key: x.draw(rng, x.shape) for key, x in self.params.items()}
        else:
            params = self.params.draw(rng, self.params.shape)
        return params, *[x.draw(rng, (SAMPLES, *x.shape)) for x in self.sample]


LOSSES: dict[str, Loss] = {}


def given(params, *sample):
    """Enter a loss into the table, under its name."""
    return lambda loss: LOSSES.update({loss.__name__: Loss(loss, params, sample)})


def label(classes, *shape):
    return Input(shape, lambda rng, s: rng.integers(0, classes, s))


def yes_or_no(*shape):
    return Input(shape, lambda rng, s: rng.integers(0, 2, s).astype(float))


def logsumexp(xp, z, axis=-1):
    top = ps.stop_gradient(xp.max(z, axis=axis, keepdims=True))
    return xp.squeeze(top, axis=axis) + xp.log(xp.sum(xp.exp(z - top), axis=axis))


def log_softmax(xp, z):
    return z - xp.expand_dims(logsumexp(xp, z), axis=-1)


def softmax(xp, z):
    return xp.exp(log_softmax(xp, z))


def sigmoid(xp, z):
    return 0.5 * (1.0 + xp.tanh(0.5 * z))


def relu(xp, z):
    return xp.where(z > 0, z, xp.zeros_like(z))


def pick(xp, z, y):
    """z[y] for an integer array of one number: an index that every backend maps."""
    return xp.take(z, xp.reshape(y, (1,)), axis=0)[0]


@given({"w": real(3), "cuts": positive(3)}, real(3), label(4))
def ordinal(params, x, y):
    xp = ps.array_namespace(params)
    cuts = xp.cumulative_sum(params["cuts"], axis=0) - xp.matmul(x, params["w"])
    below = sigmoid(xp, cuts)
    ends = xp.concat([xp.zeros_like(below[:1]), below, xp.ones_like(below[:1])])
    return -xp.log(pick(xp, ends[1:] - ends[:-1], y) + 1e-6)


@given(real(6, 3), real(3), yes_or_no(6))
def lovasz_hinge(w, x, y):
    xp = ps.array_namespace(w)
    errors = 1.0 - (2.0 * y - 1.0) * xp.matmul(w, x)
    order = xp.argsort(errors, descending=True)
    truth = xp.take_along_axis(y, order, axis=0)
    overlap = xp.sum(truth) - xp.cumulative_sum(truth, axis=0)
    union = xp.sum(truth) + xp.cumulative_sum(1.0 - truth, axis=0)
    jaccard = 1.0 - overlap / union
    steps = xp.concat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
    return xp.sum(relu(xp, xp.take_along_axis(errors, order, axis=0)) * steps)


@given({"mean": real(3), "L": real(3, 3)}, real(3))
def gaussian_with_a_full_covariance(params, x):
    xp = ps.array_namespace(params)
    covariance = xp.matmul(params["L"], xp.matrix_transpose(params["L"])) + xp.eye(
        3, dtype=params["L"].dtype
    )
    off = x - params["mean"]
    logdet = xp.linalg.slogdet(covariance)[1]
    return 0.5 * (xp.vecdot(off, xp.linalg.solve(covariance, off[:, None])[:, 0]) + logdet)


@given({"length": positive(), "noise": positive()}, real(5, 2), real(5))
def gaussian_process(params, x, y):
    xp = ps.array_namespace(params)
    off = xp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    kernel = xp.exp(-0.5 * off / params["length"] ** 2)
    kernel = kernel + params["noise"] * xp.eye(5, dtype=x.dtype)
    factor = xp.linalg.cholesky(kernel)
    white = xp.linalg.solve(factor, y[:, None])[:, 0]
    return 0.5 * xp.vecdot(white, white) + xp.sum(xp.log(xp.linalg.diagonal(factor)))


@given({"W": real(12, 3), "U": real(12, 3), "b": real(12)}, real(4, 3), real(3))
def lstm(params, steps, y):
    xp = ps.array_namespace(params)
    h = c = xp.zeros_like(params["b"][:3])
    for x in xp.unstack(steps):
        gates = xp.matmul(params["W"], x) + xp.matmul(params["U"], h) + params["b"]
        i, f, g, o = [gates[3 * n : 3 * n + 3] for n in range(4)]
        c = sigmoid(xp, f) * c + sigmoid(xp, i) * xp.tanh(g)
        h = sigmoid(xp, o) * xp.tanh(c)
    return xp.mean((h - y) ** 2)


@given({"Q": real(2, 3), "K": real(2, 3), "V": real(3, 3)}, real(5, 3), real(5, 3))
def causal_attention(params, x, y):
    xp = ps.array_namespace(params)
    q, k, v = [xp.matmul(x, xp.matrix_transpose(params[name])) for name in "QKV"]
    scores = xp.matmul(q, xp.matrix_transpose(k)) / math.sqrt(2.0)
    allowed = xp.tril(xp.ones_like(scores)) > 0
    weights = softmax(xp, xp.where(allowed, scores, xp.full_like(scores, -1e9)))
    return xp.mean((xp.matmul(weights, v) - y) ** 2)


@given(real(5, 4), label(5, 6))
def language_model(table, words):
    """The next word from the embedding of the last; losses of a sequence, averaged."""
    xp = ps.array_namespace(table)
    scores = xp.matmul(xp.take(table, words[:-1], axis=0), xp.matrix_transpose(table))
    right = xp.take_along_axis(log_softmax(xp, scores), words[1:, None], axis=-1)
    return -xp.mean(right)


@given(real(4, 3), real(3), label(4), real(), real(3))
def q_learning(w, s, action, r, s_next):
    xp = ps.array_namespace(w)
    target = ps.stop_gradient(r + 0.9 * xp.max(xp.matmul(w, s_next)))
    return 0.5 * (pick(xp, xp.matmul(w, s), action) - target) ** 2


# The tests -------------------------------------------------------------------------------------

# JAX compiles each operation for each shape, which takes a second or two a loss.
FEW = ["q_learning", "causal_attention", "gaussian_process", "language_model"]
every_loss = pytest.mark.parametrize("name", LOSSES)


def loop(name):
    row = LOSSES[name]
    return ps.loop_grad(row.loss)(*row.draw())


@every_loss
def test_vmap_and_jit_give_the_rows_of_the_loop(name):
    row, expected = LOSSES[name], loop(name)
    args = row.draw()
    assert_close(ps.per_sample_grad(row.loss)(*args), expected)
    assert_close(ps.per_sample_grad(row.loss, jit=True)(*args), expected)
    leaves = tree_flatten(expected)[0]
    assert all(np.isfinite(x).all() and x.shape[0] == SAMPLES for x in leaves)
    rows = np.concatenate([x.reshape(SAMPLES, -1) for x in leaves], axis=1)
    assert len(np.unique(rows.round(9), axis=0)) == SAMPLES, "two samples have one row"


def rows_in(backend, name, dtype):
    row = LOSSES[name]
    given = [arrays(x, backend, dtype) for x in row.draw()]
    return ps.to_numpy(ps.per_sample_grad(row.loss, jit=backend == "jax")(*given))


@pytest.mark.parametrize(
    ("backend", "name"),
    [(backend, name) for backend in BACKENDS for name in (FEW if backend == "jax" else LOSSES)],
)
def test_every_backend_gives_the_rows_of_the_loop(backend, name):
    if backend != "numpy":
        assert_close(rows_in(backend, name, "float64"), loop(name))
    if backend != "jax" or name in FEW[:1]:
        rows = rows_in(backend, name, "float32")
        assert {x.dtype for x in tree_flatten(rows)[0]} == {np.dtype("float32")}
        assert_close(rows, loop(name), 100 * FLOAT32)


# The target of Q-learning is held fixed, so the gradient is not the derivative of the value.
@pytest.mark.parametrize("name", [n for n in LOSSES if n != "q_learning"])
def test_the_loop_agrees_with_finite_differences(name):
    """The loop is the oracle of the rest; this is the oracle of the loop."""
    row, rng = LOSSES[name], np.random.default_rng(1)
    params, *sample = row.draw()
    one = [x[1] for x in sample]
    along = tree_map(lambda x: np.asarray(rng.normal(size=x.shape)), params)

    def value(step):
        moved = tree_map(lambda x, d: np.asarray(x + step * d), params, along)
        return engine.value_and_grad(row.loss)(moved, *one)[0]

    pairs = zip(tree_flatten(loop(name))[0], tree_flatten(along)[0], strict=True)
    slope = sum(np.sum(x[1] * d) for x, d in pairs)
    assert_close(slope, (value(1e-6) - value(-1e-6)) / 2e-6, FINITE_DIFFERENCES)
