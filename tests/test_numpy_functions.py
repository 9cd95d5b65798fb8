"""NumPy's own functions on the engine's values: answered as NumPy does, or refused by name.

Complete: each function and ufunc that NumPy lets others answer is called, or must refuse.
"""

import inspect
import re
from operator import attrgetter

import numpy as np
import pytest
from numpy.testing import overrides

from persample.engine import grad, jit, value_and_grad, vmap
from persample.tape import tensor

from .numpy_function_calls import ABOUT, CALLS
from .tolerances import FINITE_DIFFERENCES, FLOAT32, FLOAT64, assert_close

SAMPLES = 3
every_call = pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))

# Answered as NumPy does --------------------------------------------------------------------------


def several(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def draw(call):
    """Return SAMPLES distinct samples of each input."""
    rng = np.random.default_rng(len(call))
    return [x.draw(rng, (SAMPLES, *x.shape)) for x in call[1:]]


def same(actual, expected, tolerance=FLOAT64):
    """Compare lists of arrays: values, shapes and dtypes."""
    for x, y in zip(actual, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert_close(x, y, max(tolerance, FLOAT32 if y.dtype == np.float32 else 0.0))


@every_call
@np.errstate(all="ignore")
def test_values_are_numpys_in_every_transform(call):
    f, xs = call[0], draw(call)

    def whole(*args):
        return several(f(*args))

    singly = [whole(*[x[i] for x in xs]) for i in range(SAMPLES)]
    compiled = jit(whole)
    for i, expected in enumerate(singly):
        same(compiled(*[x[i] for x in xs]), expected)
    assert compiled.traces == 1
    stacked = [np.stack(parts) for parts in zip(*singly, strict=True)]
    same(vmap(whole)(*xs), stacked)
    same(jit(vmap(whole))(*xs), stacked)
    small = [x.astype(np.float32) if x.dtype == np.float64 else x for x in xs]
    rows = [whole(*[x[i] for x in small]) for i in range(SAMPLES)]
    same(vmap(whole)(*small), [np.stack(parts) for parts in zip(*rows, strict=True)], 1e-2)


def losses(call):
    """Return the sum of all results, weighted; and the inputs that it can be differentiated in."""
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


def slope(f, step=1e-5):
    return (f(step) - f(-step)) / (2 * step)


@every_call
@np.errstate(all="ignore")
def test_gradients_are_those_of_finite_differences(call):
    loss, xs, argnums = losses(call)
    if not argnums or "nextafter" in str(call[0].__defaults__):  # a step: its derivative is zero
        return
    each, rng = [], np.random.default_rng(3)
    for i in range(SAMPLES):
        args = [x[i] for x in xs]
        value, grads = value_and_grad(loss, argnums)(*args)
        assert_close(value, loss(*args))
        directions = {n: rng.normal(size=args[n].shape) for n in argnums}
        along = sum(np.sum(g * v) for g, v in zip(grads, directions.values(), strict=True))

        def moved(h, args=args, directions=directions):
            return loss(
                *[x + h * directions[n] if n in directions else x for n, x in enumerate(args)]
            )

        assert np.isfinite(value)
        assert_close(along, slope(moved), FINITE_DIFFERENCES)
        each.append(grads)
    stacked = tuple(np.stack(rows) for rows in zip(*each, strict=True))
    assert_close(jit(vmap(grad(loss, argnums)))(*xs), stacked)


@pytest.mark.parametrize("ask", ABOUT)
def test_what_is_asked_about_an_array_is_answered_as_numpy_does(ask):
    seen = []
    for transform in (grad, vmap, jit):
        transform(lambda x: seen.append(ask(x)) or np.sum(x))(np.ones((2, 3))[0])
    assert seen == [ask(np.ones(3))] * 3


# Deeper -----------------------------------------------------------------------------------------


def test_numpy_functions_at_any_depth():
    """Second derivatives, and NumPy's functions on arrays of several levels at once."""
    x, y = np.linspace(0.2, 1.0, 4), np.linspace(-1.0, 0.5, 3)

    def inner(a, b):
        return np.sum(np.sinc(a) * np.outer(b, np.cumsum(a))) + np.linalg.norm(np.append(a, b))

    def outer(a):
        each = vmap(grad(inner), (None, 0))(a, y)
        return np.sum(np.stack([np.einsum("bi,i->b", each, a), np.mean(each, axis=1)]) ** 2)

    along = np.array([0.3, -1.0, 0.2, 0.5])
    expected = slope(lambda h: outer(x + h * along))
    assert_close(np.sum(grad(outer)(x) * along), expected, FINITE_DIFFERENCES)
    many = np.stack([x, 2 * x])
    assert_close(jit(vmap(grad(outer)))(many), np.stack([grad(outer)(r) for r in many]))


def test_tensors_have_them_too():
    x = tensor(np.array([0.5, -1.0]), requires_grad=True)
    np.sum(np.tanh(x) * np.array([2.0, 3.0])).backward()
    assert_close(x.grad.data, np.array([2.0, 3.0]) * (1 - np.tanh(x.data) ** 2))


def test_sinc_near_zero():
    x = np.linspace(0.0, 0.1, 99)
    np.testing.assert_allclose(jit(np.sinc)(x), np.sinc(x), rtol=1e-15)
    assert grad(np.sinc)(0.0) == 0.0
    assert_close(grad(grad(np.sinc))(0.0), -(np.pi**2) / 3)


# Refused ----------------------------------------------------------------------------------------


class Noted(np.ndarray):
    """An array that notes which functions of NumPy are called on it."""

    seen = set()

    def noted(self, function, call, args, kwargs):
        self.seen.add(function)
        result = call(*plain(args), **{k: plain(x) for k, x in kwargs.items()})
        return result.view(Noted) if isinstance(result, np.ndarray) else result

    def __array_function__(self, function, types, args, kwargs):
        return self.noted(function, function, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        call = getattr(ufunc, method)
        return self.noted(ufunc if method == "__call__" else None, call, inputs, kwargs)


def plain(x):
    if isinstance(x, tuple | list):
        return type(x)(map(plain, x))
    return np.asarray(x) if isinstance(x, Noted) else x


@np.errstate(all="ignore")
def called():
    """Return the functions of NumPy that the tests above call."""
    for f, *inputs in [*CALLS, *((ask, CALLS[0][1]) for ask in ABOUT)]:
        f(*[x.draw(np.random.default_rng(0), x.shape).view(Noted) for x in inputs])
    return Noted.seen


def named(function):
    """Return a function's name as it is written behind ``np.``."""
    if isinstance(function, np.ufunc):
        return function.__name__
    module = getattr(function, "__module__", "").removeprefix("numpy").removeprefix(".")
    return f"{'emath' if 'scimath' in module else module}.{function.__name__}".lstrip(".")


def by_name(function):
    """Return a function that NumPy has twice, with a hidden one behind ``like``, as readers do."""
    try:
        return attrgetter(named(function))(np)
    except AttributeError:
        return function


FUNCTIONS = {named(f): by_name(f) for f in overrides.get_overridable_numpy_array_functions()}
FUNCTIONS |= {named(u): u for u in overrides.get_overridable_numpy_ufuncs()}
REFUSED = {name: f for name, f in sorted(FUNCTIONS.items()) if f not in called()}
TRANSFORMS = {"grad": grad, "vmap": lambda f: vmap(f), "jit": jit}
X = np.linspace(0.1, 0.9, 6).reshape(2, 3)


def refusal(transform, call):
    """Return the sentence that a call is refused with inside a transform."""
    with pytest.raises(TypeError) as caught:
        transform(lambda x: np.sum(call(x)))(X)
    assert str(caught.value).endswith(".") or "argument" in str(caught.value)
    return str(caught.value)


def call_somehow(function, x):
    """Call a function with x for every argument that it needs, or for ``like``."""
    if isinstance(function, np.ufunc):
        return function(*[x] * function.nin)
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        return function("1 2", like=x)
    needed = [p for p in parameters.values() if p.default is p.empty and p.kind < p.KEYWORD_ONLY]
    if "like" in parameters:
        plain = {"shape": (2,), "dtype": float, "N": 2, "n": 2}
        return function(*[plain.get(p.name, "1 2") for p in needed], like=x)
    return function(*[x] * len(needed))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_answered_is_refused_by_name(name):
    for transform in TRANSFORMS.values():
        text = refusal(transform, lambda x: call_somehow(REFUSED[name], x))
        assert re.match(rf"(np\.|the ufunc ){name}:? on \w+Tracer", text)
        assert text.count(": ") == 2


PARTS = {
    "add.at: on ": lambda x: np.add.at(np.zeros(2), [0, 1], x[0]),
    "add.reduceat: on ": lambda x: np.add.reduceat(x, [0, 1]),
    "subtract.reduce: on ": lambda x: np.subtract.reduce(x),
    "gcd.outer: on ": lambda x: np.gcd.outer(x, x),
    "sum: out=": lambda x: np.sum(x, out=np.zeros(())),
    "max: out=": lambda x: np.max(x, 0, np.zeros(3)),
    "exp: out=": lambda x: np.exp(x, out=np.zeros(x.shape)),
    "exp: where=": lambda x: np.exp(x, where=np.ones(x.shape, bool)),
    "multiply: casting=": lambda x: np.multiply(x, 2.0, casting="unsafe"),
    "exp: dtype=": lambda x: np.exp(x, dtype=int),
    "matmul: axes=": lambda x: np.matmul(x, x, axes=[(0, 1), (1, 0), (0, 1)]),
    "add.reduce: out=": lambda x: np.add.reduce(x, out=np.zeros(3)),
    "maximum.reduce: dtype=": lambda x: np.maximum.reduce(x, dtype=np.float32),
    "var: where=": lambda x: np.var(x, where=np.ones(x.shape, bool)),
    "std: mean=": lambda x: np.std(x, mean=0.5),
    "nanmax: initial=": lambda x: np.nanmax(x, initial=0.5),
    "quantile: method=": lambda x: np.quantile(x, 0.5, method="lower"),
    "ravel: order=": lambda x: np.ravel(x, "F"),
    "take: mode=": lambda x: np.take(x, [7], mode="clip"),
    "concatenate: casting=": lambda x: np.concatenate([x, x], casting="no"),
    "einsum: order": lambda x: np.einsum("...", x, order="F"),
    "einsum: the axes were given as lists": lambda x: np.einsum(x, [0, 0]),
    "clip: casting": lambda x: np.clip(x, 0, 1, casting="unsafe"),
    "pad: end_values": lambda x: np.pad(x, 1, end_values=1),
    "pad: mode='linear_ramp'": lambda x: np.pad(x, 1, mode="linear_ramp"),
    "pad: pad_width is a dict": lambda x: np.pad(x, {0: 1}),
    "gradient: edge_order=2": lambda x: np.gradient(x, edge_order=2),
    "gradient: 1 spacings for": lambda x: np.gradient(x, [1.0, 2.0], axis=0),
    "interp: period=": lambda x: np.interp(x, [0.0, 1.0], [0.0, 1.0], period=1),
    "meshgrid: sparse=": lambda x: np.meshgrid(x, x, sparse=True)[0],
    "linalg.norm: ord=2 over 2 axes": lambda x: np.linalg.norm(x, 2),
    "linalg.norm: ord='nuc'": lambda x: np.linalg.norm(x, "nuc"),
    "linalg.norm: ord=3 for 3 axes": lambda x: np.linalg.norm(x[None], 3),
    "max: where= was given without initial=": lambda x: np.max(x, where=[True]),
    "average: weights of shape": lambda x: np.average(x, weights=[1.0, 2.0, 3.0, 4.0]),
    "ediff1d: an end is no int64": lambda x: np.ediff1d(np.astype(x, int), to_end=0.5),
    "diff: ": lambda x: np.diff(x > 0.5),
    "where: with the condition": lambda x: np.where(x > 0)[0],
    "reciprocal: ": lambda x: np.reciprocal(np.astype(x, int)),
    "block: the lists": lambda x: np.block([x, [x]]),
    "convolve: mode=": lambda x: np.convolve(x, x, "most"),
    "repeat: repeats is": lambda x: np.repeat(x, np.argmax(x)),
    "quantile: q is": lambda x: np.quantile(x, x),
    "split: the list of cuts is": lambda x: np.split(x, np.argmax(x)),
    "clip: on": lambda x: np.ones(3).clip(x[..., :1], 2.0),
}


@pytest.mark.parametrize("start", PARTS)
def test_a_part_that_is_not_honoured_is_refused_by_name(start):
    assert refusal(jit, PARTS[start]).startswith(f"np.{start}")


def test_whole_sentences():
    assert refusal(jit, np.unique) == (
        "np.unique: on StageTracer(float64[2, 3] in jit): the shape of its result depends on "
        "values, which vmap and jit cannot follow; keep every element and choose with "
        "np.where(condition, x, y)."
    )
    foreign = np.frompyfunc(lambda x: x, 1, 1)
    assert refusal(vmap, foreign).startswith("the ufunc <lambda> (vectorized): on BatchTracer(")
    assert "unexpected keyword argument 'axes'" in refusal(grad, lambda x: np.sum(x, axes=0))


NOT_DISPATCHED = [
    lambda x: np.array([x[0], x[1]]),
    lambda x: np.sum([x[0], x[1]]),
    lambda x: np.zeros((2, *x.shape)).__setitem__(0, x),
    lambda x: np.ones((2, 2)).dot(x),
]


@pytest.mark.parametrize("call", NOT_DISPATCHED)
def test_what_numpy_does_not_hand_over_says_what_to_write(call):
    for transform in TRANSFORMS.values():
        text = refusal(transform, call)
        assert re.match(r"NumPy was to make an array of \w+Tracer\(.*write np.stack\(\[a", text)
