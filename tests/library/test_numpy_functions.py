"""NumPy's own functions on tracers give NumPy's results, or an error naming the function.

Every function and ufunc of NumPy that other classes can override has calls in a table, or raises.
"""

import inspect
import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import overrides

from persample.engine import grad, jit, numpy_functions, value_and_grad, vmap
from persample.tape import tensor
from support.numpy_function_calls import calls
from support.tolerances import FINITE_DIFFERENCES, FLOAT32, FLOAT64, assert_close

# One for each name: NumPy has some twice, with a hidden one behind the keyword ``like``.
FUNCTIONS = {
    numpy_functions.named(f): f for f in overrides.get_overridable_numpy_array_functions()
}
FUNCTIONS = [numpy_functions.numpys(name) or f for name, f in sorted(FUNCTIONS.items())]
NAMES = {numpy_functions.named(f) for f in FUNCTIONS}
UFUNCS = sorted(overrides.get_overridable_numpy_ufuncs(), key=lambda u: u.__name__)
SAMPLES = 3


CALLS = list(calls())
CALLED = {"result_type", *[name for name, _ in CALLS]}  # the one is looked at below
every_call = pytest.mark.parametrize(
    ("name", "call"), CALLS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CALLS)]
)


def test_a_ufunc_whose_primitive_has_just_been_added_is_answered(monkeypatch):
    monkeypatch.delitem(numpy_functions._UFUNCS, np.sinh)
    assert_close(grad(np.sinh)(0.5), np.cosh(0.5), FLOAT64)


# Complete ---------------------------------------------------------------------------------------


def test_every_function_of_numpy_is_answered_or_refused():
    """Check that each supported function has calls, and that none is also refused."""
    assert set(numpy_functions.ANSWERS) <= NAMES
    ufuncs = {u.__name__ for u in UFUNCS}
    assert set(numpy_functions.UFUNCS) <= ufuncs
    answered = {*numpy_functions.ANSWERS, *numpy_functions.UFUNCS}
    assert {*answered, *numpy_functions.METHODS} <= CALLED
    refused = {*numpy_functions.REASONS, *numpy_functions.WRITE}
    assert refused - NAMES - ufuncs == {"at"}
    assert not refused & answered


# Where None is the axis -1, or, in an older NumPy, a shape that was not given.
NONE_IS_NOTHING = {"cross", "reshape"}


@pytest.mark.parametrize("name", [n for n in numpy_functions.ANSWERS if n in NAMES])
def test_an_answer_has_arguments_of_numpys(name):
    """Compare names, order and defaults of the arguments with NumPy's signature, if any."""
    try:
        its = inspect.signature(numpy_functions.numpys(name)).parameters
    except ValueError:
        pytest.skip("this NumPy does not tell the arguments of its functions in C")
    own = inspect.signature(numpy_functions.ANSWERS[name]).parameters.values()
    after = [*its.values()][len(own) :]
    for more, p in zip(numpy_functions.IN_C.get(name, ()), after, strict=False):
        assert p.name == more
        assert p.default is numpy_functions.NEUTRAL[more]
    for p, first in zip(own, [*its.values()] * 2, strict=False):
        q = first if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) else its.get(p.name)
        if q is None:
            assert "kwargs" in its
        elif q.default not in (q.empty, np._NoValue) and name not in NONE_IS_NOTHING:
            assert p.default is q.default or p.default == q.default


# Answered as NumPy does --------------------------------------------------------------------------


