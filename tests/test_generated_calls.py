"""Generated calls: rows, losses and aux are those of torch.autograd.

Hypothesis draws the same calls on every machine, and makes one that fails as small as it can.
`make test` runs some hundred, `make check` ten thousand with those of test_generated_models.
"""

from typing import Any

import jax
import numpy as np
import optree
import pytest
import torch
from generated_calls import Pair, oracle, problems
from hypothesis import given, settings
from hypothesis import strategies as st
from precision import enable_x64
from tolerances import OF_DTYPE

import persample as ps

from .cases import arrays

pytestmark = pytest.mark.usefixtures("quick", "light_compiler")
WITH_OPTIONS = ("per_sample_grad", "per_sample_value_and_grad")
WAYS = (*WITH_OPTIONS * 3, "loop_grad", "mean_grad")


@pytest.fixture
def quick():
    """One thread for small arrays, no time spent on making compiled programs fast."""
    threads, effort = torch.get_num_threads(), jax.config.jax_exec_time_optimization_effort
    torch.set_num_threads(1)
    jax.config.update("jax_exec_time_optimization_effort", -1.0)
    with enable_x64(True), np.errstate(all="ignore"):
        yield
    jax.config.update("jax_exec_time_optimization_effort", effort)
    torch.set_num_threads(threads)


@st.composite
def right_calls(draw, backend, jit):
    """Draw (problem, way, options, batches); a batch is (seed, size, sample that is NaN)."""
    way = draw(st.sampled_from(WAYS))
    problem = draw(problems(backend != "torch", way == "mean_grad"))
    options: dict = {}
    if way != "loop_grad":
        options["jit"] = jit and (backend == "torch" or draw(st.booleans()))
    if way in WITH_OPTIONS:
        options["chunk_size"] = draw(st.none() | st.integers(1, 10))
        options["has_aux"] = draw(st.booleans())
    is_slow = backend == "jax" or (backend == "torch" and jit)  # each shape is compiled
    count = 1 if is_slow else draw(st.sampled_from((1, 1, 2, 3)))
    size = st.sampled_from((3, 1) if is_slow else range(1, 10))
    batch = st.tuples(st.integers(0, 99), size, st.none() | st.none() | st.integers(0, 8))
    return problem, way, options, [draw(batch) for _ in range(count)]


def check_right(backend, problem, way, options, batches):
    """Call one function with a batch after the other, and compare each answer with the oracle."""
    run = getattr(ps, way)(problem.loss(options.get("has_aux")), problem.in_axes, **options)
    tolerance = max(OF_DTYPE.get(leaf.dtype, 0.0) for leaf in problem.leaves)
    for seed, size, spoiled in batches:
        values = problem.values(seed, size)
        expected, expected_losses, expected_aux = oracle(problem, values, size)
        kept: Any = ...
        if way == "mean_grad":
            expected = [x.mean(0) for x in expected]
        elif spoiled is not None and spoiled < size:  # NaN in one sample changes no other row
            kept = [i for i in range(size) if i != spoiled]
            for x, leaf in zip(values, problem.leaves, strict=True):
                if leaf.kind == "float" and leaf.axis is not None:
                    np.moveaxis(x, leaf.axis, 0)[spoiled] = np.nan
        losses, rows, aux = taken_apart(way, options, run(*arguments(backend, problem, values)))
        like = optree.tree_map(lambda n: n, problem.arguments[0])
        assert optree.tree_structure(rows) == optree.tree_structure(like)
        for n, x, needed in zip(problem.params, optree.tree_leaves(rows), expected, strict=True):
            assert ps.arrays.backend_of(x) == backend
            assert str(x.dtype).removeprefix("torch.") == problem.leaves[n].dtype
            close("rows", x, needed, kept, tolerance)
        if losses is not None:
            close("losses", losses, expected_losses, kept, tolerance)
        if aux is not None:
            assert optree.tree_structure(aux) == optree.tree_structure(Pair({"value": 0}, ()))
            close("aux", aux.first["value"], expected_aux, kept, tolerance)


def arguments(backend, problem, values):
    """Return the arguments of a call; NumPy's arrays as they are, and not to be written to."""
    for x in values:
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    if backend != "numpy":
        values = [
            arrays(x, backend, x.dtype.name) if isinstance(x, np.ndarray) else x for x in values
        ]
    return optree.tree_map(values.__getitem__, problem.arguments)


def taken_apart(way, options, found):
    """Return (losses, rows, aux) of what a call has returned, None for what it has not."""
    if way == "per_sample_value_and_grad":
        losses, rows = found
        losses, aux = losses if options["has_aux"] else (losses, None)
        return losses, rows, aux
    rows, aux = found if options.get("has_aux") else (found, None)
    return None, rows, aux


def close(what, actual, expected, kept, tolerance):
    """Compare arrays relative to the largest number: cancellation is nobody's fault."""
    actual = np.asarray(actual)
    assert actual.shape == expected.shape, what
    actual, expected = actual[kept], expected[kept]
    scale = tolerance * (1.0 + np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=scale, err_msg=what)


# Many for `make check`: the backend, whether compiled, few and many.
COUNTS = [("numpy", True, 100, 6000), ("torch", False, 25, 1900), ("jax", True, 3, 150)]
COUNTS += [("torch", True, 1, 12)]
RUNS = [(name, jit, few) for name, jit, few, _ in COUNTS]
RUNS += [pytest.param(name, jit, many, marks=pytest.mark.slow) for name, jit, _, many in COUNTS]


@pytest.mark.parametrize(("name", "jit", "count"), RUNS)
def test_rows_are_those_of_the_oracle(name, jit, count):
    @settings(max_examples=count)
    @given(right_calls(name, jit))
    def each(call):
        check_right(name, *call)

    each()
