"""chunk_size: the same rows, losses and aux, also inside other transforms, in little memory."""

import tracemalloc

import numpy as np
import pytest

import persample as ps

from .cases import B, arrays, lighter, rewards, squared_rows, states, theta
from .tolerances import assert_close


def loss_and_aux(theta, x, y):
    return ps.squared_loss(theta, x, y), {"x": 2 * x, "y": (y, ps.stop_gradient(theta))}


exact = squared_rows(theta, states, rewards)
aux = {"x": 2 * states, "y": (rewards, np.tile(theta, (B, 1)))}
everything = (0.5 * (states @ theta - rewards) ** 2, aux), exact


@pytest.mark.parametrize(
    ("chunk_size", "backend", "inside_jit"),
    lighter(lambda size: False, [1, 2, 3, 4, B, 10**6]),
)
def test_losses_aux_and_rows_are_those_of_the_whole_batch(
    chunk_size, backend, inside_jit, light_compiler
):
    both = ps.per_sample_value_and_grad(loss_and_aux, has_aux=True, chunk_size=chunk_size)
    both = ps.backend(backend).jit(both) if inside_jit else both
    given = arrays((theta, states, rewards), backend)
    for _ in range(2):
        assert_close(ps.to_numpy(both(*given)), everything)


@pytest.mark.parametrize("chunk_size", [None, 1, 2, B])
@pytest.mark.parametrize(
    ("backend", "jit"),
    [("numpy", False), ("numpy", True), ("torch", False), ("jax", False), ("jax", True)],
)
def test_rows_inside_other_transforms(backend, jit, chunk_size):
    own = ps.backend(backend)
    rows_of = ps.per_sample_grad(ps.squared_loss, jit=jit, chunk_size=chunk_size)
    total = lambda t, x, y: ps.array_namespace(t).sum(rows_of(t, x, y) ** 2)  # noqa: E731
    # d/dt sum_i e_i^2 |x_i|^2 = sum_i 2 e_i |x_i|^2 x_i
    slope = 2 * ((states @ theta - rewards) * (states**2).sum(1)) @ states
    given = arrays((theta, states, rewards), backend)
    assert_close(ps.to_numpy(own.grad(total)(*given)), slope)
    if backend != "torch":
        assert_close(ps.to_numpy(own.jit(own.grad(total))(*given)), slope)
    two = arrays(np.stack([theta, -theta]), backend)
    of_two = ps.to_numpy(own.vmap(rows_of, (0, None, None))(two, *given[1:]))
    assert_close(of_two[1], squared_rows(-theta, states, rewards))


@pytest.mark.parametrize("jit", [False, True])
def test_the_peak_is_one_result_and_a_chunk(jit):
    rng = np.random.default_rng(0)
    given = rng.normal(size=1000), rng.normal(size=(2000, 1000)), rng.normal(size=2000)
    rows_of = ps.per_sample_grad(ps.squared_loss, jit=jit, chunk_size=60)
    rows_of(*given)
    tracemalloc.start()
    rows = rows_of(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.nbytes <= peak <= 1.2 * rows.nbytes
