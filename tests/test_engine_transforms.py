"""grad and vmap, alone and inside one another; what they return; what they refuse."""

import functools
import inspect
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from optree import tree_leaves, tree_map, tree_structure
from precision import enable_x64
from tolerances import FLOAT64, assert_close

from persample import logistic_loss, squared_loss, td_loss
from persample.engine import grad, jit, make_graph, value_and_grad, vmap
from persample.engine import namespace as xp
from persample.engine.batching import batch_rules
from persample.engine.reverse import vjp_rules

rng = np.random.default_rng(1)
x3, y3, X = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3))


@pytest.fixture(autouse=True)
def float64_in_jax():
    with enable_x64(True):
        yield


def f(m, w):
    """A function of a vector with every second derivative in play."""
    return m.sum(m.tanh(w) * w[::-1]) + m.exp(w[0] * w[1]) + m.max(w) ** 3 / (1.0 + w[2] ** 2)


ours, theirs = functools.partial(f, xp), lambda w: f(jnp, w)


def torch_f(w):
    tail = torch.exp(w[0] * w[1]) + torch.max(w) ** 3 / (1.0 + w[2] ** 2)
    return torch.sum(torch.tanh(w) * torch.flip(w, (0,))) + tail


def directional(gradient, m):
    """The gradient of a gradient's product with itself: one level more."""
    return lambda w: m.sum(gradient(w) * gradient(w))


# Nesting -------------------------------------------------------------------------------------


def hessian(g):
    """Row i is the gradient of entry i of the gradient."""
    return lambda w: vmap(lambda e: grad(lambda w: xp.sum(grad(g)(w) * e))(w))(np.eye(w.shape[0]))


@pytest.mark.parametrize("wrap", [lambda g: g, jit], ids=["plain", "jit"])
def test_hessian_against_torch_and_jax(wrap):
    h = wrap(hessian(ours))(x3)
    assert_close(h, np.asarray(jax.hessian(theirs)(x3)), FLOAT64)
    assert_close(h, torch.autograd.functional.hessian(torch_f, torch.tensor(x3)).numpy(), FLOAT64)


@pytest.mark.parametrize(
    ("loss", "peer"),
    [
        (logistic_loss, lambda w, x, y: jnp.logaddexp(0.0, x @ w) - y * (x @ w)),
        (squared_loss, lambda w, x, y: 0.5 * (x @ w - y) ** 2),
    ],
)
def test_hessians_of_the_losses(loss, peer):
    x, y = y3, np.float64(1.0)
    h = hessian(lambda w: loss(w, x, y))(x3)
    assert_close(h, np.asarray(jax.hessian(lambda w: peer(w, x, 1.0))(x3)), FLOAT64)
    assert_close(h, h.T, FLOAT64)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_grad_at_depth(depth):
    a, b = ours, theirs
    for _ in range(depth - 1):
        a, b = directional(grad(a), xp), directional(jax.grad(b), jnp)
    expected = np.asarray(jax.grad(b)(x3))
    assert_close(grad(a)(x3), expected, FLOAT64)
    assert_close(jit(grad(a))(x3), expected, FLOAT64)
    assert_close(vmap(grad(a))(X)[2], grad(a)(X[2]), FLOAT64)


def test_vmap_of_grad_and_grad_of_vmap_and_jit_of_each():
    rows = np.asarray(jax.vmap(jax.grad(theirs))(X))
    assert_close(vmap(grad(ours))(X), rows, FLOAT64)
    total = lambda X: xp.sum(vmap(ours)(X))  # noqa: E731
    assert_close(grad(total)(X), rows, FLOAT64)
    assert_close(jit(vmap(grad(ours)))(X), rows, FLOAT64)
    assert_close(jit(grad(total))(X), rows, FLOAT64)
    assert_close(vmap(jit(grad(ours)))(X), rows, FLOAT64)
    assert_close(grad(lambda X: xp.sum(jit(vmap(ours))(X)))(X), rows, FLOAT64)
    inner = lambda X: xp.sum(vmap(grad(ours))(X) ** 2)  # noqa: E731
    other = lambda X: jnp.sum(jax.vmap(jax.grad(theirs))(X) ** 2)  # noqa: E731
    assert_close(grad(inner)(X), np.asarray(jax.grad(other)(X)), FLOAT64)


