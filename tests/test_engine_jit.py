"""jit: the generated program computes the same bits, and keeps every promise of its docstring."""

import gc
import itertools
import threading
import weakref
from collections import namedtuple

import numpy as np
import pytest
from optree import tree_flatten, tree_leaves
from specs import CASE_IDS, CASES, SPECS

from persample import cross_entropy_loss, td_loss
from persample.engine import PASSES, grad, jit, make_graph, optimise, vmap
from persample.engine import namespace as xp
from persample.engine.codegen import LARGE
from persample.engine.core import bind
from persample.engine.primitives import PRIMITIVES, apply
from persample.engine.staging import Var


def run_graph(graph, inputs):
    """Compute the outputs equation by equation: what a generated program must agree with."""
    env = dict(zip(graph.inputs, inputs, strict=True))

    def read(atom):
        return env[atom] if isinstance(atom, Var) else atom

    for eq in graph.equations:
        env[eq.output] = eq.primitive.numpy(*map(read, eq.inputs), **eq.params)
    return [read(x) for x in graph.outputs]


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
    """Something for every pass: constants, identities, repetitions, dead code, broadcasts."""
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
    """Equal entry by entry, dtype included; the two zeros count as one, NaN equals NaN."""
    (a, one), (b, other) = tree_flatten(a), tree_flatten(b)
    assert one == other
    for p, q in zip(a, b, strict=True):
        p, q = np.asarray(p), np.asarray(q)
        assert (p.shape, p.dtype) == (q.shape, q.dtype)
        np.testing.assert_array_equal(p, q)


def subsets_of(names):
    return [c for n in range(len(names) + 1) for c in itertools.combinations(names, n)]


# Bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", PROGRAMS)
def test_every_subset_of_passes_gives_the_same_bits(what):
    f, args = PROGRAMS[what]
    eager = f(*args)
    for passes in subsets_of(PASSES):
        same_bits(jit(f, passes)(*args), eager)


@pytest.mark.parametrize("what", PROGRAMS)
def test_the_order_of_the_passes_does_not_matter_to_the_bits(what):
    f, args = PROGRAMS[what]
    same_bits(jit(f, list(PASSES)[::-1])(*args), f(*args))


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_graph_runs_to_the_same_bits_before_and_after_every_pass(what):
    f, args = PROGRAMS[what]
    graph = make_graph(f)(*args)
    arrays = [a for a in tree_leaves(args) if isinstance(a, np.ndarray)]
    expected = run_graph(graph, arrays)
    same_bits(expected, tree_leaves(f(*args)))
    for name in PASSES:
        smaller = optimise(graph, [name])
        same_bits(run_graph(smaller, arrays), expected)
        assert smaller.removed[name] == len(graph.equations) - len(smaller.equations) >= 0
    same_bits(run_graph(optimise(graph), arrays), expected)


@pytest.mark.parametrize(("name", "case"), CASES, ids=CASE_IDS)
def test_every_primitive_staged(name, case):
    """Alone, and batched by vmap; with all passes and with none; with constants for inputs."""
    one, many = case.draw(0), case.draw(0, (3,))

    def f(*xs):
        return bind(PRIMITIVES[name], *xs, **case.params)

    for passes in (PASSES, ()):
        same_bits(jit(f, passes)(*one), f(*one))
        same_bits(jit(vmap(f), passes)(*many), vmap(f)(*many))
        same_bits(jit(lambda *xs: f(*one), passes)(*one), f(*one))
        if len(one) > 1:
            same_bits(jit(lambda x: f(x, *one[1:]), passes)(one[0]), f(*one))
            same_bits(jit(lambda x: f(*one[:-1], x), passes)(one[-1]), f(*one))


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 5, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_in_the_program(value, dtype):
    v = np.array([1.5, -0.0, 2.0], dtype)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "less", "equal"):
        f = getattr(xp, name)
        with np.errstate(all="ignore"):
            for g in (lambda v, f=f: f(v, value), lambda v, f=f: f(value, v)):
                same_bits(jit(g)(v), g(v))
                same_bits(jit(g, ())(v), g(v))
    choose = lambda v: xp.where(v > 0.0, value, v)  # noqa: E731
    same_bits(jit(choose)(v), choose(v))


def test_numbers_of_more_bits_than_a_python_float_keep_them():
    third, z = np.longdouble(1) / 3, np.array([1.5, -0.7, 2.0], np.longdouble)
    for f in (
        lambda z: z * third,
        lambda z: 2.0 * (third * z),
        lambda z: -(third * z) + third,
        lambda z: xp.where(z > 0.0, third, -third),
        lambda z: xp.maximum(z, third) ** third,
    ):
        same_bits(jit(f)(z), f(z))
        same_bits(jit(f, ())(z), f(z))


