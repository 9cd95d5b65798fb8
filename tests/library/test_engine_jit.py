"""jit: the generated program gives the same bits, and its docstring is right."""

import gc
import itertools
import weakref
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from optree import tree_flatten, tree_leaves

from persample import cross_entropy_loss, td_loss
from persample.engine import PASSES, grad, jit, make_graph, optimise, vmap
from persample.engine import namespace as xp
from persample.engine.core import bind
from persample.engine.primitives import PRIMITIVES, apply
from support.specs import CASE_IDS, CASES

Point = namedtuple("Point", "x y")
rng = np.random.default_rng(0)
theta, s, s_next = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
r = rng.normal(size=5)
td_rows = vmap(grad(td_loss), (None, 0, 0, 0))


def mlp_loss(params, x, y):
    h = xp.tanh(xp.matmul(x, params["W1"]) + params["b1"])
    z = xp.matmul(h, params["W2"]) + params["b2"]
    return cross_entropy_loss(z, y)


def network(*sizes, dtype=np.float64):
    params = {}
    for i, (n, m) in enumerate(itertools.pairwise(sizes), 1):
        params[f"W{i}"] = (rng.normal(size=(n, m)) / np.sqrt(n)).astype(dtype)
        params[f"b{i}"] = rng.normal(size=m).astype(dtype)
    return params


mlp_rows = vmap(grad(mlp_loss), (None, 0, 0))
params, x, y = network(4, 5, 3), rng.normal(size=(6, 4)), np.array([0, 2, 1, 1, 0, 2])


def messy(a, b):
    """Compute something for each pass: identities, repetitions, dead code, broadcasts."""
    unused = xp.exp(a) * 3.0
    one = xp.ones_like(b)
    c = 0.5 * (2.0 * (a + 0.0)) * 1.0 - (-b) + xp.tanh(a) * xp.tanh(a) + xp.exp(xp.zeros_like(a))
    d = xp.permute_dims(xp.reshape(xp.broadcast_to(b, (2, 3)), (3, 2)), (1, 0))
    e = xp.where(xp.ones_like(a) > 0.0, a, b) ** 1.0 / 1.0 - 0.0
    f = xp.matmul(xp.matrix_transpose(xp.matrix_transpose(a)), xp.matrix_transpose(a * one))
    g = xp.pow(xp.exp(a), one * 0.3) + a[::-1, :] + xp.stop_gradient(-a + a) + xp.pow(a, 2)
    h = -(3.0 * a) + 0.1 * (0.7 * a) + 4.0 * (0.1 * a) + -(a - b) + (a + a) + 1.0 / (3.0 + b * b)
    return (c + d + e + g + h, f, xp.sum(a, axis=0), xp.max(a - b, axis=(0, 1))), unused.shape[0]


PROGRAMS = {
    "td": (td_rows, (theta, s, r, s_next)),
    "td in float32": (td_rows, tuple(v.astype(np.float32) for v in (theta, s, r, s_next))),
    "mlp": (mlp_rows, (params, x, y)),
    "messy": (messy, (rng.normal(size=(2, 3)), rng.normal(size=3))),
    "hessian": (
        grad(lambda v: xp.sum(grad(lambda w: xp.sum(w**3 * xp.exp(w)))(v) ** 2)),
        (theta,),
    ),
}


def same_bits(a, b):
    """Assert that two trees are equal, dtypes included; -0 equals 0 and NaN equals NaN."""
    (a, one), (b, other) = tree_flatten(a), tree_flatten(b)
    assert one == other
    for p, q in zip(a, b, strict=True):
        p, q = np.asarray(p), np.asarray(q)
        assert (p.shape, p.dtype) == (q.shape, q.dtype)
        np.testing.assert_array_equal(p, q)


# Bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", PROGRAMS)
def test_any_passes_in_any_order_give_the_same_bits(what):
    f, args = PROGRAMS[what]
    eager, graph = f(*args), make_graph(f)(*args)
    for n in range(len(PASSES) + 1):
        for passes in itertools.combinations(PASSES, n):
            same_bits(jit(f, passes)(*args), eager)
            assert len(optimise(graph, iter(passes)).equations) <= len(graph.equations)
    same_bits(jit(f, list(PASSES)[::-1])(*args), eager)