@pytest.mark.parametrize(
    ("in_axes", "shapes"),
    [
        (1, ((3, 4), (2, 4, 5))),
        (-1, ((3, 4), (2, 5, 4))),
        ((0, -2), ((4, 3), (2, 4, 5))),
        ([None, 2], ((3,), (2, 5, 4))),
        (({"a": 1, "b": [None, 0]}, -1), ({"a": (3, 4), "b": [(3,), (4, 2)]}, (2, 5, 4))),
        (({"a": 1, "b": -1}, None), ({"a": (3, 4), "b": [(3, 4), (4,)]}, (2, 5))),
    ],
)
def test_in_axes_means_what_it_means_in_jax(in_axes, shapes):
    is_shape = lambda x: isinstance(x, tuple) and isinstance(x[0], int)  # noqa: E731
    args = [tree_map(lambda n: rng.normal(size=n), x, is_leaf=is_shape) for x in shapes]

    def f(p, x):
        return sum((n + 1.5) * (leaf**2).sum() for n, leaf in enumerate(tree_leaves(p))) * x

    expected = jax.vmap(f, in_axes)(*args)
    assert_close(vmap(f, in_axes)(*args), np.asarray(expected))
    assert_close(jit(vmap(f, in_axes))(*args), np.asarray(expected))
    total = lambda m, v: lambda *xs: m.sum(v(f, in_axes)(*xs) ** 2)  # noqa: E731
    expected = jax.grad(total(jnp, jax.vmap))(*args)
    assert_close(grad(total(xp, vmap))(*args), jax.tree.map(np.asarray, expected))


def test_vmap_of_vmap_with_every_in_axes():
    g = lambda a, b: xp.sum(a * xp.tanh(b)) + a[0] * b  # noqa: E731
    table = vmap(vmap(g, (None, 0)), (0, None))(X, y3)
    assert table.shape == (4, 3)
    assert_close(table, np.stack([np.stack([g(a, b) for b in y3]) for a in X]), FLOAT64)
    turned = vmap(vmap(g, (0, None)), (None, 0))(X, y3)
    assert_close(turned, table.T, FLOAT64)


def test_gradient_through_three_vmaps():
    T = rng.normal(size=(2, 3, 4))
    deep = vmap(vmap(vmap(lambda s: xp.tanh(s) * s)))
    peer = lambda T: jnp.sum((jnp.tanh(T) * T) ** 2)  # noqa: E731
    assert_close(grad(lambda T: xp.sum(deep(T) ** 2))(T), np.asarray(jax.grad(peer)(T)), FLOAT64)


# Perturbation confusion: programs that go wrong if levels are mixed up --------------------------


def test_the_smallest_program_that_would_confuse_perturbations():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0


def test_an_inner_gradient_that_closes_over_the_outer_variable():
    def outer(x):
        inner = grad(lambda y: y * y * x + xp.sum(xp.stop_gradient(x) * y))
        return inner(x) * x  # (2 x x + sg(x)) x

    assert grad(outer)(2.0) == 6 * 2.0**2 + 2.0


def test_an_inner_gradient_at_a_function_of_the_outer_variable():
    def composed(m, g):
        return lambda x: g(lambda y: x * m.exp(y) * y)(m.tanh(x)) + x

    assert_close(
        grad(composed(xp, grad))(0.7),
        np.asarray(jax.grad(composed(jnp, jax.grad))(0.7)),
        FLOAT64,
    )


def test_a_batched_variable_inside_an_inner_gradient():
    rows = vmap(lambda a: grad(lambda w: xp.sum(w * a * w))(x3))(X)
    assert_close(rows, 2 * X * x3, FLOAT64)
    mixed = vmap(lambda a: vmap(lambda b: xp.sum(a * b))(X))(X)
    assert_close(mixed, X @ X.T, FLOAT64)


# Arguments and results -----------------------------------------------------------------------

Layer = namedtuple("Layer", "w b")


def three(a, b, c):
    return xp.sum(a * b * b) + xp.sum(c)