def test_factors_are_joined_only_where_nothing_rounds():
    a = np.random.default_rng(2).normal(size=1000)
    for f in (lambda a: 0.1 * (0.7 * a), lambda a: 0.3 * -(0.7 * a), lambda a: 4.0 * (0.1 * a)):
        same_bits(jit(f)(a), f(a))
    assert jit(lambda a: 0.1 * (0.7 * a)).source(a).count("*") == 2
    assert jit(lambda a: 4.0 * (-0.1 * -a)).source(a).count("*") == 1


def test_what_only_repeats_is_still_repeated():
    f = lambda x: xp.broadcast_to(x, (2, 3)) + xp.broadcast_to(2.0 * x, (2, 3))  # noqa: E731
    assert jit(f)(ones).shape == (2, 3)
    g = lambda x: xp.broadcast_to(x, (2, 3)) * xp.ones((2, 3))  # noqa: E731
    assert jit(g)(ones).shape == (2, 3)
    h = lambda x: xp.broadcast_to(x, (2, 3)) * xp.full((2, 3), 2.0)  # noqa: E731
    same_bits(jit(h, list(PASSES)[::-1])(ones), h(ones))


def test_integers_keep_their_kind():
    n = np.array([3, -2, 7])

    def f(n):
        return -(2 * n) + 3 * (2 * n) + n * 1 + n * np.array([2**62, 1, 1]), n + 0.5, -n * n

    same_bits(jit(f)(n), f(n))
    u = np.array([3, 250], np.uint8)
    g = lambda u: -(u * np.uint8(2)) + u  # noqa: E731
    same_bits(jit(g)(u), g(u))


def test_large_arrays_reuse_memory_and_keep_their_bits():
    """Above LARGE bytes the program writes into temporaries; neither bits nor inputs change."""
    n = LARGE // 8
    a, b = rng.normal(size=(2, n)), rng.normal(size=(2, n))

    def f(a, b):
        c = a * b + xp.exp(a) - xp.tanh(b)
        d = c * c + c[:, ::-1] + a
        e = xp.maximum(d, -d) * xp.reshape(d, (n, 2))[0, 0]
        turned = xp.reshape(xp.matrix_transpose(e), (2, n))
        g = e - turned + xp.where(c > 0.0, d, e)
        h = g + 0.5
        return g, h * h, xp.sum(g, axis=1), c

    before = a.copy(), b.copy()
    for passes in (PASSES, ()):
        run = jit(f, passes)
        same_bits(run(a, b), f(a, b))
        same_bits(run(a[::-1], b[:, ::-1]), f(a[::-1], b[:, ::-1]))
        assert "out=" in run.source(a, b)
        assert "del " in run.source(a, b)
    same_bits((a, b), before)


def test_large_networks_in_both_dtypes():
    for dtype in (np.float32, np.float64):
        p, v = network(64, 128, 10, dtype=dtype), rng.normal(size=(40, 64)).astype(dtype)
        labels = rng.integers(0, 10, 40)
        run = jit(mlp_rows)
        first = run(p, v, labels)
        kept = {k: g.copy() for k, g in first.items()}
        same_bits(first, mlp_rows(p, v, labels))
        run(p, v + 1, labels)
        same_bits(first, kept)


# What is staged ------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


def count_traces(*calls):
    f = jit(lambda *args: xp.asarray(np.float64(0.0)) + 0.0)
    for args in calls:
        f(*args)
    return f.traces


ones = np.ones(3)