def like_eager(f, *args):
    with np.errstate(all="ignore"):
        for passes in (PASSES, ()):
            same_bits(jit(f, passes)(*args), f(*args))


@pytest.mark.parametrize(("name", "case"), CASES, ids=CASE_IDS)
def test_every_primitive_staged(name, case):
    """Compile each one alone, batched by vmap, and with constant inputs; print its graph."""
    one, many = case.draw(0), case.draw(0, (3,))

    def f(*xs):
        return bind(PRIMITIVES[name], *xs, **case.params)

    like_eager(f, *one)
    like_eager(vmap(f), *many)
    same_bits(jit(lambda x: f(x, *one[1:]))(one[0]), f(*one))
    same_bits(jit(lambda x: f(*one[:-1], x), ())(one[-1]), f(*one))
    assert f" = {name}" in str(make_graph(f)(*one))


third, ones = np.longdouble(1) / 3, np.ones(3)


def take(x, x_0, np, exp):  # the names of a primitive, of a leaf, of NumPy, of a primitive
    return xp.take(x[0], exp) + x_0 * xp.exp(np)


def by_keys(p, x):
    a, b = p.values()
    return xp.exp(a) * np.arange(3.0) + b * xp.tanh(x) + xp.tanh(x) ** 2


# Where a program could compute something else than the function: the function, its arguments.
EXACT = {
    "third": (lambda z: xp.where(z > 0.0, 2.0 * (third * z), -(third * z) + third) * third,)
    + (np.array([1.5, -0.7, 2.0], np.longdouble),),
    "factors that round": (lambda a: 0.1 * (0.7 * a) - 0.3 * -(0.7 * a), rng.normal(size=999)),
    "what only repeats": (lambda x: xp.broadcast_to(x, (2, 3)) * xp.full((2, 3), 2.0), ones),
    "repeated twice": (lambda x: xp.broadcast_to(x, (2, 3)) + xp.broadcast_to(2.0 * x, (2, 3)),)
    + (ones,),
    "integers": (
        lambda n: (-(2 * n) + 3 * (2 * n) + n * np.array([2**62, 1, 1]), n + 0.5, -n * n),
    )
    + (np.array([3, -2, 7]),),
    "unsigned": (lambda u: -(u * np.uint8(2)) + u, np.array([3, 250], np.uint8)),
    "constants": (lambda x: x + xp.exp(xp.where(True, np.arange(3.0), x)), ones),
    "names": (take, (ones, ones * 2), ones * 3, ones * 4, np.array([0, 1, 1])),
    **{
        f"keys {a} {b}": (by_keys, {a: ones, b: ones * 2}, ones * 3)
        for a, b in [("lambda", "if"), ("a b", "a_b"), ("np", "exp"), ("²", "é"), (1, "1")]
    },
    "one number": (lambda x: xp.reshape(xp.where(True, np.array([2.5]), x[:1]), ()) - x, ones),
    "trees": (lambda t, k: {"z": [t["p"].x * k, ()], "a": Point(t["p"].y, (t["q"],))},)
    + ({"q": np.ones(2), "p": Point(ones, np.zeros(1))}, 2.0),
    "nothing": (lambda: 3.0,),
    **{f"{x!r}": (lambda x: x * 2.0 + 1.0, x) for x in (np.array(2.0, "f"), np.ones((0, 3)), 3.0)},
}


@pytest.mark.parametrize("what", EXACT)
def test_a_program_computes_what_the_function_computes(what):
    like_eager(*EXACT[what])


def test_a_function_may_be_called_like_what_the_program_uses():
    f = lambda x: xp.exp(x)  # noqa: E731
    for name in ("np", "lambda", "exp", "pad", "not a name", "scatter_add"):
        f.__name__ = name
        like_eager(grad(lambda x: xp.sum(f(x)[:2])), ones)
        like_eager(f, ones)


# What is staged ------------------------------------------------------------------------------


class Scale:
    """An argument whose repr is the same for all instances."""

    def __init__(self, by):
        self.by = by

    def __repr__(self):
        return "scale"


