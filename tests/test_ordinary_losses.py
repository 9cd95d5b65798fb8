"""Losses as people write them: the same rows in every backend, and by every route."""

import inspect

import jax
import numpy as np
import pytest
from optree import tree_flatten, tree_map

import persample as ps
from persample import engine
from persample.backends import BACKENDS

from . import ordinary_losses
from .cases import arrays
from .ordinary_losses import LOSSES, SAMPLES
from .tolerances import FINITE_DIFFERENCES, FLOAT32, assert_close

PEERS = [name for name in BACKENDS if name != "numpy"]
FLOAT32_LOSSES = ["huber", "focal", "lstm", "causal attention", "gaussian process", "triplet"]
every_loss = pytest.mark.parametrize("name", LOSSES)


@pytest.fixture(autouse=True)
def jax_in_a_hurry():
    """JAX compiles each operation for each shape: let it spend no time on making them fast."""
    before = jax.config.jax_exec_time_optimization_effort
    jax.config.update("jax_exec_time_optimization_effort", -1.0)
    yield
    jax.config.update("jax_exec_time_optimization_effort", before)


def loop(name):
    row = LOSSES[name]
    return ps.loop_grad(row.loss)(*row.draw())


def test_there_are_seventy_and_every_one_is_in_the_table():
    assert len(LOSSES) >= 70
    decorated = inspect.getsource(ordinary_losses).count("\n@given(")
    assert decorated == len(LOSSES), "two losses have one name"


@every_loss
def test_vmap_and_jit_give_the_rows_of_the_loop(name):
    row, expected = LOSSES[name], loop(name)
    args = row.draw()
    assert_close(ps.per_sample_grad(row.loss)(*args), expected)
    assert_close(ps.per_sample_grad(row.loss, jit=True)(*args), expected)
    for x in tree_flatten(expected)[0]:
        assert np.isfinite(x).all()
        assert x.shape[0] == SAMPLES
    rows = np.concatenate([x.reshape(SAMPLES, -1) for x in tree_flatten(expected)[0]], axis=1)
    assert len(np.unique(rows.round(9), axis=0)) == SAMPLES, "two samples have one row"


@every_loss
@pytest.mark.slow
@pytest.mark.parametrize("backend", PEERS)
def test_every_backend_gives_the_rows_of_the_loop(name, backend):
    row = LOSSES[name]
    given = [arrays(x, backend) for x in row.draw()]
    rows = ps.per_sample_grad(row.loss, jit=backend == "jax")(*given)
    assert_close(ps.to_numpy(rows), loop(name))


@pytest.mark.parametrize("name", FLOAT32_LOSSES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_stays_float32(name, backend):
    row = LOSSES[name]
    given = [arrays(x, backend, "float32") for x in row.draw()]
    rows = ps.to_numpy(ps.per_sample_grad(row.loss, jit=backend == "jax")(*given))
    assert {x.dtype for x in tree_flatten(rows)[0]} == {np.dtype("float32")}
    assert_close(rows, loop(name), 10 * FLOAT32)


# Their targets are held fixed, so the gradient is not the derivative of the value.
FIXED_TARGET = {"temporal difference", "q learning"}


@pytest.mark.parametrize("name", [n for n in LOSSES if n not in FIXED_TARGET])
def test_the_loop_agrees_with_finite_differences(name):
    """The loop is the oracle of the rest; this is the oracle of the loop."""
    row, rng = LOSSES[name], np.random.default_rng(1)
    params, *sample = row.draw()
    one = [x[1] for x in sample]
    along = tree_map(lambda x: np.asarray(rng.normal(size=x.shape)), params)
    value = lambda *args: engine.value_and_grad(row.loss)(*args)[0]  # noqa: E731
    step = 1e-6
    ahead, behind = [
        value(tree_map(lambda x, d, s=s: np.asarray(x + s * d), params, along), *one)
        for s in (step, -step)
    ]
    rows = tree_flatten(loop(name))[0]
    slope = sum(np.sum(x[1] * d) for x, d in zip(rows, tree_flatten(along)[0], strict=True))
    assert_close(slope, (ahead - behind) / (2 * step), FINITE_DIFFERENCES)