@pytest.mark.parametrize(
    ("argnums", "which"), [(0, 0), (1, 1), (-1, 2), (-3, 0), ((0, 1), None), ((2, 0, -2), None)]
)
def test_argnums(argnums, which):
    a, b, c = x3, y3, np.ones((2, 2))
    expected = [b * b, 2 * a * b, np.ones((2, 2))]
    got = grad(three, argnums)(a, b, c)
    if which is None:
        assert isinstance(got, tuple)
        for g, n in zip(got, argnums, strict=True):
            assert_close(g, expected[n], FLOAT64)
    else:
        assert_close(got, expected[which], FLOAT64)


def test_one_argument_named_twice():
    first, second = grad(three, (0, 0))(x3, y3, x3)
    assert_close(first, second, FLOAT64)
    assert not np.shares_memory(first, second)


def test_trees_keep_their_structure():
    tree = {
        "layers": [Layer(x3, {"k": y3}), Layer(np.ones(2), {"k": np.zeros(())})],
        "pair": (np.ones((1, 3)),),
        "empty": {},
    }
    g = grad(lambda t: sum(xp.sum(x * x) for x in tree_leaves(t)))(tree)
    assert tree_structure(g) == tree_structure(tree)
    assert isinstance(g["layers"][1], Layer)
    assert_close(g, tree_map(lambda x: 2 * x, tree), FLOAT64)
    value, again = value_and_grad(lambda t: xp.sum(t["pair"][0]))(tree)
    assert value == 3.0
    assert_close(again["layers"][0].w, np.zeros(3), FLOAT64)


def test_trees_through_vmap():
    out = vmap(lambda t, k: {"s": (t["a"] * k, [t["b"].w])}, (0, None))(
        {"a": X, "b": Layer(X[:, 0], X)}, 2.0
    )
    assert_close(out, {"s": (2 * X, [X[:, 0]])}, FLOAT64)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    w, x = x3.astype(dtype), X.astype(dtype)
    loss = lambda w, x: xp.mean(xp.tanh(x * w) ** 2) * 0.5 + 1 + xp.sum(w) / 3  # noqa: E731
    value, g = value_and_grad(loss)(w, x[0])
    assert (value.dtype, g.dtype) == (dtype, dtype)
    assert vmap(grad(loss), (None, 0))(w, x).dtype == dtype
    assert jit(vmap(grad(loss), (None, 0)))(w, x).dtype == dtype


def test_mixed_dtypes_give_each_argument_its_own():
    w, x = x3.astype(np.float32), y3
    a, b = grad(lambda w, x: xp.sum(w * x * x), (0, 1))(w, x)
    assert (a.dtype, b.dtype) == (np.float32, np.float64)
    assert_close(a, (x * x).astype(np.float32), 1e-6)


def test_unused_inputs_have_gradient_zero():
    g = grad(lambda a, b: xp.sum(a), (0, 1))(x3, {"u": y3, "v": np.ones((2, 2), np.float32)})
    assert_close(g, (np.ones(3), {"u": np.zeros(3), "v": np.zeros((2, 2))}), FLOAT64)
    assert g[1]["v"].dtype == np.float32
    assert_close(grad(lambda a: 3.0)(x3), np.zeros(3), FLOAT64)
    assert_close(grad(lambda a: xp.sum(xp.stop_gradient(a)))(x3), np.zeros(3), FLOAT64)
    assert_close(grad(lambda a: xp.sum(xp.astype(a, np.int64)) * 1.0)(x3), np.zeros(3), FLOAT64)
    assert vmap(grad(lambda a: 3.0))(X).shape == X.shape


constant = np.ones(())
SHARING = {
    "the argument itself": (lambda a, b: a, np.float64(1.0) + np.zeros(()), np.zeros(())),
    "an array from outside": (lambda a, b: constant, np.zeros(()), np.zeros(())),
    "a sum": (lambda a, b: xp.sum(a + b), x3, y3),
    "twice the same": (lambda a, b: xp.sum(a) + xp.sum(b), x3, y3),
    "views": (lambda a, b: xp.sum(xp.reshape(a, (3, 1)) + b[:, None]), x3, y3),
    "products": (lambda a, b: xp.sum(a * b), x3, y3),
    "matmul": (lambda a, b: a @ b, x3, y3),
    "halves": (lambda a, b: xp.sum(xp.concat([a, b]) ** 2), x3, y3),
    "one": (lambda a, b: xp.sum(a), x3, y3),
}