@pytest.mark.parametrize(
    ("first", "second", "traces"),
    [
        (ones, ones + 1, 1),
        (ones, np.ones(4), 2),
        (ones, np.ones(3, np.float32), 2),
        (ones, np.ones((3, 1)), 2),
        (np.ones(3, np.int64), np.ones(3, np.int32), 2),
        (np.ones(()), np.ones(1), 2),
        (1, 1, 1),
        (1, 2, 2),
        (1, 1.0, 2),
        (1, True, 2),
        (1.0, True, 2),
        (0, False, 2),
        (0.0, -0.0, 2),
        (0, 0.0, 2),
        (float("nan"), float("nan"), 1),
        ("a", "a", 1),
        ("a", "b", 2),
        (None, None, 1),
        (None, 0, 2),
        ("1", 1, 2),
        ([ones], (ones,), 2),
        ([ones, ones], [ones], 2),
        ((ones, (ones,)), ((ones, ones),), 2),
        (Point(ones, ones), (ones, ones), 2),
        ({"a": ones}, {"b": ones}, 2),
        ({"a": ones, "b": ones}, {"b": ones, "a": ones}, 1),
        ({"a": 1}, {"a": 2}, 2),
        ({1: ones}, {"1": ones}, 2),
        ([], (), 2),
        (np.sum, np.sum, 1),
        (np.sum, np.prod, 2),
    ],
    ids=lambda x: getattr(x, "__name__", repr(x)),
)
def test_what_a_program_depends_on(first, second, traces):
    assert count_traces((first,), (second,)) == traces
    assert count_traces((first, ones), (second, ones)) == traces


def test_objects_that_print_alike_are_told_apart():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __repr__(self):
            return "scale"

    f = jit(lambda x, scale: x * scale.by)
    assert f(ones, Scale(2.0))[0] == 2.0
    assert f(ones, Scale(3.0))[0] == 3.0


def test_the_number_of_arguments_counts():
    assert count_traces((ones,), (ones, ones), (ones, ones, ones)) == 3


def test_side_effects_happen_once_a_trace():
    seen = []

    def f(x):
        seen.append(x)
        return x * 2.0

    run = jit(f)
    for _ in range(3):
        run(ones)
    run.graph(ones), run.source(ones)
    assert len(seen) == run.traces == 1
    run(np.ones(4))
    assert len(seen) == run.traces == 2
    run.source(np.ones(5))  # looking at a program makes it; calling it then does not trace again
    run(np.ones(5))
    assert len(seen) == run.traces == 3


def test_an_array_from_outside_is_read_once():
    outside = np.array([1.0, 2.0, 3.0])
    run = jit(lambda x: x * outside)
    first = run(ones)
    outside[:] = 0.0
    same_bits(run(ones), first)


def test_an_array_that_is_refilled_while_the_function_runs_is_read_each_time():
    def f(x):
        number, total = np.zeros(20), 0.0 * x
        for n in range(3):
            number[:] = n
            total = total + x * number
        return total

    x = np.ones(20)
    same_bits(jit(f)(x), f(x))


def test_an_array_from_outside_is_held_once():
    outside = np.arange(20.0)
    program = jit(lambda x: (x * outside, x @ outside, outside)).program(np.ones(20))
    held = [x for x in program.__globals__.values() if isinstance(x, np.ndarray)]
    assert len(held) == 1


def test_a_trace_fixes_what_is_not_an_argument():
    """What the docstring of jit says: closures, globals, attributes, random numbers, as in JAX."""

    class Scale:
        by = 2.0

    scale, offset = Scale(), 10.0
    run = jit(lambda x: x * scale.by + offset + np.random.default_rng().normal())
    first = run(ones)
    scale.by, offset = 3.0, 20.0
    same_bits(run(ones), first)
    assert run(np.ones(4))[0] > first[0] + 5.0  # another signature is traced anew
    passed = jit(lambda x, by: x * by)
    assert passed(ones, 2.0)[0] == 2.0
    assert passed(ones, 3.0)[0] == 3.0


SIGNATURES = {
    "another dtype": [ones.astype(np.float32), ones],
    "another byte order": [ones.astype(ones.dtype.newbyteorder()), ones],
    "another shape": [np.ones(4), np.ones(4)],
    "another rank": [np.ones((3, 3)), ones],
    "one argument less": [ones],
    "one argument more": [ones, ones, ones],
    "a tree": [[ones], ones],
    "a number": [ones, 2.0],
    "a NumPy number": [ones, np.float64(2.0)],
    "a 0-d array": [ones, np.array(2.0)],
}


@pytest.mark.parametrize("what", SIGNATURES)
def test_a_plan_is_used_for_its_own_signature_alone(what):
    """Calls of one signature before and after calls of another one, in both orders."""

    def f(x, y=None, z=0.0):
        x = x[0] if isinstance(x, list) else x
        return xp.exp(x) * (x if y is None else y) + z, [x]

    run, usual, other = jit(f), [ones, ones * 2], SIGNATURES[what]
    for args in (usual, other, usual, usual, other, other, usual):
        for a, b in zip(run(*args)[:1], f(*args)[:1], strict=True):
            np.testing.assert_array_equal(a, b)
    assert run.traces == 2
    again = jit(f)
    for args in (other, usual, other):
        np.testing.assert_array_equal(again(*args)[0], f(*args)[0])
    assert again.traces == 2


