"""Generated calls: rows, losses and aux equal those of torch.autograd.

A loss reduces some leaves of its arguments to one number each and combines these in sequence. The
arguments are random trees of the leaves; in_axes, dtypes and Python values are random too. What
varies is the call; the operations are tested elsewhere. `make test` runs some hundred calls, `make
check` nine thousand with those of test_generated_models.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import array_api_compat.torch
import jax
import numpy as np
import optree
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import persample as ps
from support.cases import arrays
from support.precision import enable_x64
from support.tolerances import OF_DTYPE

pytestmark = pytest.mark.usefixtures("quick", "light_compiler")
WITH_OPTIONS = ("per_sample_grad", "per_sample_value_and_grad")
WAYS = (*WITH_OPTIONS * 3, "loop_grad", "mean_grad")


@pytest.fixture
def quick():
    """Run a test on one thread, in double precision, without XLA's optimisations."""
    threads, effort = torch.get_num_threads(), jax.config.jax_exec_time_optimization_effort
    torch.set_num_threads(1)
    jax.config.update("jax_exec_time_optimization_effort", -1.0)
    with enable_x64(True), np.errstate(all="ignore"):
        yield
    jax.config.update("jax_exec_time_optimization_effort", effort)
    torch.set_num_threads(threads)


Pair = namedtuple("Pair", "first second")
SHAPES = st.lists(st.sampled_from((1, 2, 3, 5)), max_size=2).map(tuple)
STATICS = {"str": ("once", "twice"), "bool": (True, False), "int": (2, 3), "None": (None, None)}


class Leaf(NamedTuple):
    """A leaf of an argument: its shape in one sample, and its sample axis, None if shared."""

    kind: str  # param, float, whole, number, or a static value of STATICS
    shape: tuple = ()
    dtype: str = "float64"
    axis: int | None = 0


class Problem(NamedTuple):
    """A loss and its arguments: templates, which are trees of indices into ``leaves``."""

    steps: tuple  # (leaf, whether it is held fixed)
    leaves: tuple
    arguments: tuple  # the first are the parameters
    in_axes: Any

    @property
    def params(self):
        """Return the indices of the parameters' leaves, in the order of the tree."""
        return optree.tree_leaves(self.arguments[0])

    def loss(self, has_aux=False, m=None, stop=ps.stop_gradient):
        """Return the loss of one sample, loss(*arguments); a given m replaces its namespace."""

        def loss(*arguments):
            xp = m or ps.array_namespace(arguments[0])
            values: dict = {}
            for template, tree in zip(self.arguments, arguments, strict=True):
                optree.tree_map(values.__setitem__, template, tree)
            dtype = values[self.params[0]].dtype
            for n, leaf in enumerate(self.leaves):
                if leaf.kind == "whole":
                    values[n] = xp.astype(values[n], dtype)
            total = xp.sum(values[self.params[0]])
            for n, held in self.steps:
                x = xp.mean(xp.tanh(values[n]))
                x = stop(x) if held else x
                total = xp.tanh(total) * (1.0 + x) + x * x
            for n, leaf in enumerate(self.leaves):
                if leaf.kind == "number":
                    total = total * values[n]
                elif leaf.kind == "str":
                    total = total + total if values[n] == "twice" else total
                elif leaf.kind in ("int", "bool"):
                    total = total + (0.5 if values[n] is True else values[n]) * xp.tanh(total)
            if has_aux:
                return total, Pair({"value": total * values[self.steps[-1][0]]}, ())
            return total

        return loss

    def values(self, seed, size):
        """Return the leaves of a random batch of ``size`` samples: NumPy arrays, Python values."""
        rng = np.random.default_rng(seed)
        return [_value(rng, leaf, seed, size) for leaf in self.leaves]


def _value(rng, leaf, seed, size):
    if leaf.kind in STATICS:
        return STATICS[leaf.kind][seed % 2]
    if leaf.kind == "number":
        return 0.5 + 0.25 * (seed % 5)
    shape = leaf.shape if leaf.axis is None else (size, *leaf.shape)
    x = rng.uniform(-1.5, 1.5, shape)
    x = np.round(2 * x) if leaf.kind == "whole" else x
    x = x if leaf.axis is None else np.moveaxis(x, 0, leaf.axis)
    return np.array(x, leaf.dtype)


