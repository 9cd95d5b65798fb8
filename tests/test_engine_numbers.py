"""Numbers stay numbers: eager, under every transform, in graphs and in generated programs.

A number is a Python scalar, a 0-d constant, or one number shown in many places (zeros_like).
"""

import warnings

import numpy as np
import pytest
from specs import SPECS
from tolerances import FLOAT64, assert_close

from persample.engine import grad, jit, make_graph, optimise, vmap
from persample.engine import namespace as xp
from persample.engine.codegen import LARGE
from persample.engine.operations import only_number
from persample.engine.primitives import PRIMITIVES

x, y = np.array([0.5, -1.5, 2.0]), np.array([1.0, 2.0, -3.0])
rows = np.random.default_rng(0).uniform(0.5, 1.5, (4, 3))
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "logaddexp"]
REAL = ["atan2", "hypot", "copysign"]  # of real numbers, like logaddexp
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


def lines(graph):
    return [line.strip() for line in str(graph).splitlines()]


def array_constants(graph):
    """Return the constants of a graph that are arrays."""
    atoms = [x for eq in graph.equations for x in eq.inputs]
    return [x for x in atoms if isinstance(x, np.ndarray)]


# What a number is ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (np.float32(0.5), 0.5),
        (np.array(0.5), 0.5),
        (np.array([0.5]), 0.5),
        (np.broadcast_to(0.5, (2, 3)), 0.5),
        (np.broadcast_to(np.array([[0.5]]), (2, 3)), 0.5),
        (np.full((2, 3), 0.5), None),  # six numbers, which happen to be equal
        (np.broadcast_to(np.array([0.5, 0.5]), (3, 2)), None),
        (np.broadcast_to(0.5, (0, 3)), None),
        (np.zeros(0), None),
    ],
)
def test_one_number_is_one_place_in_memory(value, number):
    assert only_number(value) == number
    if number is not None:
        assert isinstance(only_number(value), np.generic)
        assert only_number(value).dtype == value.dtype


def test_a_variable_is_no_number_even_if_it_is_0_d():
    seen = []
    grad(lambda t: seen.append(only_number(t)) or t * t)(np.array(2.0))
    vmap(lambda t: seen.append(only_number(t)) or t * t)(x)
    jit(lambda t: seen.append(only_number(t)) or t * t)(np.array(2.0))
    assert seen == [None] * 3


# In graphs and programs ----------------------------------------------------------------------


def test_a_graph_shows_numbers_as_numbers():
    def loss(w):
        return xp.sum(xp.maximum(0.5 * w, xp.zeros_like(w)) ** 3.0 - np.array(2.0, w.dtype))

    assert lines(make_graph(loss)(np.ones(5, np.float32)))[1:5] == [
        "a: float32[5] = multiply 0.5 w",
        "b: float32[5] = maximum a 0.0",
        "c: float32[5] = power b 3.0",
        "d: float32[5] = subtract c 2.0",
    ]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_rule_makes_an_array_of_a_number(depth):
    """Losses of numbers and variables have no constant array in their graph, before any pass."""

    def loss(w):
        a = xp.where(w > 0.25, 0.1 * w, xp.zeros_like(w)) / 3.0 - 1.0
        b = xp.maximum(a, 0.0) ** 2 + xp.logaddexp(w, 0.0) + xp.abs(w) ** 1.5
        return xp.mean(b) + xp.max(w) + xp.sum(2.0 ** xp.minimum(w, 0.9))

    f = grad(loss)
    for _ in range(depth):
        f = vmap(f)
    example = np.random.default_rng(1).uniform(0.4, 1.4, (2, 3, 4)[2 - depth :])
    graph = make_graph(f)(example)
    assert len(graph.equations) > 30
    elementwise = [eq for eq in graph.equations if eq.primitive.kind == "elementwise"]
    assert [eq for eq in elementwise if any(isinstance(c, np.ndarray) for c in eq.inputs)] == []
    assert array_constants(optimise(graph)) == []


def test_a_number_needs_no_sample_axis():
    graph = make_graph(vmap(lambda row: 0.5 * row - 1.0))(rows)
    assert lines(graph)[1:3] == [
        "a: float64[4,3] = multiply 0.5 row",
        "b: float64[4,3] = subtract a 1.0",
    ]


