"""Tracers have an array's operators, methods, indexing and einsum, or raise with advice."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persample.engine import grad, jit, vmap
from persample.engine import namespace as xp
from support.tolerances import FLOAT64, assert_close

X = np.random.default_rng(3).uniform(0.5, 3.0, (4, 2, 3))
N = np.arange(24).reshape(4, 2, 3) % 7 + 1
B = N % 2 == 0


def everywhere(f, *args):
    """Return f of the whole batch three times: by vmap, by jit of vmap, and by a loop."""
    return (
        vmap(f)(*args),
        jit(vmap(f))(*args),
        np.stack([f(*xs) for xs in zip(*args, strict=True)]),
    )


# Operators -------------------------------------------------------------------------------------

NUMBERS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge"]
BITS = ["and_", "or_", "xor", "lshift", "rshift", "eq", "ne"]
UNARY = {"pos": (X, N), "neg": (X, N), "abs": (X - 1.5, N - 3), "invert": (B, N)}


def as_in_numpy(f, *args):
    for result in everywhere(f, *args):
        assert_close(result, f(*args))
        assert result.dtype == f(*args).dtype


@pytest.mark.parametrize("name", [*NUMBERS, *BITS, "matmul"])
def test_operators_as_in_numpy(name):
    """Use two tracers, and a tracer with an array or a number on either side."""
    f = getattr(operator, name)
    if name == "matmul":
        as_in_numpy(lambda x: f(N[0].T, x), N)
        return
    pairs = [(N, N[::-1])]
    pairs += [(X, X[::-1]), (X, N)] if name in NUMBERS else []
    pairs += [] if name.endswith("shift") or name in NUMBERS else [(B, B[::-1])]
    for x, y in pairs:
        as_in_numpy(f, x, y)
        for other in (y[0], y[0, 0, 0].item()):
            as_in_numpy(lambda x, other=other: f(x, other), x)
            as_in_numpy(lambda x, other=other: f(other, x), x)


def test_unary_operators_and_divmod_as_in_numpy():
    for name, arrays in UNARY.items():
        for x in arrays:
            as_in_numpy(getattr(operator, name), x)
    for part in (0, 1):
        as_in_numpy(lambda x, y, part=part: divmod(x, y)[part], X, X[::-1])


def test_a_format_asks_for_a_number():
    seen = []
    grad(lambda x: seen.append(f"{x} and {xp.stop_gradient(x):.2f}") or x)(np.float64(1.0))
    assert seen == ["ReverseTracer(float64[] in grad) and 1.00"]


# Methods ---------------------------------------------------------------------------------------

METHODS = {
    "sum": lambda x: x.sum() + x.sum(axis=0) + x.sum(1)[:, None].sum(axis=(0, 1), keepdims=True),
    "mean and var": lambda x: x.mean(axis=-1) + x.var(axis=1) + x.std(-1),
    "prod": lambda x: x.prod(axis=0),
    "max and min": lambda x: x.max(axis=0) - x.min(axis=0),
    "argmax": lambda x: x.argmax(axis=1) + x.argmin(),
    "all and any": lambda x: (x > 1.0).all() | (x > 2.0).any(axis=0),
    "clip": lambda x: x.clip(1.0, 2.0) + x.clip(min=2.0) + x.clip(max=1.5),
    "round": lambda x: x.round(),
    "reshape": lambda x: x.reshape(3, 2) + x.reshape((3, 2)) + x.reshape(-1).reshape((3, -1)),
    "transposes": lambda x: x.transpose() + x.T + x.mT + x.transpose(1, 0) + x.transpose((1, 0)),
    "flat": lambda x: x.flatten() + x.ravel(),
    "squeeze": lambda x: x[None].squeeze(0) + x[:, None].squeeze(axis=1) + x.copy(),
    "dot": lambda x: x.dot(x.T),
    "astype": lambda x: x.astype(np.float32) + x.astype("float32"),
}


@pytest.mark.parametrize("what", METHODS)
def test_methods_as_in_numpy(what):
    f = METHODS[what]
    expected = np.stack([f(x) for x in X])  # NumPy's own methods
    for result in everywhere(f, X):
        assert_close(result, expected, FLOAT64 if expected.dtype != np.float32 else 1e-6)
        assert result.dtype == expected.dtype


OTHERS = {
    "sort": "np.sort(x), or xp.sort(x)",
    "tolist": "xp.unstack(x)",
    "fill": "xp.full_like(x, value)",
    "item": "x itself, or float(stop_gradient(x)) for a Python number",
}


@pytest.mark.parametrize("name", [n for n in dir(np.ndarray) if not n.startswith("_")])
def test_what_an_array_has_and_a_tracer_has_not_names_the_function_to_use(name):
    seen = []
    vmap(lambda x: seen.append(x) or x)(X)
    if hasattr(type(seen[0]), name):
        return
    with pytest.raises(AttributeError) as caught:
        getattr(seen[0], name)
    start = f"x.{name} with x = BatchTracer(float64[2, 3] in vmap): arrays inside vmap have no"
    assert str(caught.value).startswith(f"{start} {name}; use {OTHERS.get(name, '')}")
    assert str(caught.value).endswith(" of xp = ps.array_namespace(x).")


# Indexing --------------------------------------------------------------------------------------

INDICES = {
    "int": st.integers(-2, 1),
    "slice": st.sampled_from(
        [slice(None), slice(None, None, -1), slice(1, None), slice(3, 0, -2)]
    ),
    "none": st.none(),
    "one": st.just(np.array([1, 0, -1])),
    "two": st.just(np.array([[1], [0]])),
    "0-d": st.just(np.array(-1)),
    "list": st.just([0, 1, 1]),
}


@st.composite
def keys(draw):
    """Draw (array of up to four axes, index with integers, slices, arrays, None, Ellipsis)."""
    ndim = draw(st.integers(1, 4))
    x = np.arange(np.prod([2, 3, 4, 5][:ndim]), dtype=float).reshape([2, 3, 4, 5][:ndim])
    kinds = draw(st.lists(st.sampled_from(sorted(INDICES)), max_size=ndim + 1))
    while len([k for k in kinds if k != "none"]) > ndim:
        kinds.pop()
    key = [draw(INDICES[kind]) for kind in kinds]
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), Ellipsis)
    return x, tuple(key)


@settings(max_examples=120, deadline=None)
@given(keys())
def test_any_key_as_in_numpy(drawn):
    x, key = drawn
    expected = x[key]
    scattered = np.zeros_like(x)
    np.add.at(scattered, key, expected)
    np.testing.assert_array_equal(grad(lambda x: xp.sum(x[key] ** 2) * 0.5)(x), scattered)
    np.testing.assert_array_equal(vmap(lambda x: x[key])(np.stack([x, -x]))[1], -expected)
    np.testing.assert_array_equal(jit(lambda x: x[key])(x), expected)


@pytest.mark.parametrize(
    "key", ["x[0, :, i]", "x[0, ..., i]", "x[i, :, 0]", "x[:, i, j]", "x[i, j]"]
)
def test_arrays_of_each_sample_as_indices(key):
    i, j = np.array([[1, 0, 1], [0, 0, 1]]), np.array([[2, 0, 1], [1, 1, 0]])
    x = np.arange(36.0).reshape(3, 3, 4)
    f = lambda i, j, x: eval(key, {"x": x, "i": i, "j": j})  # noqa: E731
    rows = vmap(f, (0, 0, None))(i, j, x)
    np.testing.assert_array_equal(rows, np.stack([f(a, b, x) for a, b in zip(i, j, strict=True)]))


# Products --------------------------------------------------------------------------------------


def test_einsum_promotes():
    small, large = np.ones((2, 3), np.float32), np.ones((3, 2))
    assert xp.einsum("ij,jk->ik", small, large).dtype == np.float64
    a, b = grad(lambda x, y: xp.einsum("ij,ji->", x, y), (0, 1))(small, large)
    assert (a.dtype, b.dtype) == (np.float32, np.float64)
    for f in (
        lambda x, y: xp.sum(xp.matmul(x, y)),
        lambda x, y: xp.sum(xp.tensordot(x, y, axes=1)),
    ):
        a, b = grad(f, (0, 1))(small, large)
        assert (a.dtype, b.dtype) == (np.float32, np.float64)
