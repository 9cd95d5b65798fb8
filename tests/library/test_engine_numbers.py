"""The engine's shortcuts for single numbers keep dtype and shape, and share no memory.

They are tested eagerly, under every transform, in graphs and in generated programs. A number is a
Python scalar, a 0-d constant, or one number broadcast to a shape (zeros_like).
"""

import warnings

import numpy as np
import pytest

from persample.engine import grad, jit, make_graph, vmap
from persample.engine import namespace as xp
from persample.engine.operations import only_number
from support.tolerances import FLOAT64, assert_close

x, y = np.array([0.5, -1.5, 2.0]), np.array([1.0, 2.0, -3.0])
rows = np.random.default_rng(0).uniform(0.5, 1.5, (4, 3))
DTYPES = [np.bool, np.int8, np.int64, np.float32, np.float64]


def like(got, expected):
    """Assert that two arrays have equal values, dtype and shape."""
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
    """Run the text of ``source`` in a namespace with ``np`` and the constants that it names."""
    f, scope = PASTED[name], {"np": np}
    run = jit(f)
    like(run(rows), f(rows))
    program = run.compiled((rows,)).program
    if "constant" in run.source(rows):
        scope |= {k: v for k, v in program.__globals__.items() if "constant" in k}
    exec(run.source(rows), scope)
    like(scope[program.__name__](rows), f(rows))


def test_a_gradient_in_half_precision_keeps_its_dtype():
    half = x.astype(np.float16)
    got = vmap(grad(lambda a: 0.5 * xp.sum(xp.tanh(a) * a)))(np.stack([half, half]))
    assert got.dtype == half.dtype
    assert_close(got[1], 0.5 * (np.tanh(x) + x / np.cosh(x) ** 2), 1e-3)
