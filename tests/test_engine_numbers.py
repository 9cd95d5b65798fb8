"""Where a shortcut of the engine could change a dtype, a shape, or what an array holds later on.

Numbers stay numbers: eager, under every transform, in graphs and in generated programs. A number
is a Python scalar, a 0-d constant, or one number shown in many places (zeros_like).
"""

import operator
import warnings

import numpy as np
import pytest
from specs import SPECS
from tolerances import FLOAT64, assert_close

from persample.engine import grad, jit, make_graph, optimise, vmap
from persample.engine import namespace as xp
from persample.engine.operations import only_number
from persample.engine.primitives import PRIMITIVES

x, y = np.array([0.5, -1.5, 2.0]), np.array([1.0, 2.0, -3.0])
rows = np.random.default_rng(0).uniform(0.5, 1.5, (4, 3))
DTYPES = [np.bool, np.int8, np.int64, np.float32, np.float64]


def like(got, expected):
    """Check value, dtype and shape."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


# What a number is ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (np.float32(0.5), 0.5),
        (np.array([0.5]), 0.5),
        (np.broadcast_to(np.array([[0.5]]), (2, 3)), 0.5),
        (np.full((2, 3), 0.5), None),  # six numbers, which happen to be equal
        (np.broadcast_to(np.array([0.5, 0.5]), (3, 2)), None),
        (np.broadcast_to(0.5, (0, 3)), None),
    ],
)
def test_one_number_is_one_place_in_memory(value, number):
    assert only_number(value) == number
    if number is not None:
        assert isinstance(only_number(value), np.generic)
        assert only_number(value).dtype == value.dtype


def test_a_variable_is_no_number_even_if_it_is_0_d():
    seen = []
    for transform, at in ((grad, x[0]), (vmap, x), (jit, x[0])):
        transform(lambda t: seen.append(only_number(t)) or t * t)(at)
    assert seen == [None] * 3


# In graphs and programs ----------------------------------------------------------------------


def test_a_graph_shows_numbers_as_numbers():
    def loss(w, k):
        return xp.sum(xp.maximum(0.5 * w, xp.zeros_like(w)) ** 3.0 - np.array(2.0, w.dtype)) * k

    assert str(make_graph(loss)(np.ones(5, np.float32), np.array(2.0))) == (
        "loss(w: float32[5], k: float64[]):\n"
        "    a: float32[5] = multiply 0.5 w\n"
        "    b: float32[5] = maximum a 0.0\n"
        "    c: float32[5] = power b 3.0\n"
        "    d: float32[5] = subtract c 2.0\n"
        "    e: float32[] = sum[axes=(0,)] d\n"
        "    f: float64[] = astype[dtype=float64] e\n"
        "    g: float64[] = multiply f k\n"
        "    return g"
    )
    batched = str(make_graph(vmap(lambda row: 0.5 * row - 1.0))(rows))
    assert "float64[4,3] = multiply 0.5 row" in batched
    assert "float64[4,3] = subtract a 1.0" in batched


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
    kinds = [("elementwise", graph.equations), ("", optimise(graph).equations)]
    for kind, equations in kinds:
        read = [x for eq in equations if kind in eq.primitive.kind for x in eq.inputs]
        assert not [x for x in read if isinstance(x, np.ndarray)]


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
    assert jit(lambda w: w**2).source(x) == jit(lambda w: w * w).source(x)
    assert jit(lambda w: w ** np.array(2.0)).source(x) == jit(lambda w: w * w).source(x)


# The same numbers and dtypes as NumPy's ------------------------------------------------------

NUMBERS = [2, 0.5, True, np.float32(0.1), np.float64(0.1), np.array(3)]
NUMPY = {"pow": np.power}
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "logaddexp"]
BINARY += ["atan2", "hypot", "copysign", "nextafter", *COMPARISONS]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_promotion_is_numpys(name, dtype):
    array = np.array([1, 0, 2]).astype(dtype)
    ours, numpys = getattr(xp, name), NUMPY.get(name) or getattr(np, name)
    for number in NUMBERS:
        dtype_of = np.result_type(array, number)
        if name not in COMPARISONS and dtype_of.kind != "f":
            continue  # small integers: NumPy's division and powers have dtypes of their own
        for turn in (lambda a, b: (a, b), lambda a, b: (b, a)):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = numpys(*turn(array, number))
                f = lambda v, turn=turn, number=number: ours(*turn(v, number))  # noqa: E731
                for run in (f, jit(f), vmap(f)):
                    wide = name in ("logaddexp", "atan2", "hypot", "copysign", "nextafter")
                    # a boolean does not widen its partner
                    assert run(array).dtype == (dtype_of if wide else expected.dtype), number
                    assert_close(run(array), expected, 1e-3 if wide else 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("two", [2, 2.0, np.float32(2), np.int64(2)], ids=repr)
def test_a_square_has_the_dtype_and_the_shape_of_a_power(dtype, two):
    a = np.array([0, 1, 3]).astype(dtype)
    for f in (lambda a: xp.pow(a, two), lambda a: a**two):
        like(vmap(f)(a), np.power(a, two))
        like(jit(f)(a), np.power(a, two))
    like(xp.pow(a, xp.full_like(a, 2, type(two))), np.power(a, np.full(3, two, type(two))))
    for shapes in [((), (1,)), ((), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3))]:
        base, exponent = np.full(shapes[0], 3.0), np.full(shapes[1], 2.0)
        for e in (exponent, np.broadcast_to(np.float64(2.0), exponent.shape)):
            like(xp.pow(base, e), np.power(base, e))
            like(jit(lambda b, e=e: xp.pow(b, e))(base), np.power(base, e))
    repeated = lambda x: xp.sum(xp.pow(x, xp.full_like(np.ones(3), 2.0)))  # noqa: E731
    assert_close(grad(repeated)(3.0), 18.0, FLOAT64)


NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1, "pow": 1}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NEUTRAL)
def test_a_neutral_element_still_promotes_and_repeats(name, dtype):
    a, f = np.array([0, 1, 3]).astype(dtype), getattr(xp, name)
    kinds = [int, float, np.int8, np.float32, np.float64, np.bool]
    numbers = [kind(NEUTRAL[name]) for kind in kinds]
    numbers += [xp.full_like(np.ones(s), NEUTRAL[name], dtype) for s in [(1,), (2, 1, 1), (2, 3)]]
    for number in numbers:
        if name == "subtract" and np.result_type(a, number) == np.bool:
            continue  # NumPy has no difference of booleans
        like(jit(lambda a, n=number: f(a, n))(a), f(a, number))
        if name in ("add", "multiply"):
            like(jit(lambda a, n=number: f(n, a))(a), f(number, a))


# Rules with a number for one input -----------------------------------------------------------


@pytest.mark.parametrize("number", [0.0, 1.0, 2.0, 2.5, -1.0])
@pytest.mark.parametrize("name", [n for n in SPECS if PRIMITIVES[n].kind == "elementwise"])
@np.errstate(all="ignore")
def test_a_number_and_an_array_of_it_give_the_same_rows(name, number):
    """Values and gradients, second ones too, by the number and by an array full of it."""
    f = getattr(xp, {"power": "pow"}.get(name, name))
    cases = [c for c in SPECS[name] if len(c.inputs) > 1 and c.inputs[0].shape == (2, 3)]
    for many in [case.draw(3, (4,)) for case in cases]:
        for i in [i for i, v in enumerate(many) if v.dtype.kind == "f"]:
            others = [v for j, v in enumerate(many) if j != i]
            floats = tuple(j for j, v in enumerate(others) if v.dtype.kind == "f")

            def values(at, *vs, i=i):
                return xp.tanh(f(*vs[:i], at, *vs[i:]) * 1.0)

            def first(at, *vs, values=values, floats=floats):
                return grad(lambda *vs: xp.sum(values(at, *vs)), floats)(*vs)

            def second(at, *vs, first=first, floats=floats):
                return grad(lambda *vs: sum(xp.sum(g) for g in first(at, *vs)), floats)(*vs)

            for g in (values, first, second) if floats else (values,):
                by_array = vmap(lambda *vs, g=g: g(np.full((2, 3), number), *vs))(*others)
                by_number = vmap(lambda *vs, g=g: g(np.float64(number), *vs))
                assert_close(by_number(*others), by_array, FLOAT64, name)
                assert_close(jit(by_number)(*others), by_array, FLOAT64, name)


# Arrays from outside ---------------------------------------------------------------------------


def read_only(w):
    w = w.view()
    w.flags.writeable = False
    return w


OUTSIDE = {
    "the array": lambda w: w,
    "broadcast": lambda w: xp.broadcast_to(w, (4, 3)),
    "read-only view": read_only,
    "reversed view": lambda w: w[::-1],
    "one entry": lambda w: np.broadcast_to(w[1:2], (4, 3)),
    "0-d view": lambda w: w[1:2].reshape(()),
}


@pytest.mark.parametrize("view", OUTSIDE)
@pytest.mark.parametrize("f", [operator.add, lambda x, w: x @ xp.broadcast_to(w, (4, 3)).T])
def test_arrays_from_outside_are_fixed_at_trace_time(view, f):
    w, x = np.array([1.0, 2.0, 4.0]), np.arange(12.0).reshape(4, 3)
    shown = OUTSIDE[view](w)
    run = jit(lambda x: f(x, shown))
    first = run(x)
    w[:] = 5.0
    like(run(x), first)
    assert not np.array_equal(first, f(x, shown))  # else nothing could have changed


def test_a_constant_that_repeats_one_entry_stays_small():
    repeated = np.broadcast_to(np.arange(3.0), (100_000, 3))
    program = jit(lambda x: x @ repeated)._compiled((np.ones(100_000),)).program
    held = [x for x in program.__globals__.values() if isinstance(x, np.ndarray)]
    assert [(x.shape, x.strides[0]) for x in held] == [((100_000, 3), 0)]


PASTED = {
    "min": lambda x: xp.min(x, axis=0),
    "prod": lambda x: xp.prod(x, axis=-1),
    "cumulative": lambda x: xp.cumulative_sum(x, axis=1),
    "big-endian": lambda x: x.astype(">f8") * 2.0,
    "big-endian alone": lambda x: x.astype(np.dtype(">f4")),
    "bool": lambda x: x.astype(bool),
}


@pytest.mark.parametrize("name", PASTED)
def test_a_program_runs_when_it_is_pasted(name):
    """The reader copies what ``source`` prints, with no more than NumPy under ``np``."""
    f, scope = PASTED[name], {"np": np}
    run = jit(f)
    like(run(rows), f(rows))
    program = run._compiled((rows,)).program
    if "constant" in run.source(rows):
        scope |= {k: v for k, v in program.__globals__.items() if "constant" in k}
    exec(run.source(rows), scope)
    like(scope[program.__name__](rows), f(rows))
