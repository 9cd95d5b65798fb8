"""grad and vmap, alone and nested: the arguments they accept and the results they return."""

import functools
import inspect
from collections import namedtuple

import numpy as np
import pytest
import torch
from optree import tree_leaves, tree_map, tree_structure

from persample import td_loss
from persample.engine import grad, jit, value_and_grad, vmap
from persample.engine import namespace as xp
from support.tolerances import FLOAT64, assert_close

rng = np.random.default_rng(1)
x3, y3, X = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3))


def f(m, w):
    """Return a number from a vector w, in the namespace m; no second derivative is zero."""
    tail = m.exp(w[0] * w[1]) + m.max(w) ** 3 / (1.0 + w[2] ** 2)
    return m.sum(m.tanh(w) * m.roll(w, 1)) + tail


ours, theirs = functools.partial(f, xp), functools.partial(f, torch)


def slope_of(g):
    """Return PyTorch's gradient of g as a function that can be differentiated again."""
    return lambda w: torch.autograd.grad(g(w), w, create_graph=True)[0]


def rows_of(g):
    return lambda X: torch.stack([g(x) for x in X])


def as_in_torch(ours, theirs, x):
    peer = theirs(torch.tensor(x, requires_grad=True))
    assert_close(ours(x), peer.detach().numpy(), FLOAT64)


def directional(gradient, m):
    """Return the squared norm of a gradient as a function of w, to be differentiated again."""
    return lambda w: m.sum(gradient(w) * gradient(w))


# Nesting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_grad_at_depth(depth):
    a, b = ours, theirs
    for _ in range(depth - 1):
        a, b = directional(grad(a), xp), directional(slope_of(b), torch)
    as_in_torch(grad(a), slope_of(b), x3)
    as_in_torch(jit(grad(a)), slope_of(b), x3)
    assert_close(vmap(grad(a))(X)[2], grad(a)(X[2]), FLOAT64)


def test_vmap_of_grad_and_grad_of_vmap_and_jit_of_each():
    rows = rows_of(slope_of(theirs))
    total = lambda X: xp.sum(vmap(ours)(X))  # noqa: E731
    inside = grad(lambda X: xp.sum(jit(vmap(ours))(X)))
    ways = [vmap(grad(ours)), grad(total), jit(grad(total)), vmap(jit(grad(ours))), inside]
    for way in [*ways, jit(vmap(grad(ours)))]:
        as_in_torch(way, rows, X)
    squares = grad(lambda X: xp.sum(vmap(grad(ours))(X) ** 2))
    as_in_torch(squares, slope_of(lambda X: torch.sum(rows(X) ** 2)), X)


# Perturbation confusion: programs that go wrong if levels are mixed up --------------------------


def test_programs_that_would_confuse_perturbations():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0

    def outer(x):
        inner = grad(lambda y: y * y * x + xp.sum(xp.stop_gradient(x) * y))
        return inner(x) * x  # (2 x x + sg(x)) x

    assert grad(outer)(2.0) == 6 * 2.0**2 + 2.0

    def composed(m, g):
        return lambda x: g(lambda y: x * m.exp(y) * y)(m.tanh(x)) + x

    as_in_torch(grad(composed(xp, grad)), slope_of(composed(torch, slope_of)), x3[0])
    rows = vmap(lambda a: grad(lambda w: xp.sum(w * a * w))(x3))(X)
    assert_close(rows, 2 * X * x3, FLOAT64)
    mixed = vmap(lambda a: vmap(lambda b: xp.sum(a * b))(X))(X)
    assert_close(mixed, X @ X.T, FLOAT64)


# Arguments and results -----------------------------------------------------------------------

Layer = namedtuple("Layer", "w b")


def three(a, b, c):
    return xp.sum(a * b * b) + xp.sum(c)


@pytest.mark.parametrize("argnums", [0, 1, -1, -3, (0, 1), (2, 0, -2), (0, 0)])
def test_argnums(argnums):
    expected = [y3 * y3, 2 * x3 * y3, np.ones((2, 2))]
    got = grad(three, argnums)(x3, y3, np.ones((2, 2)))
    if isinstance(argnums, tuple):
        assert_close(got, tuple(expected[n] for n in argnums), FLOAT64)
        assert not np.shares_memory(*got[:2])
    else:
        assert_close(got, expected[argnums], FLOAT64)


