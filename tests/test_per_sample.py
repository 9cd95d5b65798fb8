"""Every loss, backend, way, and dtype against the oracle and the closed form."""

import numpy as np
import pytest

import persample as ps
from persample.backends import BACKENDS, torch_backend

from .cases import (
    CASES,
    TD_EXAMPLE,
    TD_EXAMPLE_ROWS,
    WAYS,
    B,
    arrays,
    inputs,
    lighter,
    network,
    network_loss,
    network_rows,
    rewards,
    shared_state_loss,
    states,
    td_rows,
    theta,
)
from .tolerances import FINITE_DIFFERENCES, FLOAT64, OF_DTYPE, assert_close

REAL_COMPILER = torch_backend.compiler()


pytestmark = pytest.mark.usefixtures("light_compiler")


@pytest.mark.parametrize("dtype", OF_DTYPE)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_the_oracle_and_of_the_closed_form(name, backend, way, dtype):
    case = CASES[name]
    given = inputs(case, backend, dtype)
    rows = WAYS[way](case.loss)(*given)
    exact = case.rows(case.params, *case.sample)
    assert_close(ps.to_numpy(rows), exact, OF_DTYPE[dtype])
    oracle = ps.loop_grad(case.loss)(*given)
    assert_close(ps.to_numpy(rows), ps.to_numpy(oracle), OF_DTYPE[dtype])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_example_of_the_book(backend, way):
    given = [arrays(np.array(x), backend) for x in TD_EXAMPLE]
    rows = WAYS[way](ps.td_loss)(*given)
    assert_close(ps.to_numpy(rows), TD_EXAMPLE_ROWS)


@pytest.mark.parametrize("name", CASES)
def test_the_samples_of_every_case_have_distinct_rows(name):
    case = CASES[name]  # a batch of identical rows would prove nothing
    rows = case.rows(case.params, *case.sample)
    for leaf in rows.values() if isinstance(rows, dict) else [rows]:
        assert len(np.unique(leaf.reshape(B, -1).round(6), axis=0)) == B


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", OF_DTYPE)
@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_keep_shapes_and_dtype(backend, dtype, way):
    rows = WAYS[way](network_loss)(*inputs(CASES["network"], backend, dtype))
    for key, parameter in network.items():
        assert tuple(rows[key].shape) == (B, *parameter.shape)
        assert str(rows[key].dtype).removeprefix("torch.") == dtype


def test_the_network_agrees_with_finite_differences():
    step = 1e-5
    loss = lambda params, i: float(network_loss(params, states[i], rewards[i]))  # noqa: E731
    rows = ps.per_sample_grad(network_loss)(network, states, rewards)
    for key, parameter in network.items():
        for i in range(B):
            for index in np.ndindex(parameter.shape):
                up, down = ({**network, key: parameter.copy()} for _ in range(2))
                up[key][index] += step
                down[key][index] -= step
                slope = (loss(up, i) - loss(down, i)) / (2 * step)
                assert_close(rows[key][(i, *index)], slope, FINITE_DIFFERENCES)


# The line theta . x in five kinds of container.
CONTAINERS = {
    "array": (lambda a, b: np.array([*a, b]), lambda p: (p[:2], p[2])),
    "dict": (lambda a, b: {"a": a, "b": b}, lambda p: (p["a"], p["b"])),
    "tuple": (lambda a, b: (a, b), lambda p: p),
    "list": (lambda a, b: [a, b], lambda p: p),
    "nested": (lambda a, b: {"z": [(a,)], "a": {"b": b}}, lambda p: (p["z"][0][0], p["a"]["b"])),
}


