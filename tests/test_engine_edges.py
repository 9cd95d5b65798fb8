"""Where a shortcut of the engine could change a dtype, a shape, or what an array holds later on.

Each shortcut is compared with the plain way: NumPy, the eager call, or PyTorch.
"""

import operator

import numpy as np
import pytest
import torch
from tolerances import FLOAT64, assert_close

from persample.engine import grad, jit, vmap
from persample.engine import namespace as xp


def like(got, expected):
    """Check value, dtype and shape."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


DTYPES = [np.bool, np.int8, np.int64, np.float32, np.float64]
bits = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)

# Squares ---------------------------------------------------------------------------------------


@bits
@pytest.mark.parametrize("two", [2, 2.0, np.float32(2), np.float64(2), np.int64(2)], ids=repr)
def test_a_square_has_the_dtype_of_a_power(dtype, two):
    x = np.array([0, 1, 3]).astype(dtype)
    expected = np.power(x, two)
    like(xp.pow(x, two), expected)
    like(vmap(lambda a: xp.pow(a, two))(x), expected)
    like(vmap(lambda a: a**two)(x), expected)
    like(jit(lambda a: xp.pow(a, two))(x), expected)
    like(xp.pow(x, xp.full_like(x, 2, type(two))), np.power(x, np.full(3, two, type(two))))


@pytest.mark.parametrize("shapes", [((), (1,)), ((), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3))])
def test_a_square_has_the_shape_of_a_power(shapes):
    base, exponent = [np.full(shape, 2.0) for shape in shapes]
    base = base + np.arange(base.size).reshape(base.shape)
    repeated = np.broadcast_to(np.float64(2.0), exponent.shape)  # what counts as one number
    for two in (exponent, repeated):
        like(xp.pow(base, two), np.power(base, two))
        like(jit(xp.pow)(base, two), np.power(base, two))
        like(jit(lambda b, two=two: xp.pow(b, two))(base), np.power(base, two))


def test_the_gradient_of_a_square_counts_every_repetition():
    assert_close(
        grad(lambda x: xp.sum(xp.pow(x, xp.full_like(np.ones(3), 2.0))))(3.0), 18.0, FLOAT64
    )


# Arrays filled with one number -----------------------------------------------------------------


def test_full_like_repeats_a_variable():
    def make(v):
        return xp.full_like(np.ones((2, 3)), v)

    assert_close(grad(lambda v: xp.sum(make(v)))(2.0), 6.0, FLOAT64)
    values = np.array([1.0, 2.0, 5.0])
    like(vmap(make)(values), np.stack([np.full((2, 3), v) for v in values]))
    like(jit(make)(np.float64(2.0)), np.full((2, 3), 2.0))


@pytest.mark.parametrize("dtype", [None, np.float32, np.dtype("float32"), np.int64])
def test_full_like_has_the_dtype_asked_for(dtype):
    x = np.ones((2, 1))
    expected = np.full_like(x, 3.0, dtype)
    like(xp.full_like(x, 3.0, dtype), expected)
    like(jit(lambda v: xp.full_like(x, v, dtype))(np.float64(3.0)), expected)


# Identities of the optimiser -------------------------------------------------------------------

NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1, "pow": 1}


@bits
@pytest.mark.parametrize("kind", [int, float, np.int8, np.float32, np.float64, np.bool])
@pytest.mark.parametrize("name", NEUTRAL)
def test_a_neutral_element_still_promotes(name, kind, dtype):
    x, number = np.array([0, 1, 3]).astype(dtype), kind(NEUTRAL[name])
    f = getattr(xp, name)
    try:
        expected = f(x, number)
    except TypeError:  # NumPy has no difference of booleans
        assert name == "subtract"
        assert dtype is np.bool
        return
    like(jit(lambda a: f(a, number))(x), expected)
    if name in ("add", "multiply"):
        like(jit(lambda a: f(number, a))(x), f(number, x))


@bits
@pytest.mark.parametrize("shape", [(1,), (2, 1, 1), (2, 3)])
@pytest.mark.parametrize("name", NEUTRAL)
def test_a_neutral_element_still_repeats(name, shape, dtype):
    x, f = np.array([0, 1, 3]).astype(dtype), getattr(xp, name)
    if name == "subtract" and dtype is np.bool:
        return
    number = xp.full_like(np.ones(shape), NEUTRAL[name], dtype)
    like(jit(lambda a: f(a, number))(x), f(x, number))


# What a program holds --------------------------------------------------------------------------


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
    run = jit(lambda x: x @ repeated)
    program = run.program(np.ones(100_000))
    held = [x for x in program.__globals__.values() if isinstance(x, np.ndarray)]
    assert [x.shape for x in held] == [(100_000, 3)]
    assert held[0].strides[0] == 0


# Norms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ord", [0.5, 1.5, 2, 2.5, 3, 4, np.float64(3)])
@pytest.mark.parametrize("x", [[0.0, 0.0, 0.0], [0.0, 2.0, -3.0], [1.0, 2.0, -3.0]], ids=repr)
def test_norms_have_slope_0_at_0_as_in_pytorch(x, ord):
    norm = lambda x: xp.linalg.vector_norm(x, ord=ord)  # noqa: E731
    peer = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    value = torch.linalg.vector_norm(peer, ord=float(ord))
    value.backward()
    assert_close(norm(np.array(x)), value.item(), FLOAT64)
    assert_close(grad(norm)(np.array(x)), peer.grad.numpy(), FLOAT64)


@pytest.mark.parametrize("ord", [-1, -2, -2.5])
def test_norms_of_negative_order(ord):
    for x in ([1.0, 2.0, -3.0], [0.0, 2.0, -3.0], [np.inf, np.inf]):
        with np.errstate(divide="ignore"):
            expected = np.linalg.norm(x, ord)
        assert_close(xp.linalg.vector_norm(np.array(x), ord=ord), expected, FLOAT64)


# NumPy's operators on tracers ------------------------------------------------------------------

OPERATORS = "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le gt ge eq ne"


@pytest.mark.parametrize("name", [*OPERATORS.split(), "matmul"])
def test_an_array_may_stand_before_a_tracer(name):
    f, a, b = getattr(operator, name), np.array([1, 2, 5]), np.array([3, 1, 2])
    like(jit(lambda b: f(a, b))(b), f(a, b))
    like(vmap(lambda b: f(a, b))(np.stack([b, a])), np.stack([f(a, b), f(a, a)]))


def test_divmod_of_an_array_and_a_tracer():
    a, b = np.array([1.0, 2.0, -5.0]), np.array([3.0, 1.5, 2.0])
    for got, expected in zip(jit(lambda b: divmod(a, b))(b), divmod(a, b), strict=True):
        like(got, expected)
    assert_close(grad(lambda b: xp.sum(divmod(a, b)[1]))(b), -np.floor(a / b), FLOAT64)


# Promotion of functions with a real result ------------------------------------------------------


@bits
@pytest.mark.parametrize("name", ["logaddexp", "atan2", "hypot", "copysign", "nextafter"])
@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), 0.5], ids=repr)
def test_a_boolean_does_not_widen_its_partner(name, number, dtype):
    f, x = getattr(xp, name), np.array([0, 1, 1]).astype(dtype)
    expected = np.result_type(x.dtype, number)
    assert f(x, number).dtype == f(number, x).dtype == expected
    assert jit(lambda a: f(a, number))(x).dtype == expected


# Programs that can be pasted -------------------------------------------------------------------

PASTED = {
    "min": lambda x: xp.min(x, axis=0),
    "max": lambda x: xp.max(x),
    "prod": lambda x: xp.prod(x, axis=-1),
    "prod of all": lambda x: xp.prod(x),
    "cumulative": lambda x: xp.cumulative_sum(x, axis=1),
    "big-endian": lambda x: x.astype(">f8") * 2.0,
    "big-endian alone": lambda x: x.astype(np.dtype(">f4")),
    "bool": lambda x: x.astype(bool),
}


@pytest.mark.parametrize("name", PASTED)
def test_a_program_runs_when_it_is_pasted(name):
    """The reader copies what ``source`` prints, with no more than NumPy under ``np``."""
    f, x = PASTED[name], np.random.default_rng(0).normal(size=(3, 4))
    run = jit(f)
    expected = f(x)
    like(run(x), expected)
    scope = {"np": np}
    if "constant" in run.source(x):
        scope |= {k: v for k, v in run.program(x).__globals__.items() if "constant" in k}
    exec(run.source(x), scope)
    like(scope[run.program(x).__name__](x), expected)
