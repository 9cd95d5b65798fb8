"""The losses under test, each with parameters, a batch, and a formula for its rows.

The data are NumPy arrays whose samples differ; ``inputs`` converts them to a backend, and the
floating-point ones to a dtype. The formula is in plain NumPy and shares no code with the package.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before jax is imported

import numpy as np
from optree import tree_map

import persample as ps
from support.missing import MISSING

if "jax" not in MISSING:
    import jax

    jax.config.update("jax_enable_x64", True)

B, D, H = 5, 3, 4


class Case(NamedTuple):
    loss: Callable  # (params, *sample) -> 0-d array
    params: Any
    sample: tuple  # each with B samples along axis 0
    rows: Callable  # (params, *sample) -> the rows, in NumPy


def arrays(tree: Any, backend: str, dtype: str = "float64") -> Any:
    """Return the tree as arrays of a backend; all but integer arrays get ``dtype``."""
    asarray = ps.backend(backend).asarray
    integer = lambda x: np.asarray(x).dtype.kind == "i"  # noqa: E731, labels stay integers
    return tree_map(lambda x: asarray(x, None if integer(x) else dtype), tree)


def inputs(case: Case, backend: str, dtype: str = "float64") -> tuple:
    """Return a case's (params, *sample) as arrays of a backend."""
    return arrays(case.params, backend, dtype), *arrays(case.sample, backend, dtype)


# Every way to the rows: the batched program, compiled or not, and the oracle.
WAYS = {
    "vmap": ps.per_sample_grad,
    "jit": partial(ps.per_sample_grad, jit=True),
    "loop": ps.loop_grad,
}


_rng = np.random.default_rng(7)
_draw = lambda *shape: _rng.uniform(-2, 2, shape)  # noqa: E731
theta, states, rewards, next_states = _draw(D), _draw(B, D), _draw(B), _draw(B, D)
labels = np.array([0.0, 1, 1, 0, 1])
classes = np.array([2, 0, 3, 5, 1])
network = {"W1": _draw(H, D), "b1": _draw(H), "w2": _draw(H), "b2": _draw()}


def td_rows(theta, s, r, s_next, gamma=1.0):
    delta = r + gamma * s_next @ theta - s @ theta
    return -delta[:, None] * s


def squared_rows(theta, x, y):
    return (x @ theta - y)[:, None] * x


def logistic_rows(theta, x, y):
    return (1 / (1 + np.exp(-x @ theta)) - y)[:, None] * x


def cross_entropy_rows(scores, y):
    exps = np.exp(scores)
    return exps / exps.sum() - np.eye(len(scores))[y]


def network_loss(params, x, y):
    """Return half the squared error of w2 . tanh(W1 x + b1) + b2; W1 is 2-d, b2 0-d."""
    xp = ps.array_namespace(params)
    hidden = xp.tanh(xp.matmul(params["W1"], x) + params["b1"])
    error = xp.matmul(params["w2"], hidden) + params["b2"] - y
    return 0.5 * error * error


def network_rows(params, x, y):
    hidden = np.tanh(x @ params["W1"].T + params["b1"])
    error = hidden @ params["w2"] + params["b2"] - y
    back = error[:, None] * params["w2"] * (1 - hidden**2)
    return {
        "W1": back[:, :, None] * x[:, None, :],
        "b1": back,
        "w2": error[:, None] * hidden,
        "b2": error,
    }


CASES = {
    "td_loss": Case(ps.td_loss, theta, (states, rewards, next_states), td_rows),
    "td_loss, gamma 0.9": Case(
        partial(ps.td_loss, gamma=0.9),
        theta,
        (states, rewards, next_states),
        partial(td_rows, gamma=0.9),
    ),
    "squared_loss": Case(ps.squared_loss, theta, (states, rewards), squared_rows),
    "logistic_loss": Case(ps.logistic_loss, theta, (states, labels), logistic_rows),
    "cross_entropy_loss": Case(ps.cross_entropy_loss, _draw(6), (classes,), cross_entropy_rows),
    "network": Case(network_loss, network, (states, rewards), network_rows),
}

# What the published page's first transition must give; the second shows that rows are distinct.
TD_EXAMPLE = ([0.2, -0.2, 0.1], [[2.0, 1, -2]], [2.0], [[1.0, 2, 0]])