@pytest.mark.parametrize(
    ("container", "backend", "jit"),
    # torch.compile is slow: only for the nested container, which has the others in it
    lighter(lambda container: container == "nested", CONTAINERS),
)
def test_rows_come_in_the_container_of_the_parameters(container, backend, jit):
    make, parts = CONTAINERS[container]
    params = make(theta[:2], theta[2])

    def line_loss(params, x, y):
        xp = ps.namespace_of(params)
        weights, offset = parts(params)
        error = xp.matmul(weights, x) + offset - y
        return 0.5 * error * error

    rows = ps.per_sample_grad(line_loss, jit=jit)(
        *(arrays(x, backend) for x in (params, states[:, :2], rewards))
    )
    assert type(rows) is type(params) or container == "array"
    x = np.concatenate([states[:, :2], np.ones((B, 1))], axis=1)
    exact = (x @ theta - rewards)[:, None] * x
    a, b = parts(ps.to_numpy(rows)) if container != "array" else (rows[:, :2], rows[:, 2])
    assert_close(ps.to_numpy(a), exact[:, :2])
    assert_close(ps.to_numpy(b), exact[:, 2])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_in_axes_none_shares_an_argument(backend, way):
    given = [arrays(x, backend) for x in (theta, states[0], rewards)]
    axes = (None, None, 0)
    rows = WAYS[way](shared_state_loss, axes)(*given)
    same = np.tile(states[0], (B, 1))
    assert_close(ps.to_numpy(rows), td_rows(theta, same, rewards, 0.5 * same))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_in_axes_0_gives_every_sample_its_own_parameters(backend, way):
    thetas = theta + np.arange(B)[:, None]
    given = [arrays(x, backend) for x in (thetas, *CASES["td_loss"].sample)]
    rows = WAYS[way](ps.td_loss, (0, 0, 0, 0))(*given)
    s, r, s_next = CASES["td_loss"].sample
    exact = [td_rows(thetas[i], s[[i]], r[[i]], s_next[[i]])[0] for i in range(B)]
    assert_close(ps.to_numpy(rows), exact)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_shared_argument_may_be_a_python_number(backend, way):
    given = inputs(CASES["td_loss"], backend)
    axes = (None, 0, 0, 0, None)
    rows = WAYS[way](ps.td_loss, axes)(*given, 0.9)
    assert_close(ps.to_numpy(rows), td_rows(theta, *CASES["td_loss"].sample, gamma=0.9))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parameter_that_the_loss_ignores_has_rows_of_zeros(backend, way):
    loss = lambda params, x, y: ps.squared_loss(params["used"], x, y)  # noqa: E731
    params = {"used": theta, "unused": np.ones((2, 2))}
    given = [arrays(x, backend) for x in (params, states, rewards)]
    rows = WAYS[way](loss)(*given)
    assert_close(ps.to_numpy(rows["unused"]), np.zeros((B, 2, 2)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("jit", [False, True])
def test_one_function_serves_batches_of_every_size(backend, jit):
    case = CASES["td_loss"]
    rows = ps.per_sample_grad(case.loss, jit=jit)
    exact = case.rows(case.params, *case.sample)
    for size in (1, 2, B, 3, 1):
        given = inputs(case._replace(sample=tuple([x[:size] for x in case.sample])), backend)
        assert_close(ps.to_numpy(rows(*given)), exact[:size])


def test_one_function_serves_every_backend():
    rows = ps.per_sample_grad(ps.td_loss, jit=True)
    case = CASES["td_loss"]
    for backend in BACKENDS:
        given = inputs(case, backend)
        assert_close(ps.to_numpy(rows(*given)), case.rows(case.params, *case.sample))


def test_jit_traces_once_for_equal_shapes():
    calls = []

    def loss(theta, x, y):
        calls.append(1)
        return ps.squared_loss(theta, x, y)

    rows = ps.per_sample_grad(loss, jit=True)
    for _ in range(3):
        rows(theta, states, rewards)
    assert len(calls) == 1


@pytest.mark.skipif(REAL_COMPILER != "inductor", reason="torch.compile has no C++ compiler")
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_torch_compiles_with_its_own_code_generator(monkeypatch):
    monkeypatch.setattr(torch_backend, "compiler", lambda: "inductor")
    case = CASES["network"]
    rows = ps.per_sample_grad(case.loss, jit=True)(*inputs(case, "torch"))
    assert_close(ps.to_numpy(rows), network_rows(case.params, *case.sample), FLOAT64)
