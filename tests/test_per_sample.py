"""Every loss, backend, way, and dtype against the oracle and the closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

import persample as ps
from persample.backends import BACKENDS

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
    squared_rows,
    states,
    td_rows,
    theta,
)
from .tolerances import FINITE_DIFFERENCES, FLOAT64, OF_DTYPE, assert_close

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
        xp = ps.array_namespace(params)
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


# Values and aux.
def loss_and_parts(params, x, y):
    """Return the network's loss and two things that it computes on the way."""
    xp = ps.array_namespace(params)
    hidden = xp.tanh(xp.matmul(params["W1"], x) + params["b1"])
    output = xp.matmul(params["w2"], hidden) + params["b2"]
    return 0.5 * (output - y) * (output - y), {"hidden": hidden, "outputs": [output, params["b2"]]}


def values_and_aux(params, x, y):
    """Return the losses and the parts in NumPy, by hand."""
    hidden = np.tanh(x @ params["W1"].T + params["b1"])
    output = hidden @ params["w2"] + params["b2"]
    aux = {"hidden": hidden, "outputs": [output, np.full(len(y), params["b2"])]}
    return 0.5 * (output - y) ** 2, aux


@pytest.mark.parametrize(
    ("chunk_size", "backend", "jit"), lighter(lambda chunk_size: chunk_size == 2, [None, 2])
)
def test_values_and_aux_come_with_the_rows(chunk_size, backend, jit):
    case, options = CASES["network"], {"jit": jit, "chunk_size": chunk_size}
    given = inputs(case, backend)
    exact = case.rows(case.params, *case.sample)
    values, aux = values_and_aux(case.params, *case.sample)
    for loss, chosen, expected in (
        (case.loss, {"function": ps.per_sample_value_and_grad}, (values, exact)),
        (loss_and_parts, {"has_aux": True}, (exact, aux)),
        (
            loss_and_parts,
            {"has_aux": True, "function": ps.per_sample_value_and_grad},
            ((values, aux), exact),
        ),
    ):
        function = chosen.pop("function", ps.per_sample_grad)
        assert_close(ps.to_numpy(function(loss, **options, **chosen)(*given)), expected)


@pytest.mark.parametrize("function", [ps.per_sample_grad, ps.per_sample_value_and_grad])
@pytest.mark.parametrize("params", [{}, (), {"w": None}])
@pytest.mark.parametrize("backend", BACKENDS)
def test_values_and_aux_without_a_parameter(backend, params, function):
    """A model whose layers are all frozen: its rows are empty, its values are not."""

    def loss(params, x):
        return (x * x).sum(), {"x": 2 * x}

    result = function(loss, has_aux=True)(params, arrays(states, backend))
    losses, (rows, aux) = (None, result)
    if function is ps.per_sample_value_and_grad:
        (losses, aux), rows = result
        assert_close(ps.to_numpy(losses), (states**2).sum(1))
    assert rows == params
    assert_close(ps.to_numpy(aux["x"]), 2 * states)


@pytest.mark.parametrize("backend", ["numpy", "jax"])  # torch.compile repeats side effects
def test_mean_grad_compiles_once(backend):
    calls, traced = [], None

    def loss(theta, x, y):
        calls.append(1)
        return ps.squared_loss(theta, x, y)

    mean_of, case = ps.mean_grad(loss, jit=True), CASES["squared_loss"]
    for scale in (1.0, 2.0, 3.0):
        theta, *sample = inputs(case, backend)
        exact = case.rows(scale * case.params, *case.sample).mean(0)
        assert_close(ps.to_numpy(mean_of(scale * theta, *sample)), exact)
        traced = traced or len(calls)
    assert len(calls) == traced


# What the loss takes from outside: JAX's rule, in every backend.
SCALE = 2.0


def outside(backend):
    """Return name -> (loss, how to change what it reads from 2 to 3)."""
    cell, box, given = [2.0], SimpleNamespace(scale=2.0), {"scale": arrays(np.array(2.0), backend)}

    def refill():
        given["scale"] = arrays(np.array(3.0), backend)

    return {
        "cell": (lambda *a: cell[0] * ps.squared_loss(*a), lambda: cell.__setitem__(0, 3.0)),
        "attribute": (
            lambda *a: box.scale * ps.squared_loss(*a),
            lambda: vars(box).update(scale=3.0),
        ),
        "global": (lambda *a: SCALE * ps.squared_loss(*a), lambda: globals().update(SCALE=3.0)),
        "array": (lambda *a: given["scale"] * ps.squared_loss(*a), refill),
    }