@pytest.mark.parametrize("what", SHARING)
def test_results_share_memory_with_nothing(what):
    g, a, b = SHARING[what]
    value, (ga, gb) = value_and_grad(g, (0, 1))(a, b)
    arrays = [value, ga, gb]
    for i, p in enumerate(arrays):
        assert isinstance(p, np.ndarray)
        assert p.flags.writeable
        assert not any(np.shares_memory(p, q) for q in [a, b, constant, *arrays[:i]])


VMAPPED = {
    "identity": lambda a: a,
    "same twice": lambda a: (lambda b: (b, b))(a * 2.0),
    "value and view": lambda a: (lambda b: (b, b[0], b[::-1]))(a * 2.0),
    "outside": lambda a: x3,
    "outside in part": lambda a: (x3[0], xp.take(x3, np.array(1)), a[None]),
    "view": lambda a: xp.reshape(a, (3, 1)),
}


@pytest.mark.parametrize("what", VMAPPED)
def test_vmapped_results_share_memory_with_nothing(what):
    results = tree_leaves(vmap(VMAPPED[what])(X))
    for i, p in enumerate(results):
        assert p.flags.writeable
        assert not any(np.shares_memory(p, q) for q in [X, x3, *results[:i]])


def test_arguments_are_not_changed():
    w, x = x3.copy(), X.copy()
    vmap(grad(lambda w, x: xp.sum(xp.tanh(w * x)) ** 2), (None, 0))(w, x)
    np.testing.assert_array_equal(w, x3)
    np.testing.assert_array_equal(x, X)


def test_names_and_signatures_survive():
    for transform in (grad, value_and_grad, vmap, jit):
        assert transform(three).__name__ == "three"
        assert list(inspect.signature(transform(three)).parameters) == ["a", "b", "c"]
    assert grad(functools.partial(td_loss, gamma=0.5)).__name__ == "function"


def test_empty_axes():
    assert grad(lambda a: xp.sum(a * a))(np.ones((0, 3))).shape == (0, 3)
    assert vmap(lambda a: xp.sum(a))(np.ones((2, 0))).tolist() == [0.0, 0.0]
    value, g = value_and_grad(lambda a, b: xp.sum(a @ b))(np.ones((2, 0)), np.ones((0, 3)))
    assert value == 0.0
    assert g.shape == (2, 0)


# Python values -------------------------------------------------------------------------------


def test_python_control_flow_on_values_under_grad():
    def g(x):
        y = x * 3.0 if x > 0.0 else x * x
        for _ in range(int(xp.stop_gradient(xp.abs(x)))):
            y = y * x
        return y if y < 100.0 else y / 2.0

    assert grad(g)(np.float64(2.0)) == 3.0 * 3 * 4  # 3 x^3
    assert grad(g)(np.float64(-1.0)) == 3.0  # x^3
    assert grad(lambda x: grad(g)(x) * x)(np.float64(2.0)) == 3.0 * 9 * 4


def test_a_value_shared_by_all_samples_may_be_branched_on_under_vmap():
    def g(k, x):
        return x * 2.0 if k > 0.0 else -x

    assert_close(vmap(g, (None, 0))(np.float64(1.0), x3), 2 * x3, FLOAT64)
    assert_close(vmap(g, (None, 0))(np.float64(-1.0), x3), -x3, FLOAT64)


@pytest.mark.parametrize("ask", [bool, float, int, lambda x: [0, 1, 2][x]], ids="bfix")
@pytest.mark.parametrize("transform", [vmap, jit, lambda g: jit(grad(g)), lambda g: vmap(grad(g))])
def test_no_python_value_of_a_batched_or_staged_array(ask, transform):
    def g(x):
        ask(xp.sum(x))
        return xp.sum(x)

    with pytest.raises(TypeError, match=r"no `if`, `while`, float\(\) or int\(\).*xp.where"):
        transform(g)(X)