def test_a_program_shows_numbers_as_numbers():
    def f(w):
        return xp.where(w > 0.0, xp.pow(w, 3.0), -np.inf) + np.nan, xp.where(w > 0.0, 1.0, 0.0)

    source = jit(f).source(x)
    assert "constant" not in source
    assert "np.where(a, np.power(w, 3.0), -np.inf) + np.nan" in source
    assert "np.where(a, 1.0, 0.0)" in source
    with np.errstate(all="ignore"):
        assert_close(jit(f)(x), f(x), FLOAT64)
        small = jit(f)(x.astype(np.float32))
    assert [a.dtype for a in small] == [np.float32, np.float64]


def test_what_turns_out_to_be_a_number_is_written_as_one():
    """Constants that passes compute, by a reshape too, are numbers like those of the reader."""

    def f(w):
        known = xp.where(True, np.array([[2.0]]), xp.broadcast_to(w[0], (1, 1)))
        return w * xp.reshape(known, ())

    assert jit(f).source(x) == "def f(w):\n    return 2.0 * w\n"
    assert_close(jit(f)(x), 2.0 * x, FLOAT64)


def test_0_d_arguments_are_inputs_and_0_d_constants_are_numbers():
    outside = np.array(3.0)
    run = jit(lambda w, k: w * k + outside)
    assert lines(run.graph(x, np.array(2.0))) == [
        "function(w: float64[3], k: float64[]):",
        "a: float64[3] = multiply w k",
        "b: float64[3] = add a 3.0",
        "return b",
    ]
    assert_close(run(x, np.array(2.0)), 2 * x + 3, FLOAT64)
    assert_close(run(x, np.array(5.0)), 5 * x + 3, FLOAT64)
    assert run.traces == 1


# The same numbers and dtypes as NumPy's ------------------------------------------------------

NUMBERS = [2, 0.5, -1.5, True, np.float32(0.1), np.float64(0.1), np.array(0.1), np.array(3)]
NUMPY = {"pow": np.power, "minimum": np.minimum}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.bool])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: f"{type(n).__name__} {n}")
@pytest.mark.parametrize("name", [*BINARY, *REAL, *COMPARISONS])
def test_promotion_is_numpys(name, number, dtype):
    array = np.array([1, 0, 2]).astype(dtype)
    ours, numpys = getattr(xp, name), NUMPY.get(name) or getattr(np, name)
    for ours_of, numpys_of in (
        (lambda v: ours(v, number), lambda v: numpys(v, number)),
        (lambda v: ours(number, v), lambda v: numpys(number, v)),
    ):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = numpys_of(array)
            except (TypeError, ValueError):
                continue  # no such operation on booleans, or on integers
            dtype_of = np.result_type(array, number)
            if name not in COMPARISONS and dtype_of.kind != "f":
                continue  # small integers: NumPy's division and powers have dtypes of their own
            for run in (ours_of, jit(ours_of), vmap(ours_of)):
                got = run(array)
                assert got.dtype == expected.dtype, run
                assert_close(got, expected, 1e-6 if got.dtype == np.float32 else FLOAT64)


def test_float32_stays_float32_through_loss_gradient_and_program():
    def loss(w):
        return xp.sum(0.1 * w**3 + 2.0 / (1.0 + w * w) - xp.maximum(w, 0.3)) * 0.5

    small = x.astype(np.float32)
    for run in (grad(loss), jit(grad(loss)), jit(grad(loss), ())):
        assert run(small).dtype == np.float32
    assert jit(vmap(grad(loss)))(rows.astype(np.float32)).dtype == np.float32


# Rules with a number for one input -----------------------------------------------------------