@st.composite
def templates(draw, leaves, depth=0):
    """Draw a template: a tree whose leaves are the indices ``leaves``, in this order."""
    if len(leaves) == 1 and (depth > 1 or draw(st.sampled_from((True, True, False)))):
        return leaves[0]
    cuts = sorted(draw(st.sets(st.integers(1, len(leaves)), max_size=3)) | {0, len(leaves)})
    groups = [leaves[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    groups = [[n] for n in leaves] if depth > 1 else groups
    parts = [draw(templates(group, depth + 1)) for group in groups]
    kinds = [list, tuple, "dict", "with None", "with empty parts"]
    kind = draw(st.sampled_from(kinds + [Pair] * (len(parts) == 2)))
    if kind == "dict":
        return {f"w{n}": part for n, part in enumerate(parts)}
    if kind == "with None":
        return {"b": None, "a": parts}
    if kind == "with empty parts":
        return [{}, *parts, ()]
    return Pair(*parts) if kind is Pair else kind(parts)


@st.composite
def _entry(draw, template, leaves, whole=False):
    """Draw an entry of in_axes: an axis, or a tree of axes that is a prefix of the argument."""
    axes = {leaves[n].axis for n in optree.tree_leaves(template)}
    if isinstance(template, int) or template is None:
        return axes.pop() if axes else None
    if len(axes) == 1 and (whole or draw(st.booleans())):
        return axes.pop()
    if isinstance(template, dict):
        return {key: draw(_entry(part, leaves)) for key, part in template.items()}
    parts = [draw(_entry(part, leaves)) for part in template]
    return Pair(*parts) if isinstance(template, Pair) else type(template)(parts)


@st.composite
def problems(draw, mixed=True, params_shared=False):
    """Draw a Problem; with ``mixed`` it may have leaves of two floating-point dtypes."""
    style = draw(st.sampled_from(("default", "explicit", "explicit", "int")))
    style = "explicit" if style == "int" and params_shared else style
    one = draw(st.sampled_from((0, -1))) if style == "int" else 0
    own = style == "explicit" and not params_shared and draw(st.integers(0, 5)) == 5
    dtypes = [("float64",), ("float64",), ("float32",)] + [("float32", "float64")] * mixed
    dtypes = draw(st.sampled_from(dtypes))
    others = st.lists(st.sampled_from(("param", "float", "float", "whole")), max_size=5)
    leaves = []
    for n, kind in enumerate(["float", "param", *draw(others)]):
        shape, axis = draw(SHAPES), one
        if kind == "param" and style != "int" and not own:
            axis = None
        elif style == "explicit" and n:
            axis = draw(st.sampled_from((None, 0, *range(-len(shape) - 1, len(shape) + 1))))
        dtype = "int32" if kind == "whole" else draw(st.sampled_from(dtypes))
        leaves.append(Leaf(kind, shape, dtype, axis))
    step = st.tuples(st.sampled_from(range(len(leaves))), st.booleans())
    steps = draw(st.lists(step, min_size=1, max_size=6))
    if style == "explicit":
        extra = st.lists(st.sampled_from(("number", "number", *STATICS)), max_size=2)
        leaves += [Leaf(kind, axis=None) for kind in draw(extra)]
    params = draw(templates([n for n, leaf in enumerate(leaves) if leaf.kind == "param"]))
    arguments = [n for n, leaf in enumerate(leaves) if leaf.kind in STATICS]
    rest = [n for n, leaf in enumerate(leaves) if leaf.kind not in ("param", *STATICS)]
    while rest:
        count = draw(st.sampled_from((1, 1, 2, 3)))
        group, rest = rest[:count], rest[count:]
        arguments.append(draw(templates(group, 2 - count)))
    arguments = [params, *draw(st.permutations(arguments))]
    in_axes: Any = {"default": None, "int": one}.get(style)
    if style == "explicit":
        whole = [params_shared and not n for n in range(len(arguments))]
        in_axes = [draw(_entry(a, leaves, w)) for a, w in zip(arguments, whole, strict=True)]
        in_axes = draw(st.sampled_from((tuple, list)))(in_axes)
    return Problem(tuple(steps), tuple(leaves), tuple(arguments), in_axes)


def oracle(problem, values, size):
    """Return (rows, losses, aux) by torch.autograd in float64, in a loop over the samples.

    It uses no transform of the package. The rows are a list, in the order of `params`.
    """
    loss = problem.loss(True, array_api_compat.torch, torch.Tensor.detach)
    rows, losses, aux = [], [], []
    for i in range(size):
        one = list(values)
        for n, (x, leaf) in enumerate(zip(values, problem.leaves, strict=True)):
            if isinstance(x, np.ndarray):
                x = torch.tensor(x if leaf.axis is None else np.take(x, i, axis=leaf.axis))
                x = x.double() if leaf.kind != "whole" else x
                one[n] = x.requires_grad_(leaf.kind == "param")
        value, found = loss(*[optree.tree_map(one.__getitem__, a) for a in problem.arguments])
        params = [one[n] for n in problem.params]
        rows.append(torch.autograd.grad(value, params, materialize_grads=True))
        losses.append(value.item())
        aux.append(found.first["value"].detach().numpy())
    columns = [np.stack([g.numpy() for g in column]) for column in zip(*rows, strict=True)]
    return columns, np.array(losses), np.stack(aux)


@st.composite
def right_calls(draw, backend, jit):
    """Draw (problem, name of the function, options, batches).

    A batch is (seed, size, index of a sample that becomes NaN, or None).
    """
    way = draw(st.sampled_from(WAYS))
    problem = draw(problems(backend != "torch", way == "mean_grad"))
    options: dict = {}
    if way != "loop_grad":
        options["jit"] = jit and (backend == "torch" or draw(st.booleans()))
    if way in WITH_OPTIONS:
        options["chunk_size"] = draw(st.none() | st.integers(1, 7))
        options["has_aux"] = draw(st.booleans())
    is_slow = backend == "jax" or (backend == "torch" and jit)  # each shape is compiled
    count = 1 if is_slow else draw(st.sampled_from((2, 2, 3)))
    size = st.sampled_from((3, 1) if is_slow else range(1, 7))
    batch = st.tuples(st.integers(0, 99), size, st.none() | st.none() | st.integers(0, 5))
    return problem, way, options, [draw(batch) for _ in range(count)]


def check_right(backend, problem, way, options, batches):
    """Call one function with each of the batches, and compare its results with the oracle."""
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
    """Return the arguments of a call in a backend; NumPy's arrays are made read-only."""
    for x in values:
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    if backend != "numpy":
        values = [
            arrays(x, backend, x.dtype.name) if isinstance(x, np.ndarray) else x for x in values
        ]
    return optree.tree_map(values.__getitem__, problem.arguments)


def taken_apart(way, options, found):
    """Return (losses, rows, aux) from the result of a call, with None for missing parts."""
    if way == "per_sample_value_and_grad":
        losses, rows = found
        losses, aux = losses if options["has_aux"] else (losses, None)
        return losses, rows, aux
    rows, aux = found if options.get("has_aux") else (found, None)
    return None, rows, aux


def close(what, actual, expected, kept, tolerance):
    """Assert that the samples ``kept`` agree within ``tolerance`` times (1 + largest entry).

    Cancellation makes the relative errors of small entries large.
    """
    actual = np.asarray(actual)
    assert actual.shape == expected.shape, what
    actual, expected = actual[kept], expected[kept]
    scale = tolerance * (1.0 + np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=scale, err_msg=what)


# Many for `make check`, most with two or three batches: the backend, whether compiled, few, many.
COUNTS = [("numpy", True, 70, 2600), ("torch", False, 18, 1000), ("jax", True, 2, 80)]
COUNTS += [("torch", True, 1, 6)]
RUNS = [(name, jit, few) for name, jit, few, _ in COUNTS]
RUNS += [pytest.param(name, jit, many, marks=pytest.mark.slow) for name, jit, _, many in COUNTS]


@pytest.mark.parametrize(("name", "jit", "count"), RUNS)
def test_rows_are_those_of_the_oracle(name, jit, count):
    @settings(max_examples=count)
    @given(right_calls(name, jit))
    def each(call):
        check_right(name, *call)

    each()