def test_trees_keep_their_structure():
    tree = {
        "layers": [Layer(x3, {"k": y3}), Layer(np.ones(2), {"k": np.zeros(())})],
        "pair": (np.ones((1, 3)),),
        "empty": {},
    }
    g = grad(lambda t: sum(xp.sum(x * x) for x in tree_leaves(t)))(tree)
    assert tree_structure(g) == tree_structure(tree)
    assert_close(g, tree_map(lambda x: 2 * x, tree), FLOAT64)
    value, again = value_and_grad(lambda t: xp.sum(t["pair"][0]))(tree)
    assert value == 3.0
    assert_close(again["layers"][0].w, np.zeros(3), FLOAT64)
    out = vmap(lambda t, k: {"s": (t["a"] * k, [t["b"].w])}, (0, None))(
        {"a": X, "b": Layer(X[:, 0], X)}, 2.0
    )
    assert_close(out, {"s": (2 * X, [X[:, 0]])}, FLOAT64)


def test_unused_inputs_have_gradient_zero():
    g = grad(lambda a, b: xp.sum(a), (0, 1))(x3, {"u": y3, "v": np.ones((2, 2), np.float32)})
    assert_close(g, (np.ones(3), {"u": np.zeros(3), "v": np.zeros((2, 2))}), FLOAT64)
    assert g[1]["v"].dtype == np.float32
    integers = lambda a: xp.sum(xp.astype(a, np.int64)) * 1.0  # noqa: E731
    for loss in (lambda a: 3.0, lambda a: xp.sum(xp.stop_gradient(a)), integers):
        assert_close(grad(loss)(x3), np.zeros(3), FLOAT64)
        assert vmap(grad(loss))(X).shape == X.shape


constant = np.ones(())
SHARING = {
    "the argument itself": (lambda a, b: a, np.float64(1.0) + np.zeros(()), np.zeros(())),
    "an array from outside": (lambda a, b: constant, np.zeros(()), np.zeros(())),
    "a sum": (lambda a, b: xp.sum(a + b), x3, y3),
    "views": (lambda a, b: xp.sum(xp.reshape(a, (3, 1)) + b[:, None]), x3, y3),
    "halves": (lambda a, b: xp.sum(xp.concat([a, b]) ** 2), x3, y3),
}
VMAPPED = {
    "identity": lambda a: a,
    "value and view": lambda a: (lambda b: (b, b, b[0], b[::-1]))(a * 2.0),
    "outside": lambda a: x3,
    "outside in part": lambda a: (x3[0], xp.take(x3, np.array(1)), a[None]),
}


def owns_its_memory(results, *others):
    for i, p in enumerate(results):
        assert isinstance(p, np.ndarray)
        assert p.flags.writeable
        assert not any(np.shares_memory(p, q) for q in [*others, *results[:i]])


@pytest.mark.parametrize("what", [*SHARING, *VMAPPED])
def test_results_share_memory_with_nothing(what):
    if what in VMAPPED:
        owns_its_memory(tree_leaves(vmap(VMAPPED[what])(X)), X, x3)
        return
    g, a, b = SHARING[what]
    value, gradients = value_and_grad(g, (0, 1))(a, b)
    owns_its_memory([value, *gradients], a, b, constant)


def test_names_and_signatures_survive():
    for transform in (grad, value_and_grad, vmap, jit):
        assert transform(three).__name__ == "three"
        assert list(inspect.signature(transform(three)).parameters) == ["a", "b", "c"]
    assert grad(functools.partial(td_loss, gamma=0.5)).__name__ == "function"


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


@pytest.mark.parametrize(
    "step", [xp.floor, xp.round, lambda x: x // 1, lambda x: xp.nextafter(x, 9.0)]
)
def test_a_python_number_of_a_step_cuts_nothing(step):
    """Check that a step function converted to a Python number counts as a constant."""
    slope = grad(lambda x: x * float(step(x)))(np.float64(2.75))
    assert slope == float(step(np.float64(2.75)))
    assert grad(lambda x: x * float(xp.stop_gradient(x)))(np.float64(3.0)) == 3.0
