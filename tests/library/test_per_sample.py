"""Rows, losses and aux of every loss, backend and function; caching across calls."""

import importlib
import sys
import tracemalloc

import numpy as np
import pytest

import persample as ps
from persample.backends import BACKENDS
from support import ROOT
from support.cases import (
    CASES,
    WAYS,
    B,
    arrays,
    inputs,
    network_loss,
    network_rows,
    rewards,
    squared_rows,
    states,
    theta,
)
from support.tolerances import FLOAT64, OF_DTYPE, assert_close

pytestmark = pytest.mark.usefixtures("light_compiler")
exact = squared_rows(theta, states, rewards)
# Where a whole grid would take long: torch.compile is tried in few places.
EAGER_OR_JIT = [("numpy", False), ("numpy", True), ("torch", False), ("jax", False), ("jax", True)]


# Every case in every backend; ways and dtypes in turn, so that any two of them meet.
TURNS = [
    (name, backend, [*WAYS][(i + j) % 3], [*OF_DTYPE][i // 3])
    for i, name in enumerate(CASES)
    for j, backend in enumerate(BACKENDS)
]


@pytest.mark.parametrize(("name", "backend", "way", "dtype"), TURNS)
def test_rows_are_those_of_the_oracle_and_of_the_closed_form(name, backend, way, dtype):
    case = CASES[name]
    given = inputs(case, backend, dtype)
    rows = ps.to_numpy(WAYS[way](case.loss)(*given))
    closed_form = case.rows(case.params, *case.sample)
    assert_close(rows, closed_form, OF_DTYPE[dtype])
    assert_close(rows, ps.to_numpy(ps.loop_grad(case.loss)(*given)), OF_DTYPE[dtype])
    for leaf in rows.values() if isinstance(rows, dict) else [rows]:
        assert leaf.dtype == dtype
        # A batch of identical rows would prove nothing.
        assert len(np.unique(leaf.reshape(B, -1).round(5), axis=0)) == B


@pytest.mark.parametrize("params", [{}, {"w": None}])
@pytest.mark.parametrize("backend", BACKENDS)
def test_values_and_aux_without_a_parameter(backend, params):
    """Use a model whose layers are all frozen: it has values, and its rows are empty."""
    loss = lambda params, x: ((x * x).sum(), {"x": 2 * x})  # noqa: E731
    both = ps.per_sample_value_and_grad(loss, has_aux=True)
    (losses, aux), rows = both(params, arrays(states, backend))
    assert rows == params
    assert_close(ps.to_numpy([losses, aux["x"]]), [(states**2).sum(1), 2 * states])


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize(("backend", "jit"), EAGER_OR_JIT)
def test_rows_inside_other_transforms(backend, jit, chunk_size):
    own = ps.backend(backend)
    rows_of = ps.per_sample_grad(ps.squared_loss, jit=jit, chunk_size=chunk_size)
    total = lambda t, x, y: ps.array_namespace(t).sum(rows_of(t, x, y) ** 2)  # noqa: E731
    # d/dt sum_i e_i^2 |x_i|^2 = sum_i 2 e_i |x_i|^2 x_i
    slope = 2 * ((states @ theta - rewards) * (states**2).sum(1)) @ states
    given = arrays((theta, states, rewards), backend)
    gradient = own.grad(total) if jit or backend == "torch" else own.jit(own.grad(total))
    assert_close(ps.to_numpy(gradient(*given)), slope)
    two = arrays(np.stack([theta, -theta]), backend)
    of_two = ps.to_numpy(own.vmap(rows_of, (0, None, None))(two, *given[1:]))
    assert_close(of_two[1], squared_rows(-theta, states, rewards))


# A part of the batch at a time.
@pytest.mark.parametrize("chunk_size", [1, 2, 3, B - 1, B, B + 1])
@pytest.mark.parametrize(("backend", "jit"), EAGER_OR_JIT)
def test_chunks_change_no_result(backend, jit, chunk_size):
    """Compute in chunks with aux, a static argument, and samples in a tree or on the last axis."""

    def loss(params, sample, y, power):
        error = ps.array_namespace(params["w"]).sum(params["w"] * sample["x"]) - y
        return error**power, {"error": error, "x": [2 * sample["x"]]}

    axes = None, {"x": -1}, 0, None
    both = ps.per_sample_value_and_grad(loss, axes, jit=jit, chunk_size=chunk_size, has_aux=True)
    for size in (B, 1):
        x, y = states[:size], rewards[:size]
        given = arrays(({"w": theta}, {"x": x.T.copy()}, y), backend)
        for power in (2, 3):
            (losses, aux), rows = ps.to_numpy(both(*given, power))
            error = x @ theta - y
            assert_close(losses, error**power)
            assert_close(rows["w"], (power * error ** (power - 1))[:, None] * x)
            assert_close([aux["error"], aux["x"][0]], [error, 2 * x])


@pytest.mark.parametrize("jit", [False, True])
def test_chunks_are_one_loop_of_a_program_of_jax(jit):
    """Count the loops: unrolled chunks would compile slowly, and XLA would keep all results."""
    jax, given = pytest.importorskip("jax"), arrays((theta, states, rewards), "jax")
    programs = [
        str(jax.make_jaxpr(ps.per_sample_grad(ps.squared_loss, jit=jit, chunk_size=n))(*given))
        for n in (1, 2)
    ]
    assert [program.count("scan[") for program in programs] == [1, 1]
    assert programs[0].count("dot_general") == programs[1].count("dot_general") > 0


@pytest.mark.parametrize("jit", [False, True])
def test_keys_of_jax_are_samples_and_aux_in_chunks_too(jit):
    jax = pytest.importorskip("jax")
    loss = lambda theta, key: (jax.random.normal(key) * theta.sum(), key)  # noqa: E731
    keys = jax.random.split(jax.random.key(0), B)
    rows_of = ps.per_sample_grad(loss, jit=jit, chunk_size=2, has_aux=True)
    rows, aux = rows_of(arrays(theta, "jax"), keys)
    assert_close(np.asarray(rows)[:, 0], np.asarray(jax.vmap(jax.random.normal)(keys)))
    assert (aux == keys).all()


def test_the_peak_is_one_result_and_a_chunk():
    rng = np.random.default_rng(0)
    given = rng.normal(size=1000), rng.normal(size=(2000, 1000)), rng.normal(size=2000)
    rows_of = ps.per_sample_grad(ps.squared_loss, chunk_size=200)
    rows_of(*given)
    tracemalloc.start()
    rows = rows_of(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 1.1 * rows.nbytes <= peak <= 1.15 * rows.nbytes


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read as on Linux")
@pytest.mark.parametrize("way", ["NumPy, jit", "PyTorch", "JAX", "JAX, jit"])
def test_the_peak_of_a_process_is_one_result_and_a_chunk(way, monkeypatch):
    pytest.importorskip({"N": "numpy", "P": "torch", "J": "jax"}[way[0]])
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.delitem(sys.modules, "common", raising=False)  # another folder's, if there
    chunks = importlib.import_module("chunks")
    peak, rows = chunks.apart(way, "large rows", 16)
    assert rows <= peak <= 1.5 * rows
    whole, _ = chunks.apart(way, "large activations", None)
    assert chunks.apart(way, "large activations", 16)[0] <= 0.5 * whole


# What one function remembers: programs, by signature.
@pytest.mark.parametrize(("backend", "jit"), EAGER_OR_JIT)
def test_one_function_serves_all_sizes_and_dtypes_and_refuses_as_before(backend, jit):
    rows_of, case = ps.per_sample_grad(network_loss, jit=jit), CASES["network"]
    for dtype, size in (("float64", B), ("float32", B), ("float64", 2), ("float64", B)):
        sample = tuple([x[:size] for x in case.sample])
        rows = ps.to_numpy(rows_of(*inputs(case._replace(sample=sample), backend, dtype)))
        assert_close(rows, case.rows(case.params, *sample), OF_DTYPE[dtype])
        assert {x.dtype for x in rows.values()} == {np.dtype(dtype)}
    params, x, y = inputs(case, backend)
    for wrong, text in (
        ((params, x[:2], y), "batch sizes differ: 2"),
        ((params, x[:0], y[:0]), "the batch is empty"),
        (({**params, "b2": 1.0}, x, y), r"parameters\['b2'\] is a Python float"),
        ((params, x, 1.0), "argument 2 is batched and holds 1.0"),
        ((params, states.view(np.matrix), y), "argument 1 holds a matrix|mix arrays"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            rows_of(*wrong)


def test_signatures_are_not_kept_without_end():
    rows_of = ps.per_sample_grad(ps.squared_loss)
    for size in range(1, 1003):
        assert rows_of(theta, np.ones((size, 3)), np.ones(size)).shape == (size, 3)
    assert len(rows_of._checked) == 2


@pytest.mark.parametrize(
    ("function", "backend", "jit"),
    [(ps.per_sample_grad, *each) for each in [*EAGER_OR_JIT, ("torch", True)]]
    + [(ps.mean_grad, "numpy", True)],
)
def test_a_flag_chooses_a_branch_and_a_float_is_traced(function, backend, jit):
    """Count the traces: a new value of a flag, which is static, adds one; of a float, none."""
    ran = []

    def loss(theta, x, y, doubled, factor):
        ran.append(1)
        value = factor * ps.squared_loss(theta, x, y)
        return 2 * value if doubled else value

    rows_of, counts = function(loss, (None, 0, 0, None, None), jit=jit), []
    expected = exact if function is ps.per_sample_grad else exact.mean(0)
    slow = jit and backend == "torch"  # torch.compile is slow, and repeats side effects
    for dtype in ("float32",) if slow else ("float32", "float64"):
        given = arrays((theta, states, rewards), backend, dtype)
        for doubled in (True, False) if slow else (True, False, 1):
            for factor in (0.5, 3.0):
                rows = ps.to_numpy(rows_of(*given, doubled, factor))
                assert_close(rows, (2 if doubled else 1) * factor * expected, OF_DTYPE[dtype])
                assert rows.dtype == dtype
                counts.append(len(ran))
    if jit and not slow:
        assert counts[::2] == counts[1::2]
        assert len(set(counts)) == 6


@pytest.mark.parametrize(("backend", "jit"), EAGER_OR_JIT)
def test_what_is_outside_is_read_at_each_call_and_under_jit_when_traced(backend, jit):
    scale, given = [2.0], arrays((theta, states, rewards), backend)
    loss, options = lambda *a: scale[0] * ps.squared_loss(*a), {"jit": True} if jit else {}
    rows_of, mean_of = ps.per_sample_grad(loss, **options), ps.mean_grad(loss, **options)
    for now, seen in ((2.0, 2.0), (3.0, 2.0 if jit else 3.0)):
        scale[0] = now
        assert_close(ps.to_numpy(rows_of(*given)), seen * exact)
        assert_close(ps.to_numpy(mean_of(*given)), seen * exact.mean(0))
    assert_close(ps.to_numpy(rows_of(given[0], given[1][:2], given[2][:2])), 3 * exact[:2])


# A random draw inside the loss: more in test_random_losses.
def drawing(draw):
    """Return `squared_loss` times draw(), which is called at each evaluation."""
    return lambda *given: ps.squared_loss(*given) * float(draw())


@pytest.mark.parametrize(("backend", "jit"), EAGER_OR_JIT)
def test_what_is_the_same_each_time_or_differs_by_rounding_is_taken(backend, jit):
    """Accept a generator that is made inside the loss, and differences due to rounding."""
    given, rng = arrays((theta, states, rewards), backend), np.random.default_rng(0)
    narrow = arrays((theta, states, rewards), backend, "float32")
    one = drawing(lambda: np.random.default_rng(3).normal())
    factor = np.random.default_rng(3).normal()
    assert_close(ps.to_numpy(ps.per_sample_grad(one, jit=jit)(*given)), factor * exact)
    noise = lambda size: drawing(lambda: 1 + size * rng.uniform(0.5, 1.0))  # noqa: E731
    for _ in range(5):
        ps.per_sample_grad(noise(1e-12), jit=jit)(*given)
        ps.per_sample_grad(noise(1e-6), jit=jit)(*narrow)
    for size, wrong in ((1e-5, given), (1e-2, narrow)):
        with pytest.raises(RuntimeError, match="beforehand"):
            ps.per_sample_grad(noise(size), jit=jit)(*wrong)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_half_precision_is_compared_as_such(backend):
    own, rng = ps.backend(backend), np.random.default_rng(0)
    given = [own.asarray(x, "float16") for x in (theta, states, rewards)]
    for dtype in ("float16", "bfloat16"):
        xp = own.namespace(given[0])
        kind = getattr(__import__(backend), dtype) if backend == "torch" else dtype
        of_kind = [xp.astype(x, kind) for x in given]
        ps.per_sample_grad(drawing(lambda: 1 + 0.004 * rng.uniform()))(*of_kind)
        with pytest.raises(RuntimeError, match="beforehand"):
            ps.per_sample_grad(drawing(rng.normal))(*of_kind)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loss_is_tried_at_the_first_call_of_a_signature_only(backend):
    ran, given = [], arrays((theta, states, rewards), backend)
    rows_of = ps.per_sample_grad(lambda *given: ran.append(1) or ps.squared_loss(*given))
    counts = []
    for size in (B, B, 2, 2, B):
        rows_of(given[0], *[x[:size] for x in given[1:]])
        counts.append(len(ran))
        ran.clear()
    tried = 3 + (backend == "torch")  # PyTorch's search for Python numbers is one more
    assert counts == [tried, 1, tried, 1, 1]


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_inside_another_transform_a_loss_is_not_tried(backend):
    own, ran = ps.backend(backend), []
    given = arrays((theta, states, rewards), backend)
    rows_of = ps.per_sample_grad(lambda *given: ran.append(1) or ps.squared_loss(*given))
    assert_close(ps.to_numpy(own.jit(lambda *given: rows_of(*given))(*given)), exact)
    assert len(ran) == 1
    # The arguments are plain arrays, and the loss knows a traced one from outside.
    scaled = lambda k: ps.per_sample_grad(lambda *a: k * ps.squared_loss(*a))(*given)  # noqa: E731
    assert_close(ps.to_numpy(own.jit(scaled)(own.asarray(3.0))), 3 * exact)
    twice = own.vmap(scaled)(own.asarray([1.0, 2.0]))
    assert_close(ps.to_numpy(twice), np.stack([exact, 2 * exact]))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_loss_that_only_a_transform_can_run_is_taken(backend):
    own = ps.backend(backend)

    def loss(theta, x, y):
        if not own.is_traced(x):
            raise ValueError("not outside of a transform")
        return ps.squared_loss(theta, x, y)

    given = arrays((theta, states, rewards), backend)
    assert_close(ps.to_numpy(ps.per_sample_grad(loss)(*given)), exact)


def test_a_loss_that_writes_into_its_arguments_changes_nothing():
    def loss(params, x):
        params["w"] += 1.0
        x -= 1.0
        x[0] = 0.0
        return (params["w"] * x).sum()

    given = {"w": theta.copy()}, states.copy()
    for function in (ps.per_sample_grad, ps.loop_grad):
        with pytest.raises(TypeError, match="cannot be changed in place"):
            function(loss)(*given)
    assert_close(given, ({"w": theta}, states))


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