# Leaked tracers ------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [grad, vmap, jit, value_and_grad, make_graph])
def test_a_leaked_tracer_is_refused_wherever_it_turns_up(transform):
    kept = []

    def leak(x):
        kept.append(x)
        return xp.sum(x)

    transform(leak)(X)
    uses = [
        lambda: kept[0] + 1.0,
        lambda: xp.exp(kept[0]),
        lambda: grad(lambda y: xp.sum(y * kept[0]))(X),
        lambda: grad(lambda y: xp.sum(kept[0] * y))(X),
        lambda: vmap(lambda y: kept[0])(X),
        lambda: jit(lambda y: kept[0])(X),
        lambda: transform(lambda y: xp.sum(kept[0]) * xp.sum(y))(X),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=r"a tracer of \w+ was used after \w+ had returned"):
            use()


def test_an_exception_does_not_leave_a_level_behind():
    def fails(x):
        raise KeyError

    for transform in (grad, vmap, jit):
        with pytest.raises(KeyError):
            transform(fails)(X)
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    levels = []
    for _ in range(2):
        vmap(lambda x: levels.append(x._trace.level) or x)(X)
    assert levels == [1, 1]


# Error texts ---------------------------------------------------------------------------------


def scalar(*args):
    return xp.sum(args[0])