@pytest.mark.parametrize("number", [0.0, 1.0, 2.0, 2.5, -1.0])
@pytest.mark.parametrize("name", [n for n in SPECS if PRIMITIVES[n].kind == "elementwise"])
def test_a_number_and_an_array_of_it_give_the_same_rows(name, number):
    """Values and gradients, second ones too, by the number and by an array full of it."""
    cases = [c for c in SPECS[name] if len(c.inputs) > 1 and c.inputs[0].shape == (2, 3)]
    for case in cases:
        many = case.draw(3, (4,))
        for i in range(len(many)):
            if many[i].dtype.kind != "f":
                continue
            others = [v for j, v in enumerate(many) if j != i]
            floats = tuple(j for j, v in enumerate(others) if v.dtype.kind == "f")

            def f(*vs, i=i, filled=False):
                full = np.full((2, 3), number)
                vs = [*vs[:i], full if filled else np.float64(number), *vs[i:]]
                return getattr(xp, {"power": "pow"}.get(name, name))(*vs)

            def first(*vs, filled, f=f, floats=floats):
                loss = lambda *vs: xp.sum(xp.tanh(f(*vs, filled=filled) * 1.0))  # noqa: E731
                return grad(loss, floats)(*vs)

            def second(*vs, filled, first=first, floats=floats):
                total = lambda *vs: sum(xp.sum(g) for g in first(*vs, filled=filled))  # noqa: E731
                return grad(total, floats)(*vs)

            with np.errstate(all="ignore"):
                out = f(*others, filled=True)
            routes = [f, first, second] if floats and out.dtype.kind == "f" else [f]
            for g in routes:
                with np.errstate(all="ignore"):
                    a = vmap(lambda *vs, g=g: g(*vs, filled=False))(*others)
                    b = vmap(lambda *vs, g=g: g(*vs, filled=True))(*others)
                    c = jit(vmap(lambda *vs, g=g: g(*vs, filled=False)))(*others)
                assert_close(a, b, FLOAT64, name)
                assert_close(a, c, FLOAT64, name)


def test_zeros_like_and_ones_like_alone_keep_their_shape():
    f = lambda w: xp.zeros_like(w) - 2.0 * xp.ones_like(w)  # noqa: E731
    for run in (f, jit(f), jit(f, ()), vmap(f), jit(vmap(f))):
        assert_close(run(rows), np.full((4, 3), -2.0), FLOAT64)
    total = lambda w: xp.sum(w * 0.0 + xp.sum(xp.ones_like(w)))  # noqa: E731
    assert total(x) == jit(total)(x) == 9.0
    g = lambda t: t + xp.zeros((2, 3)) + xp.ones_like(xp.zeros((1, 3)))  # noqa: E731
    assert_close(vmap(g)(x), np.broadcast_to(x[:, None, None] + 1.0, (3, 2, 3)), FLOAT64)
    assert_close(jit(vmap(grad(lambda t: xp.sum(g(t)))))(x), np.full(3, 6.0), FLOAT64)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_exponents_of_each_sample(batch):
    """Equal exponents in an array stay an array: its shape is the batch's."""
    t, e = rows[:batch], np.full(batch, 2.0)
    f = vmap(grad(lambda w, k: xp.sum(w**k)))
    assert_close(jit(f)(t, e), 2.0 * t, FLOAT64)
    g = lambda w, k: xp.sum(xp.tanh(xp.take(w**k, np.array([0, 0]), axis=0)))  # noqa: E731
    assert_close(jit(vmap(g))(t, e), 2.0 * np.tanh(t[:, 0] ** 2), FLOAT64)
    w, k = rows[:3], np.array([0.2, 0.2, 0.2])
    assert_close(jit(g)(w, k), np.sum(np.tanh((w**k)[[0, 0]])), FLOAT64)
    assert_close(jit(lambda w: g(w, k))(w), np.sum(np.tanh((w**k)[[0, 0]])), FLOAT64)


def test_a_number_as_exponent_takes_numpys_fast_path():
    assert jit(lambda w: w**2).source(x) == jit(lambda w: w * w).source(x)
    assert jit(lambda w: w ** np.array(2.0)).source(x) == jit(lambda w: w * w).source(x)
    assert "np.power(w, 3)" not in jit(lambda w: w**3).source(x)
    assert "np.power(w, 3.0)" in jit(lambda w: w**3).source(x)
    assert_close(grad(lambda w: xp.sum(w**0))(x), np.zeros(3), 0.0)
    assert_close(grad(lambda w: xp.sum(w**1))(np.zeros(3)), np.ones(3), 0.0)


# Array constants beside numbers --------------------------------------------------------------


def test_a_loss_may_close_over_a_large_array():
    """Above LARGE bytes the program looks for memory to reuse, among constants and variables."""
    n = LARGE // 8
    table = np.random.default_rng(3).normal(size=n)

    def f(w):
        a = xp.exp(w)
        return (a * table + table * a) * 0.5 - table, xp.maximum(table, w)

    w = np.random.default_rng(4).normal(size=n)
    run = jit(f)
    kept = table.copy()
    assert_close(run(w), f(w), FLOAT64)
    assert_close(run(w), f(w), FLOAT64)
    np.testing.assert_array_equal(table, kept)
    assert "out=" in run.source(w)