OTHER = [
    *([ones, np.ones(4)], [ones, np.ones((3, 1))], [ones, ones.astype(np.float32)]),
    *([np.ones(()), np.ones(1)], [ones, ones.astype(ones.dtype.newbyteorder())]),
    *([np.ones(3, np.int64), np.ones(3, np.int32)], [1, 2, 1.0, True], [0, False, 0.0, -0.0]),
    *(["a", "b", None], ["1", 1], [[ones], (ones,), [ones, ones]], [np.sum, np.prod]),
    *([(ones, (ones,)), ((ones, ones),)], [Point(ones, ones), (ones, ones)], [[], ()]),
    *([{"a": ones}, {"b": ones}], [{"a": 1}, {"a": 2}], [{1: ones}, {"1": ones}]),
    *([ones, 2.0, np.float32(2.0)], [Scale(2.0), Scale(3.0)]),
]
SAME = [
    *([ones, ones + 1], [1, 1], [float("nan"), float("nan")], ["a", "a"], [None, None]),
    *([{"a": ones, "b": ones}, {"b": ones, "a": ones}], [np.sum, np.sum]),
    *([ones, np.ones(6)[::2]], [np.array(2.0), np.float64(2.0)]),
]


@pytest.mark.parametrize("values", OTHER + SAME, ids=lambda values: type(values[0]).__name__)
def test_what_a_program_depends_on(values):
    """Count the traces for values as the only or the first argument, in several orders."""

    def f(x, y=0.0):
        leaves = [getattr(a, "by", a) for a in tree_leaves(x) if not isinstance(a, str)]
        numbers = [a for a in leaves if a is not None and not callable(a)]
        return sum([xp.sum(a * 2.0) for a in numbers], xp.sum(xp.asarray(y)))

    expected = 1 if any(values is same for same in SAME) else len(values)
    run, second = jit(f), jit(f)
    for x in [*values, *values[::-1], *values]:
        same_bits(run(x), np.asarray(f(x)))
        same_bits(second(x, ones), np.asarray(f(x, ones)))
    assert (run.traces, second.traces) == (expected, expected)
    run(ones, ones)
    assert run.traces == expected + 1  # the number of arguments counts


def test_a_trace_fixes_what_is_not_an_argument():
    """Check that closures, attributes and random numbers are fixed, as the docstring says."""
    seen, scale, offset, outside = [], Scale(2.0), 10.0, np.arange(20.0)

    def f(x):
        seen.append(x)
        return x * scale.by + offset + np.random.default_rng().normal() + outside

    run = jit(f)
    first = run(np.ones(20))
    scale.by, offset = 3.0, 20.0
    outside[:] = 0.0
    for _ in range(3):
        same_bits(run(np.ones(20)), first)
    run.graph(np.ones(20)), run.source(np.ones(20))
    assert len(seen) == run.traces == 1
    run.source(np.ones(1))  # looking at a program makes it; calling it then does not trace again
    assert run(np.ones(1))[0] > first[0] + 5.0  # another signature is traced anew
    assert len(seen) == run.traces == 2
    program = jit(lambda x: (x * outside, x @ outside, outside)).compiled((np.ones(20),)).program
    assert len([x for x in program.__globals__.values() if isinstance(x, np.ndarray)]) == 1


def test_an_array_that_is_refilled_while_the_function_runs_is_read_each_time():
    def f(x):
        number, total = np.zeros(20), 0.0 * x
        for n in range(3):
            number[:] = n
            total = total + x * number
        return total

    x = np.ones(20)
    same_bits(jit(f)(x), f(x))


def test_a_compiled_function_is_freed_with_its_last_reference():
    run = jit(td_rows)
    run(theta, s, r, s_next)
    gone = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert gone() is None  # no reference cycle holds it, and the constants of its programs
    finally:
        gc.enable()


# Memory --------------------------------------------------------------------------------------