def test_subclasses_of_arrays_and_tracers_do_not_take_the_plan_of_plain_arrays():
    run = jit(lambda x: xp.sum(xp.tanh(x)))
    run(theta)
    same_bits(grad(run)(theta), grad(lambda x: xp.sum(xp.tanh(x)))(theta))
    same_bits(vmap(run)(s), vmap(lambda x: xp.sum(xp.tanh(x)))(s))
    same_bits(run(theta.view(np.memmap)), run(theta))
    assert jit(lambda: 3.0)() == 3.0


def test_program_is_what_a_call_runs():
    run = jit(td_rows)
    program = run.program(theta, s, r, s_next)
    assert run.traces == 1
    same_bits(program(theta, s, r, s_next), run(theta, s, r, s_next))
    assert program is run.program(theta * 2, s, r, s_next)
    assert program is not run.program(theta, s[:2], r[:2], s_next[:2])
    grads = jit(mlp_rows)
    results = grads.program(params, x, y)(*tree_leaves((params, x, y)))
    assert isinstance(results, tuple)
    same_bits(list(results), tree_leaves(grads(params, x, y)))
    assert jit(lambda x: ()).program(ones)(ones) == ()
    (only,) = jit(lambda x: [x + 1.0]).program(ones)(ones)
    same_bits(only, ones + 1.0)


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


def test_a_trace_that_fails_leaves_nothing_behind():
    broken = [True]

    def f(x):
        if broken[0]:
            raise KeyError("once")
        return x + 1.0

    run = jit(f)
    with pytest.raises(KeyError):
        run(ones)
    broken[0] = False
    same_bits(run(ones), ones + 1.0)
    assert run.traces == 1


# Memory --------------------------------------------------------------------------------------

outside = np.arange(3.0)
TRICKY = {
    "identity": lambda x: x,
    "reshape": lambda x: xp.reshape(x, (3, 2)),
    "transpose": lambda x: xp.matrix_transpose(x),
    "row": lambda x: x[0],
    "entry": lambda x: x[0, 1],
    "slice": lambda x: x[:, ::-1],
    "new axis": lambda x: x[None],
    "broadcast": lambda x: xp.broadcast_to(x[0], (4, 3)),
    "constant": lambda x: outside,
    "view of a constant": lambda x: xp.reshape(outside, (3, 1)),
    "zeros": lambda x: xp.zeros_like(x),
    "stop_gradient": lambda x: xp.stop_gradient(x),
    "same twice": lambda x: (x * 2.0,) * 2,
    "input twice": lambda x: [x, x],
    "value and its view": lambda x: (lambda y: (y, y[0], y.T))(x + 1.0),
    "views of one value": lambda x: (lambda y: (y[0], y[1]))(x + 1.0),
    "views alone": lambda x: (lambda y: (y.T, xp.reshape(y, (6,))))(xp.exp(x)),
    "take with one index": lambda x: xp.take(x, np.array(1), axis=0),
    "nothing to compute": lambda x: (x, outside, 3.0),
    "number": lambda x: 3.0,
    "broadcast of a value": lambda x: xp.broadcast_to(xp.sum(x), (2, 2)),
    "added zero": lambda x: x + 0.0,
    "where on a constant": lambda x: xp.where(np.array(True), x, x * 2.0),
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
        assert not np.shares_memory(a, x)
        assert not np.shares_memory(a, outside)
        assert not any(np.shares_memory(a, b) for b in results[:i]), what
    for a in results:
        a[...] = 7.0  # writing into results must not reach the next call either
    same_bits(run(x), f(kept))


# Calling -------------------------------------------------------------------------------------


def test_layouts_and_flags_of_inputs():
    f = lambda x: xp.tanh(x) @ xp.matrix_transpose(x) + xp.sum(x)  # noqa: E731
    base = rng.normal(size=(6, 8))
    frozen = base[:3, :4].copy()
    frozen.flags.writeable = False
    run = jit(f)
    for x in (base[::2, ::2], base[:3, :4], base.T[:3, :4], frozen, np.asfortranarray(frozen)):
        np.testing.assert_allclose(run(x), f(x), rtol=1e-12)
        same_bits(run(x), f(x))
    assert run.traces == 1


def test_scalars_and_empty_arrays():
    f = jit(lambda x: x * 2.0 + 1.0)
    for x in (np.float64(2.0), np.float32(2.0), np.array(2.0), np.ones((0, 3)), np.ones(0)):
        result = f(x)
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype) == (x.shape, x.dtype)
    assert f(3.0) == 7.0
    total = jit(lambda x: xp.sum(x, axis=0))
    same_bits(total(np.ones((0, 3))), np.zeros(3))