@pytest.mark.parametrize(
    ("what", "backend", "jit"), lighter(lambda what: what == "attribute", outside("numpy"))
)
def test_what_is_outside_is_read_at_each_call_and_under_jit_perhaps_when_traced(
    what, backend, jit, monkeypatch
):
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    loss, change = outside(backend)[what]
    given, exact = inputs(CASES["squared_loss"], backend), squared_rows(theta, states, rewards)
    rows_of, again = (ps.per_sample_grad(loss, jit=jit) for _ in range(2))
    for _ in range(2):
        assert_close(ps.to_numpy(rows_of(*given)), 2 * exact)
    change()
    found = ps.to_numpy(rows_of(*given))
    may_be_old = jit and np.allclose(found, 2 * exact)  # as it is in NumPy and JAX
    assert may_be_old == jit or backend == "torch"
    assert_close(found, (2 if may_be_old else 3) * exact)
    assert_close(ps.to_numpy(again(*given)), 3 * exact)
    fewer = [given[0], given[1][:2], given[2][:2]]
    assert_close(ps.to_numpy(rows_of(*fewer)), 3 * exact[:2])


# Static arguments.
def traced_loss(counts):
    """Return a loss that counts how often it runs, with a flag and a factor after the sample."""

    def loss(theta, x, y, doubled, factor):
        counts.append(1)
        value = factor * ps.squared_loss(theta, x, y)
        return 2 * value if doubled else value

    return loss


@pytest.mark.parametrize(
    ("function", "backend", "jit"),
    lighter(lambda f: f is ps.per_sample_grad, [ps.per_sample_grad, ps.mean_grad]),
)
def test_a_flag_chooses_a_branch_and_a_float_is_traced(function, backend, jit):
    counts, ran = [], []
    rows_of = function(traced_loss(counts), (None, 0, 0, None, None), jit=jit)
    given, exact = inputs(CASES["squared_loss"], backend), squared_rows(theta, states, rewards)
    exact = exact if function is ps.per_sample_grad else exact.mean(0)
    slow = jit and backend == "torch"
    for doubled in (True, False) if slow else (True, False, 1, None):
        for factor in (0.5, 3.0) if slow else (0.5, 1.0, -0.0, 3.0):
            rows = rows_of(*given, doubled, factor)
            assert_close(ps.to_numpy(rows), (2 if doubled else 1) * factor * exact)
            assert str(rows.dtype).removeprefix("torch.") == "float64"
            ran.append(len(counts))
    if jit and not slow:  # torch.compile repeats side effects
        assert ran == [n for n in ran[::4] for _ in range(4)]
        assert len(set(ran)) == 4


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_float_takes_the_dtype_of_the_parameters(backend, jit):
    given = inputs(CASES["squared_loss"], backend, "float32")
    loss = lambda theta, x, y, factor: factor * ps.squared_loss(theta, x, y)  # noqa: E731
    rows = ps.per_sample_grad(loss, (None, 0, 0, None), jit=jit)(*given, 0.5)
    assert str(rows.dtype).removeprefix("torch.") == "float32"


# A signature is types, shapes and dtypes, and nothing less.
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_like_none_before_is_checked(backend, jit):
    rows_of, case = ps.per_sample_grad(network_loss, jit=jit), CASES["network"]
    for dtype in ("float64", "float32", "float64"):
        for size in (B, 2, B):
            sample = tuple([x[:size] for x in case.sample])
            rows = ps.to_numpy(rows_of(*inputs(case._replace(sample=sample), backend, dtype)))
            assert_close(rows, case.rows(case.params, *sample), OF_DTYPE[dtype])
            assert {x.dtype for x in rows.values()} == {np.dtype(dtype)}
    params, x, y = inputs(case, backend)
    for wrong, text in (
        ((params, x[:2], y), "batch sizes differ: 2"),
        ((params, x[:0], y[:0]), "the batch is empty"),
        (({**params, "b2": 1.0}, x, y), "a parameter is a Python float"),
        ((params, x, 1.0), "argument 2 is batched and holds 1.0"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            rows_of(*wrong)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tree_of_other_shapes_is_checked(backend):
    def loss(theta, sample):
        return ps.array_namespace(theta).sum(theta * sample["x"]) * sample["y"]

    asarray, rows_of = ps.backend(backend).asarray, ps.per_sample_grad(loss)
    theta, x, y = asarray(np.ones(3)), asarray(np.ones((2, 3))), asarray(np.ones(3))
    rows_of(theta, {"x": x, "y": y[:2]})
    with pytest.raises(ValueError, match="^per_sample_grad: the batch sizes differ: 2"):
        rows_of(theta, {"x": x, "y": y})


def test_signatures_are_not_kept_without_end():
    rows_of = ps.per_sample_grad(ps.squared_loss)
    for size in range(1, 1003):
        assert rows_of(theta, np.ones((size, 3)), np.ones(size)).shape == (size, 3)
    assert len(rows_of._checked) == 2


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_torch_compiles_with_its_own_code_generator(monkeypatch):
    torch_backend = pytest.importorskip("persample.backends.torch_backend")
    monkeypatch.undo()
    if torch_backend.BACKEND.compiler() != "inductor":
        pytest.skip("torch.compile has no C++ compiler")
    case = CASES["network"]
    rows = ps.per_sample_grad(case.loss, jit=True)(*inputs(case, "torch"))
    assert_close(ps.to_numpy(rows), network_rows(case.params, *case.sample), FLOAT64)
