"""What holds of the rows of every loss and batch: means, permutations, chunks, one sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import persample as ps
from persample.backends import BACKENDS

from .cases import (
    CASES,
    B,
    arrays,
    inputs,
    lighter,
    rewards,
    shared_state_loss,
    states,
    td_rows,
    theta,
)
from .tolerances import assert_close

pytestmark = pytest.mark.usefixtures("light_compiler")


@pytest.mark.parametrize("name", ["td_loss", "network"])
@pytest.mark.parametrize(
    ("chunk_size", "backend", "jit"),
    lighter(lambda chunk_size: chunk_size == 2, [1, 2, 3, B, B + 1]),
)
def test_chunks_change_no_result(name, chunk_size, backend, jit):
    case = CASES[name]
    rows = ps.per_sample_grad(case.loss, jit=jit, chunk_size=chunk_size)(*inputs(case, backend))
    assert_close(ps.to_numpy(rows), case.rows(case.params, *case.sample))


def test_chunks_bound_what_one_call_of_the_loss_sees():
    sizes = []

    def loss(theta, x, y):
        sizes.append(1)
        return ps.squared_loss(theta, x, y)

    ps.per_sample_grad(loss, chunk_size=np.int64(2))(theta, states, rewards)
    assert len(sizes) == 3  # 2 + 2 + 1 samples


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_the_mean_of_the_rows_is_the_gradient_of_the_mean(name, backend):
    case = CASES[name]
    mean = ps.mean_grad(case.loss)(*inputs(case, backend))
    rows = case.rows(case.params, *case.sample)
    average = {k: v.mean(0) for k, v in rows.items()} if name == "network" else rows.mean(0)
    assert_close(ps.to_numpy(mean), average)


def test_mean_grad_shares_what_in_axes_says():
    mean = ps.mean_grad(shared_state_loss, (None, None, 0))(theta, states[0], rewards)
    rows = ps.per_sample_grad(shared_state_loss, (None, None, 0))(theta, states[0], rewards)
    assert_close(mean, rows.mean(0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_sample_gives_the_ordinary_gradient(backend):
    module = ps.backend(backend)
    params, *sample = inputs(CASES["td_loss"], backend)
    gradient = module.grad(ps.td_loss)(params, *(x[0] for x in sample))
    rows = ps.per_sample_grad(ps.td_loss)(params, *(x[:1] for x in sample))
    assert tuple(rows.shape) == (1, *params.shape)
    assert_close(ps.to_numpy(rows[0]), ps.to_numpy(gradient))


# Arbitrary batches, in the NumPy backend.
numbers = st.floats(-3, 3, width=32)


@st.composite
def batches(draw):
    """Return theta, s, r, s_next for 1 to 6 samples of 1 to 4 features."""
    size, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    array = lambda *shape: np.array(  # noqa: E731
        draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    ).reshape(shape)
    return array(d), array(size, d), array(size), array(size, d)


td = ps.per_sample_grad(ps.td_loss)


def for_any(*strategies, examples=50):
    """Run a test on many drawn inputs, however long a framework's first call takes."""
    return lambda test: settings(max_examples=examples, deadline=None)(given(*strategies)(test))


@for_any(batches())
def test_any_batch_agrees_with_the_loop_and_the_closed_form(batch):
    assert_close(td(*batch), ps.loop_grad(ps.td_loss)(*batch))
    assert_close(td(*batch), td_rows(*batch))


@for_any(batches())
def test_any_batch_has_the_mean_gradient(batch):
    assert_close(td(*batch).mean(0), ps.mean_grad(ps.td_loss)(*batch))


@for_any(batches(), st.randoms(use_true_random=False))
def test_permuting_any_batch_permutes_its_rows(batch, random):
    theta, *sample = batch
    order = list(range(len(sample[0])))
    random.shuffle(order)
    assert_close(td(theta, *(x[order] for x in sample)), td(*batch)[order])


@for_any(batches(), st.integers(1, 7))
def test_chunks_of_any_size_change_nothing(batch, chunk_size):
    assert_close(ps.per_sample_grad(ps.td_loss, chunk_size=chunk_size)(*batch), td(*batch))


@for_any(batches())
def test_every_row_of_any_batch_depends_on_its_own_sample_alone(batch):
    theta, *sample = batch
    rows = td(*batch)
    for i in range(len(rows)):
        assert_close(td(theta, *(x[i : i + 1] for x in sample))[0], rows[i])


@for_any(batches(), examples=20)
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_any_batch_agrees_across_backends(backend, batch):
    rows = td(*(arrays(x, backend) for x in batch))
    assert_close(ps.to_numpy(rows), td(*batch))