outside = np.arange(3.0)
TRICKY = {
    "identity": lambda x: (x, x, xp.stop_gradient(x)),
    "views of an input": lambda x: [xp.reshape(x, (3, 2)), x.T, x[0], x[0, 1], x[:, ::-1]],
    "broadcast": lambda x: xp.broadcast_to(x[0], (4, 3)),
    "constant": lambda x: (outside, xp.reshape(outside, (3, 1)), 3.0, xp.zeros_like(x)),
    "value and its view": lambda x: (lambda y: (y, y, y[0], y.T))(x + 1.0),
    "views alone": lambda x: (lambda y: (y.T, xp.reshape(y, (6,))))(xp.exp(x)),
    "take with one index": lambda x: xp.take(x, np.array(1), axis=0),
    "broadcast of a value": lambda x: xp.broadcast_to(xp.sum(x), (2, 2)),
    "nothing to compute": lambda x: (x + 0.0, xp.where(np.array(True), x, x * 2.0)),
}


@pytest.mark.parametrize("passes", [tuple(PASSES), ()], ids=["optimised", "as traced"])
@pytest.mark.parametrize("what", TRICKY)
def test_results_share_memory_with_nothing(what, passes):
    f, x = TRICKY[what], rng.normal(size=(2, 3))
    kept = x.copy()
    run = jit(f, passes)
    results = tree_leaves(run(x)) + tree_leaves(run(x))
    same_bits(results, tree_leaves(f(x)) * 2)
    for i, a in enumerate(results):
        assert isinstance(a, np.ndarray)
        assert a.flags.writeable
        assert not any(np.shares_memory(a, b) for b in [x, outside, *results[:i]])
    for a in results:
        a[...] = 7.0  # writing into results must not reach the next call either
    same_bits(run(x), f(kept))


# Calling -------------------------------------------------------------------------------------


def test_two_threads():
    run = jit(td_rows)
    expected = {n: td_rows(theta, s[:n], r[:n], s_next[:n]) for n in range(1, 6)}

    def work(sizes):
        for n in sizes * 20:
            same_bits(run(theta, s[:n], r[:n], s_next[:n]), expected[n])
            same_bits(td_rows(theta, s[:n], r[:n], s_next[:n]), expected[n])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]))


# The program and what was removed ------------------------------------------------------------


def test_the_program_for_td_rows_is_short_enough_to_have_been_written_by_a_person():
    assert jit(td_rows).source(theta, s, r, s_next) == (
        "def td_loss(theta, s, r, s_next):\n"
        "    return (s @ theta - (r + s_next @ theta))[:, None] * s\n"
    )
    lines = jit(mlp_rows).source(params, x, y).strip().splitlines()
    assert len(lines) == 7, lines  # the head, two layers, two for the softmax, one back, the rows
    assert lines[1:3] == [
        "    a = np.tanh(x @ params_W1 + params_b1)",
        "    b = a @ params_W2 + params_b2",
    ]
    assert lines[-1] == (
        "    return e[:, None, :] * x[:, :, None], d[:, None, :] * a[:, :, None], e, d"
    )


# A function of a vector, and what stands or does not stand in its program.
SHOWN = [
    (lambda x: 4.0 * (-0.1 * -x), "return 0.4 * x", "-"),  # exact: factors are joined
    (lambda x: 0.1 * (0.7 * x), "0.1 * (0.7 * x)", ""),  # this would round
    (lambda x: x + xp.sum(x), "x + x.sum()", "broadcast_to"),
    (lambda x: (xp.exp(x), xp.tanh(x))[1], "np.tanh(x)", "exp"),
    (lambda x: xp.exp(x) + xp.exp(x), "2.0 * np.exp(x)", "+"),
]


@pytest.mark.parametrize(("f", "there", "gone"), SHOWN, ids=[row[1] for row in SHOWN])
def test_what_the_passes_leave(f, there, gone):
    source = jit(f).source(ones)
    assert there in source
    assert not gone or gone not in source


def test_a_graph_prints_every_parameter_and_every_output():
    def spread(x):
        return apply("pad", x, shape=(5,), slices=((0, None, 2),)), 2.5

    assert str(make_graph(spread)(np.ones(3))) == (
        "spread(x: float64[3]):\n"
        "    a: float64[5] = pad[shape=(5,), slices=((0, None, 2),)] x\n"
        "    return a, 2.5"
    )