def test_trees_in_and_out():
    f = jit(lambda tree, k: {"z": [tree["p"].x * k, ()], "a": Point(tree["p"].y, (tree["q"],))})
    tree = {"q": np.ones(2), "p": Point(np.ones(3), np.zeros(1))}
    out = f(tree, 2.0)
    assert isinstance(out["a"], Point)
    same_bits(out, {"z": [2.0 * np.ones(3), ()], "a": Point(np.zeros(1), (np.ones(2),))})
    assert jit(lambda x: ())(ones) == ()
    assert isinstance(jit(lambda x: (x,))(ones), tuple)
    assert isinstance(jit(lambda x: [x])(ones), list)


@pytest.mark.parametrize(
    "keys",
    [("lambda", "if"), ("a b", "a_b"), ("np", "exp"), (1, "1"), ("²", "é"), ("constant_0", "a")],
    ids=repr,
)
def test_names_that_python_would_trip_over(keys):
    def f(p, x):
        a, b = (p[k] for k in keys)
        return xp.exp(a) * np.arange(3.0) + b * xp.tanh(x) + xp.tanh(x) ** 2

    args = dict(zip(keys, (ones, ones * 2), strict=True)), ones * 3
    same_bits(jit(f)(*args), f(*args))


def test_functions_that_are_called_like_what_the_program_uses():
    def take(x, x_0, np, exp):  # the names of a primitive, of a leaf, of NumPy, of a primitive
        return xp.take(x[0], exp) + x_0 * xp.exp(np)

    args = (ones, ones * 2), ones * 3, ones * 4, np.array([0, 1, 1])
    same_bits(jit(take)(*args), take(*args))
    f = lambda x: xp.exp(x)  # noqa: E731
    for name in ("np", "lambda", "exp", "pad", "not a name", "scatter_add"):
        f.__name__ = name
        same_bits(jit(grad(lambda x: xp.sum(f(x)[:2])))(ones), [np.e, np.e, 0.0] * ones)
        same_bits(jit(f)(ones), f(ones))


def test_two_threads():
    run = jit(td_rows)
    expected = {n: td_rows(theta, s[:n], r[:n], s_next[:n]) for n in range(1, 6)}
    failures = []

    def work(sizes):
        try:
            for n in sizes * 20:
                same_bits(run(theta, s[:n], r[:n], s_next[:n]), expected[n])
                same_bits(td_rows(theta, s[:n], r[:n], s_next[:n]), expected[n])
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(k,)) for k in ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    ]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures, failures


def test_inside_other_transforms_it_is_part_of_their_trace():
    inner = jit(lambda x: xp.sum(xp.tanh(x) ** 2))
    plain = lambda x: xp.sum(xp.tanh(x) ** 2)  # noqa: E731
    same_bits(grad(inner)(theta), grad(plain)(theta))
    same_bits(vmap(inner)(s), vmap(plain)(s))
    same_bits(jit(vmap(grad(inner)))(s), vmap(grad(plain))(s))
    assert inner.traces == 0
    same_bits(jit(inner)(theta), plain(theta))
    assert inner.traces == 0


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


def test_removed_says_what_each_pass_took_away():
    graph = make_graph(td_rows)(theta, s, r, s_next)
    smaller = optimise(graph)
    assert set(smaller.removed) == set(PASSES)
    assert sum(smaller.removed.values()) == len(graph.equations) - len(smaller.equations) > 5
    assert optimise(graph, ["dead_code"]).removed.keys() == {"dead_code"}
    assert optimise(graph, ()).removed == {}
    assert len(optimise(graph, iter(["dead_code"])).removed) == 1


PASS_EXAMPLES = {
    "dead_code": lambda x: (xp.exp(x), xp.tanh(x))[1],
    "common_subexpressions": lambda x: xp.exp(x) + xp.exp(x),
    "identities": lambda x: xp.permute_dims(xp.permute_dims(x[None], (1, 0)), (1, 0)) * 1.0,
}


@pytest.mark.parametrize("name", PASS_EXAMPLES)
def test_each_pass_does_its_own_work(name):
    f = PASS_EXAMPLES[name]
    graph = make_graph(f)(ones)
    assert optimise(graph, [name]).removed[name] > 0
    for other in set(PASS_EXAMPLES) - {name}:
        assert optimise(graph, [other]).removed[other] == 0, other