ERRORS = {
    "not scalar": (
        lambda: grad(lambda x: x * 2.0)(x3),
        ValueError,
        r"returned an array of shape \(3,\); .*sum or average it, or use vmap",
    ),
    "not an array": (lambda: grad(lambda x: {"a": x})(x3), ValueError, "returned dict"),
    "integer result": (lambda: grad(lambda x: xp.sum(x > 0.0))(x3), TypeError, "returned int64"),
    "integer parameter": (
        lambda: grad(scalar)(np.arange(3)),
        TypeError,
        r"argument 0 is int64\[3\]; gradients need floating-point",
    ),
    "no parameter": (lambda: grad(scalar)(None), TypeError, "NoneType None is not an array"),
    "argnums": (
        lambda: grad(scalar, 2)(x3, y3),
        ValueError,
        "argnums=2 for 2 arguments; give the number of one",
    ),
    "argnums as a list": (lambda: grad(scalar, [0])(x3), ValueError, r"argnums=\[0\] for 1"),
    "no arguments": (lambda: grad(scalar)(), ValueError, "argnums=0 for 0 arguments"),
    "keywords in grad": (
        lambda: grad(three)(x3, y3, c=x3),
        TypeError,
        r"keyword arguments \(c\) .*by position, or bind .* functools.partial",
    ),
    "keywords in vmap": (lambda: vmap(three)(x3, b=y3, c=x3), TypeError, r"arguments \(b, c\)"),
    "keywords in value_and_grad": (lambda: value_and_grad(scalar)(a=x3), TypeError, r"\(a\)"),
    "in_axes too short": (
        lambda: vmap(scalar, (0,))(X, X),
        ValueError,
        "in_axes has 1 entries, the call has 2 arguments; give one entry for each argument",
    ),
    "in_axes with an axis that is not there": (
        lambda: vmap(scalar, (0, -3))(X, X),
        ValueError,
        "argument 1 is 2-d, so it has no axis -3 that counts samples",
    ),
    "in_axes 0.0": (lambda: vmap(scalar, 0.0)(X), ValueError, "the entry 0.0; each entry is an"),
    "in_axes False": (lambda: vmap(scalar, False)(X), ValueError, "the entry False"),
    "in_axes True": (lambda: vmap(scalar, True)(X), ValueError, "the entry True"),
    "nothing batched": (
        lambda: vmap(scalar, None)(X),
        ValueError,
        "vmap: in_axes marks no array as batched; give an argument the 0",
    ),
    "batch sizes": (
        lambda: vmap(scalar)(X, x3),
        ValueError,
        r"batch sizes differ: 4 \(argument 0\), 3 \(argument 1\).*share with None in in_axes",
    ),
    "batch sizes in a tree": (
        lambda: vmap(scalar)((X, x3)),
        ValueError,
        r"batch sizes differ: 4 \(argument 0\), 3 \(argument 0\)",
    ),
    "empty batch": (lambda: vmap(scalar)(np.ones((0, 3))), ValueError, "the batch is empty"),
    "0-d batch": (
        lambda: vmap(scalar)(np.asarray(2.0)),
        ValueError,
        "argument 0 is 0-d, .*None in in_axes",
    ),
    "a number as batch": (
        lambda: vmap(scalar)(2.0),
        TypeError,
        "vmap: argument 0 is batched and holds 2.0, a Python value .*None in in_axes",
    ),
    "in place under grad": (
        lambda: grad(lambda x: x.__setitem__(0, 1.0))(x3),
        TypeError,
        "inside grad cannot be changed in place; build a new one with xp.where",
    ),
    "onto an ordinary array": (
        lambda: grad(lambda x: np.zeros(3).__iadd__(x))(x3),
        TypeError,
        r"np.add: out=.* was given, .*; use the result \(a = a \+ x for a \+= x\)",
    ),
    "a NumPy function": (
        lambda: vmap(lambda x: np.unique(x))(X),
        TypeError,
        r"np.unique: on BatchTracer\(float64\[3\] in vmap\): .*; keep every element",
    ),
    "a function of NumPy that it does not hand over": (
        lambda: grad(lambda x: np.array([x[0], x[1]]))(x3),
        TypeError,
        "NumPy was to make an array",
    ),
    "missing function": (
        lambda: xp.erf(x3),
        AttributeError,
        "the NumPy engine has no function 'erf'.*needs a row in persample/engine/primitives",
    ),
    "shapes": (
        lambda: grad(lambda x: xp.sum(x + np.ones(2)))(x3),
        ValueError,
        r"shapes \[\(3,\), \(2,\)\] do not broadcast",
    ),
    "matmul": (lambda: xp.matmul(X, X), ValueError, r"shapes \(4, 3\) and \(4, 3\) do not fit"),
    "matmul of a number": (lambda: xp.matmul(X, 2.0), ValueError, "do not fit"),
    "reshape": (lambda: xp.reshape(X, (5,)), ValueError, r"\(4, 3\) has 12 elements, \(5,\)"),
    "squeeze": (lambda: xp.squeeze(X, 0), ValueError, "not all of length 1"),
    "sum over no axis": (lambda: xp.sum(X, axis=2), ValueError, "axis 2 is out of range"),
    "concat along no axis": (lambda: xp.concat([X], axis=2), ValueError, "axis 2 is out of range"),
    "concat of numbers": (lambda: xp.concat([1.0, 2.0]), ValueError, "axis 0 is out of range"),
    "stack along no axis": (lambda: xp.stack([x3], axis=5), ValueError, "axis 5 is out of range"),
    "take along no axis": (
        lambda: xp.take(X, np.array([0]), axis=2),
        ValueError,
        "axis 2 is out of range",
    ),
    "take with a mask": (
        lambda: grad(lambda x: xp.sum(x[x > 0.0]))(x3),
        TypeError,
        "indices are bool; give integers",
    ),
    "permute": (lambda: xp.permute_dims(X, (0, 0)), ValueError, "does not name each axis"),
    "index": (lambda: grad(lambda x: x[3])(x3), IndexError, "index 3 is out of range for axis 0"),
    "indices": (lambda: grad(lambda x: x[0, 0])(x3), IndexError, "2 indices for an array"),
    "len": (lambda: grad(lambda x: len(x))(1.0), TypeError, "which is 0-d"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_error(what):
    call, kind, text = ERRORS[what]
    with pytest.raises(kind, match=text) as caught:
        call()
    assert caught.value.__cause__ is None


def test_a_missing_rule_is_named_with_the_way_out(monkeypatch):
    monkeypatch.delitem(vjp_rules, "tanh")
    monkeypatch.delitem(batch_rules, "tanh")
    with pytest.raises(NotImplementedError, match="tanh has no VJP rule; add a row to vjps"):
        grad(lambda x: xp.sum(xp.tanh(x)))(x3)
    with pytest.raises(NotImplementedError, match="tanh has no batch rule; add a row to batching"):
        vmap(lambda x: xp.tanh(x))(x3)


def test_a_tracer_prints_what_it_is():
    seen = []
    vmap(grad(lambda x: seen.append(repr(x)) or xp.sum(x)))(X)
    assert seen == ["ReverseTracer(float64[3] in grad)"]


# The namespace, on arrays and on tracers alike ---------------------------------------------------

FUNCTIONS = {
    "operators": lambda m, x: (2.0 - x) / (3.0 + x * x) + (-x) * 2 - 1.0 / (x + 5.0) + x**2,
    "reflected": lambda m, x: 2.0**x + np.ones(3) * x - np.ones(3) / (x + 9.0) + m.abs(x),
    "comparisons": lambda m, x: m.where((x > 0.0) == (x >= 0.5), x, m.where(x != 0.0, -x, x)),
    "less": lambda m, x: m.where((x < 0.1) != (x <= -0.2), x * x, x),
    "logic": lambda m, x: m.where(
        m.logical_and(x > 0.0, m.logical_not(x > 0.5)),
        x,
        m.where(m.logical_or(x < 0, x > 1), 2 * x, 0.0),
    ),
    "min and max": lambda m, x: m.minimum(x, 0.3) + m.maximum(x, -0.3) * m.min(x) * m.max(x),
    "means": lambda m, x: m.mean(x) * x + m.mean(x[None, :] * x[:, None], axis=1),
    "keepdims": lambda m, x: x / m.sum(m.abs(x), axis=-1, keepdims=True) + m.max(x, keepdims=True),
    "indexing": lambda m, x: x[..., None][::-1, 0] + x[-1] * x[0:1] + x[::-1][None, 1:, None],
    "integer arrays": lambda m, x: x[np.array([2, 0, -1])] + m.take(x, np.array([[0, 1, 1]]))[0],
    "shapes": lambda m, x: m.squeeze(m.expand_dims(m.reshape(x, (-1,)), axis=-1), axis=1) * x,
    "stacking": lambda m, x: (
        m.sum(m.stack([x, 2 * x, x * x], axis=1), axis=1) + m.concat([x[1:], x[:1]])
    ),
    "matrices": lambda m, x: m.matmul(x[:, None] * x, x) + m.matrix_transpose(x[:, None] - x) @ x,
    "vecdot": lambda m, x: m.vecdot(x[:, None] * x, x) + m.square(x),
    "logaddexp": lambda m, x: m.logaddexp(x, 0.5 * x[::-1]),
    "iteration": lambda m, x: sum(row * row for row in x) * x,
    "float powers": lambda m, x: m.pow(m.exp(x), 1.5) + m.pow(2.0, x) + m.exp(x) ** x,
}


@pytest.mark.parametrize("what", FUNCTIONS)
def test_functions_of_the_namespace_as_in_jax(what):
    g = FUNCTIONS[what]
    w = np.array([1.0, -2.0, 3.0])
    ours, theirs = lambda x: xp.sum(g(xp, x) * w), lambda x: jnp.sum(g(jnp, x) * w)
    rows = jax.vmap(jax.value_and_grad(theirs))(jnp.asarray(X))
    assert_close(vmap(value_and_grad(ours))(X), tuple(map(np.asarray, rows)), FLOAT64)
    assert_close(jit(vmap(value_and_grad(ours)))(X), tuple(map(np.asarray, rows)), FLOAT64)
    assert_close(ours(X[0]), np.asarray(rows[0][0]), FLOAT64)  # and on a plain array


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *[((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3,))],
        *[((3,), (5, 3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4))],
        *[((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((6, 1, 2, 3), (5, 3, 4))],
        *[
            ((1, 1, 2, 3), (6, 5, 3, 4)),
            ((1, 2, 3), (1, 3, 4)),
            ((2, 0), (0, 3)),
            ((0, 2), (2, 3)),
        ],
    ],
)
def test_matmul_of_every_rank(a, b):
    x, y = rng.normal(size=a), rng.normal(size=b)
    assert_close(xp.matmul(x, y), np.matmul(x, y), FLOAT64)
    w = rng.normal(size=np.matmul(x, y).shape)
    got = grad(lambda x, y: xp.sum((x @ y) * w), (0, 1))(x, y)
    p, q = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    ((p @ q) * torch.tensor(w)).sum().backward()
    assert_close(got, (p.grad.numpy(), q.grad.numpy()), FLOAT64)


@pytest.mark.parametrize(
    "key",
    [
        *[0, -1, slice(None), slice(None, None, -1), slice(3, 0, -2), slice(5, 9), None, ...],
        *[(0, 1), (slice(1), 2), (..., 0), (None, ..., None), (slice(None), None, 1)],
        *[(slice(0, 0), 0), [1, 1, -1], (slice(None), [0, 2]), (..., [2, 0], None)],
        *[np.array(2), np.int64(1), np.array([[0, 1]]), (), (-1, slice(-1, None, -1))],
    ],
    ids=repr,
)
def test_indexing_as_in_numpy(key):
    seen = []

    def g(x):
        seen.append(x[key])
        return xp.sum(seen[-1] * xp.exp(seen[-1]))

    expected = torch.tensor(X, requires_grad=True)
    position = torch.arange(12).reshape(4, 3).numpy()[key]
    picked = expected.reshape(-1)[torch.tensor(np.asarray(position).ravel().copy())]
    (picked * picked.exp()).sum().backward()
    assert_close(grad(g)(X), expected.grad.numpy(), FLOAT64)
    np.testing.assert_array_equal(seen[0].value, X[key])
    rows = vmap(lambda x: x[key])(np.stack([X, -X]))
    np.testing.assert_array_equal(rows, np.stack([X[key], -X[key]]))


def test_axes_may_be_counted_from_the_end():
    T = rng.normal(size=(2, 3, 4))
    w = rng.normal(size=(4, 2, 3))
    np.testing.assert_array_equal(xp.permute_dims(T, (-1, 0, -2)), T.transpose(2, 0, 1))
    g = grad(lambda T: xp.sum(xp.permute_dims(T, (-1, 0, -2)) * w))(T)
    np.testing.assert_array_equal(g, w.transpose(1, 2, 0))
    rows = vmap(lambda x: xp.permute_dims(x, (-1, 0)))(T)
    np.testing.assert_array_equal(rows, T.transpose(0, 2, 1))
    np.testing.assert_array_equal(xp.sum(T, axis=(-1, 0)), T.sum((0, 2)))
    np.testing.assert_array_equal(xp.concat([T, T], axis=-1), np.concatenate([T, T], -1))
    np.testing.assert_array_equal(xp.take(T, np.array([1]), axis=-2), T[:, [1]])
    np.testing.assert_array_equal(xp.expand_dims(T, -2), T[:, :, None])


def test_a_python_number_asked_of_a_tracer_would_cut_the_gradient():
    """Unlike PyTorch and JAX, where float(x) leaves the graph in silence."""
    with pytest.raises(TypeError, match="the gradient would end there unnoticed"):
        grad(lambda x: x * float(x))(np.float64(3.0))
    assert grad(lambda x: x * float(xp.stop_gradient(x)))(np.float64(3.0)) == 3.0


@pytest.mark.parametrize(
    "step", [xp.floor, xp.round, lambda x: x // 1, lambda x: xp.nextafter(x, 9.0)]
)
def test_a_python_number_of_a_step_cuts_nothing(step):
    """The derivative of a step is zero, with one input or with two."""
    slope = grad(lambda x: x * float(step(x)))(np.float64(2.75))
    assert slope == float(step(np.float64(2.75)))


def test_a_tracer_written_into_a_plain_array_does_not_lose_its_gradient_in_silence():
    def loss(x):
        plain = np.zeros(2)
        plain[0] = x
        return x * plain[0]

    with pytest.raises((TypeError, ValueError)):
        grad(loss)(np.float64(3.0))


def test_one_hot_and_constants():
    np.testing.assert_array_equal(xp.one_hot(np.array([2, 0]), 3), [[0, 0, 1], [1, 0, 0]])
    labels = vmap(lambda n: xp.one_hot(n, 3, np.float32))(np.array([1, 2]))
    assert labels.dtype == np.float32
    np.testing.assert_array_equal(labels, np.eye(3)[[1, 2]])
    assert xp.full_like(x3.astype(np.float32), 2).dtype == np.float32
    assert xp.asarray([1, 2], np.float32).dtype == np.float32
    assert grad(lambda x: xp.sum(xp.asarray(x, np.float32)))(x3).dtype == np.float64


def test_td_loss_by_hand():
    theta, s, r, s_next = np.array([0.2, -0.2, 0.1]), X, x3[[0, 1, 2, 0]], X[::-1]
    delta = r + 0.9 * s_next @ theta - s @ theta
    rows = vmap(grad(functools.partial(td_loss, gamma=0.9)), (None, 0, 0, 0))
    assert_close(rows(theta, s, r, s_next), -delta[:, None] * s, FLOAT64)