def several(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def draw(call):
    """Return for each input of a call an array of SAMPLES random samples."""
    rng = np.random.default_rng(len(call))
    return [x.draw(rng, (SAMPLES, *x.shape)) for x in call[1:]]


def same(actual, expected):
    """Assert that two lists of arrays agree: shapes, dtypes, values within the tolerance."""
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert_close(x, y, FLOAT32 if y.dtype == np.float32 else FLOAT64)


@every_call
@np.errstate(all="ignore")
def test_values_are_numpys_in_every_transform(name, call):
    f, xs = call[0], draw(call)

    def whole(*args):
        return several(f(*args))

    singly = [whole(*[x[i] for x in xs]) for i in range(SAMPLES)]
    assert not any(hasattr(x, "_trace") for x in singly[0])
    compiled = jit(whole)
    for i, expected in enumerate(singly):
        same(compiled(*[x[i] for x in xs]), expected)
    assert compiled.traces == 1
    stacked = [np.stack(parts) for parts in zip(*singly, strict=True)]
    same(vmap(whole)(*xs), stacked)
    same(jit(vmap(whole))(*xs), stacked)
    small = [x.astype(np.float32) if x.dtype == np.float64 else x for x in xs]
    expected = map(np.asarray, whole(*[x[0] for x in small]))
    for x, y in zip(vmap(whole)(*small), expected, strict=True):
        assert (x.shape[1:], x.dtype) == (y.shape, y.dtype)
        assert_close(x[0], y, 1e-2 if y.dtype.kind == "f" else FLOAT64)


def losses(call):
    """Return (loss, inputs, argnums): a weighted sum of a call's float64 results.

    ``argnums`` are the floating-point inputs, empty if no result can be differentiated.
    """
    f, xs = call[0], draw(call)
    with np.errstate(all="ignore"):
        example = several(f(*[x[0] for x in xs]))
    rng = np.random.default_rng(7)
    weights = [rng.normal(size=np.shape(x)) for x in example]
    smooth = [np.asarray(x).dtype == np.float64 for x in example]

    def loss(*args):
        results = zip(several(f(*args)), weights, smooth, strict=True)
        return sum(np.sum(w * x) for x, w, is_smooth in results if is_smooth)

    argnums = tuple(i for i, x in enumerate(xs) if x.dtype.kind == "f")
    return loss, xs, argnums if any(smooth) else ()


def slope(loss, args, argnums, directions):
    """Return the derivative of a loss along directions of its argnums, by central differences."""
    step = 1e-5

    def at(h):
        moved = [*args]
        for n, v in zip(argnums, directions, strict=True):
            moved[n] = args[n] + h * v
        return loss(*moved)

    return (at(step) - at(-step)) / (2 * step)


@every_call
@np.errstate(all="ignore")
def test_gradients_are_those_of_finite_differences(name, call):
    loss, xs, argnums = losses(call)
    if not argnums or name == "nextafter":  # a step in the engine, whose derivative is zero
        return
    each = []
    rng = np.random.default_rng(3)
    for i in range(SAMPLES):
        args = [x[i] for x in xs]
        value, grads = value_and_grad(loss, argnums)(*args)
        assert_close(value, loss(*args))
        directions = [rng.normal(size=args[n].shape) for n in argnums]
        along = sum(np.sum(g * v) for g, v in zip(grads, directions, strict=True))
        assert np.isfinite(value)
        assert_close(along, slope(loss, args, argnums, directions), FINITE_DIFFERENCES)
        each.append(grads)
    stacked = tuple(np.stack(rows) for rows in zip(*each, strict=True))
    assert_close(vmap(grad(loss, argnums))(*xs), stacked)
    assert_close(jit(vmap(grad(loss, argnums)))(*xs), stacked)


def test_a_common_dtype_is_told_as_numpy_does():
    seen = []
    tell = lambda x: np.result_type(x, np.float32(1), 3)  # noqa: E731
    for transform in (grad, vmap, jit):
        transform(lambda x: seen.append(tell(x)) or np.sum(x))(np.ones(3))
    assert seen == [tell(np.ones(3))] * 3


# Deeper -----------------------------------------------------------------------------------------


def test_numpy_functions_at_any_depth():
    """Check second derivatives, and functions of tracers of several transforms at once."""
    x, y = np.linspace(0.2, 1.0, 4), np.linspace(-1.0, 0.5, 3)

    def inner(a, b):
        return np.sum(np.sin(a) * np.outer(b, np.cumsum(a))) + np.linalg.norm(np.hstack([a, b]))

    def outer(a):
        each = vmap(grad(inner), (None, 0))(a, y)
        return np.sum(np.stack([np.einsum("bi,i->b", each, a), np.mean(each, axis=1)]) ** 2)

    along = np.array([0.3, -1.0, 0.2, 0.5])
    step = 1e-5
    slope = (outer(x + step * along) - outer(x - step * along)) / (2 * step)
    assert_close(np.sum(grad(outer)(x) * along), slope, FINITE_DIFFERENCES)
    assert_close(jit(grad(outer))(x), grad(outer)(x))
    many = np.stack([x, 2 * x])
    assert_close(jit(vmap(grad(outer)))(many), np.stack([grad(outer)(r) for r in many]))


def test_tensors_have_them_too():
    x = tensor(np.array([0.5, -1.0]), requires_grad=True)
    np.sum(np.tanh(x) * np.array([2.0, 3.0])).backward()
    assert_close(x.grad.data, np.array([2.0, 3.0]) * (1 - np.tanh(x.data) ** 2))


# Refused ----------------------------------------------------------------------------------------

TRANSFORMS = {"grad": grad, "vmap": lambda f: vmap(f), "jit": jit}
every_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
X = np.linspace(0.1, 0.9, 6).reshape(2, 3)


def refusal(transform, call):
    """Return the error message of a call inside a transform."""
    with pytest.raises(TypeError) as caught:
        transform(lambda x: np.sum(call(x)))(X)
    return str(caught.value)


def call_somehow(function, x):
    """Call a function with x for ``like``, or with x for as many arguments as it needs."""
    tries = [partial(function, *args, like=x) for args in [((2,),), ((2,), float), ("1 2",)]]
    tries += [partial(function, *[x] * n) for n in (1, 2, 3, 4)]
    for call in tries:
        try:
            return call()
        except TypeError as error:
            if "Tracer" in str(error):  # all others are NumPy's, of arguments that do not fit
                raise
    raise AssertionError(f"no call of {function} was handed over")


NOT_ANSWERED = {
    **{numpy_functions.named(f): partial(call_somehow, f) for f in FUNCTIONS},
    **{u.__name__: lambda x, u=u: u(*[x] * u.nin) for u in UFUNCS},
    "add.at": lambda x: np.add.at(np.zeros(2), [0, 1], x[0]),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 1]),
    "subtract.reduce": lambda x: np.subtract.reduce(x),
    "gcd.outer": lambda x: np.gcd.outer(x, x),
}