def test_constants_are_computed_while_tracing_or_once_they_turn_out_to_be_constant():
    f = lambda x: x + xp.exp(np.arange(3.0))  # noqa: E731
    assert len(make_graph(f)(ones).equations) == 1
    g = lambda x: x + xp.exp(xp.where(True, np.arange(3.0), x))  # noqa: E731
    graph = optimise(make_graph(g)(ones), ["identities"])
    assert optimise(graph, ["constants"]).removed == {"constants": 1}
    same_bits(jit(g)(ones), g(ones))


def test_a_constant_that_turns_out_to_be_one_number_is_written_out():
    f = lambda x: xp.reshape(xp.where(True, np.array([2.5]), x[:1]), ()) - x  # noqa: E731
    assert "return 2.5 - x" in jit(f).source(ones)


def test_the_same_function_gives_the_same_program_every_time():
    a, b = np.ones((200, 200)), np.full((200, 200), 2.0)  # both large and read for the last time
    f = lambda a, b: xp.exp(a) * xp.exp(b) + 1.0  # noqa: E731
    first = jit(f).source(a, b)
    assert "out=" in first
    kept = []  # so that the variables lie elsewhere each time
    for n in range(40):
        kept.append([object() for _ in range(n)])
        assert jit(f).source(a, b) == first


def test_broadcasts_leave_the_program():
    f = lambda x: x + xp.sum(x)  # noqa: E731
    assert "broadcast_to" in jit(f, ()).source(ones)
    assert "broadcast_to" not in jit(f, ["broadcasts", "dead_code"]).source(ones)


def test_a_graph_prints_every_parameter_and_every_output():
    def spread(x):
        return apply("pad", x, shape=(5,), slices=((0, None, 2),)), 2.5

    assert str(make_graph(spread)(np.ones(3))) == (
        "spread(x: float64[3]):\n"
        "    a: float64[5] = pad[shape=(5,), slices=((0, None, 2),)] x\n"
        "    return a, 2.5"
    )


def test_a_graph_prints_one_equation_a_line():
    def loss(w, x):
        return xp.sum(xp.tanh(x * w)) * 0.5

    assert str(make_graph(loss)(np.ones(3), np.ones(3))) == (
        "loss(w: float64[3], x: float64[3]):\n"
        "    a: float64[3] = multiply x w\n"
        "    b: float64[3] = tanh a\n"
        "    c: float64[] = sum[axes=(0,)] b\n"
        "    d: float64[] = multiply c 0.5\n"
        "    return d"
    )


def test_every_spec_row_can_be_printed_and_has_source():
    for name, cases in SPECS.items():
        f = lambda *xs, n=name, c=cases[0]: bind(PRIMITIVES[n], *xs, **c.params)  # noqa: E731
        assert f" = {name}" in str(make_graph(f)(*cases[0].draw()))
        assert jit(f).source(*cases[0].draw()).startswith("def function(")


# Bad input -----------------------------------------------------------------------------------


def test_errors_of_jit():
    with pytest.raises(TypeError, match="a Python value was asked of StageTracer.*xp.where"):
        jit(lambda x: x if xp.sum(x) > 0.0 else -x)(ones)
    with pytest.raises(ValueError, match=r"no pass \['typo'\]; the passes are \['constants'"):
        jit(lambda x: x, ["typo"])(ones)
    with pytest.raises(TypeError, match=r"keyword arguments \(y\).*functools.partial"):
        jit(lambda x, y: x)(ones, y=2.0)
    with pytest.raises(TypeError, match=r"keyword arguments \(y\).*functools.partial"):
        make_graph(lambda x, y: x)(ones, y=2.0)
    with pytest.raises(TypeError, match="a set, which is not hashable"):
        jit(lambda x, y: x)(ones, {1})
    with pytest.raises(TypeError, match="str 'a' is not an array of numbers"):
        jit(lambda x: "a")(ones)
    with pytest.raises(TypeError, match="uses ReverseTracer.*from outside; pass it as argument"):
        grad(lambda w: xp.sum(jit(lambda x: x * w)(ones)))(ones)
    with pytest.raises(TypeError, match="a program was asked for with tracers"):
        grad(lambda w: jit(lambda x: x).source(w))(ones)
    with pytest.raises(TypeError, match="cannot be changed in place"):
        jit(lambda x: x.__setitem__(0, 1.0))(ones)