@every_transform
@pytest.mark.parametrize("name", sorted(NOT_ANSWERED.keys() - CALLED))
def test_what_is_not_answered_is_refused_by_name(name, transform):
    text = refusal(transform, NOT_ANSWERED[name])
    assert re.match(rf"(np\.|the ufunc ){name}:? on \w+Tracer\(", text)
    assert text.endswith(".")


ARGUMENTS = {
    "sum: out=": lambda x: np.sum(x, out=np.zeros(())),
    "max: out=": lambda x: np.max(x, 0, np.zeros(3)),
    "add: out=": lambda x: np.zeros(x.shape).__iadd__(x),
    "exp: where=": lambda x: np.exp(x, where=np.ones(x.shape, bool)),
    "multiply: casting=": lambda x: np.multiply(x, 2.0, casting="unsafe"),
    "add.reduce: out=": lambda x: np.add.reduce(x, out=np.zeros(3)),
    "maximum.reduce: dtype=": lambda x: np.maximum.reduce(x, dtype=np.float32),
    "sum: where=": lambda x: np.sum(x, where=x > 0.5),
    "var: where=": lambda x: np.var(x, where=np.ones(x.shape, bool)),
    "sort: order=": lambda x: np.sort(x, order="f"),
    "reshape: order=": lambda x: np.reshape(x, -1, order="F"),
    "take: mode=": lambda x: np.take(x, [7], mode="clip"),
    "einsum: order": lambda x: np.einsum("...", x, order="F"),
    "zeros_like: order=": lambda x: np.zeros_like(x, order="F"),
    "linalg.norm: ord=2 over 2 axes": lambda x: np.linalg.norm(x, 2),
    "linalg.norm: ord=3 over 3 axes": lambda x: np.linalg.norm(x[None], 3),
    "max: where=": lambda x: np.max(x, where=[True]),
    "min: initial=": lambda x: np.min(x, initial=0.5),
    "mean: dtype=": lambda x: np.mean(x, dtype=np.float32),
    "where: with the condition": lambda x: np.where(x > 0)[0],
    "dot: out=": lambda x: np.dot(x, x.T, np.zeros((2, 2))),
    "concatenate: out=": lambda x: np.concatenate([x, x], 0, np.zeros((4, 3))),
    "concatenate: dtype=": lambda x: np.concatenate([x, x], dtype=np.float32),
    "empty_like: order=": lambda x: np.empty_like(x, None, "F"),
}


@pytest.mark.parametrize("start", ARGUMENTS)
def test_an_argument_that_is_not_honoured_is_refused_by_name(start):
    text = refusal(jit, ARGUMENTS[start])
    assert text.startswith(f"np.{start}")
    assert text.endswith(".")


@every_transform
def test_an_unknown_argument_is_refused(transform):
    assert "sum" in refusal(transform, lambda x: np.sum(x, axes=0))
    assert "unexpected keyword argument 'axes'" in refusal(transform, lambda x: np.sum(x, axes=0))


NOT_DISPATCHED = {
    "np.array([x, x])": lambda x: np.array([x[0], x[1]]),
    "np.asarray(x)": np.asarray,
    "a function of a list": lambda x: np.sum([x[0], x[1]]),
    "an assignment": lambda x: np.zeros((2, *x.shape)).__setitem__(0, x),
    "a method of an array": lambda x: np.ones((2, 2)).dot(x),
}


@every_transform
@pytest.mark.parametrize("what", NOT_DISPATCHED)
def test_what_numpy_does_not_hand_over_says_what_to_write(what, transform):
    text = refusal(transform, NOT_DISPATCHED[what])
    assert re.match(r"NumPy was to make an array of \w+Tracer\(", text)
    for part in ("np.stack([a, b]) for np.array([a, b])", "x for np.asarray(x)", "np.dot(a, x)"):
        assert part in text
