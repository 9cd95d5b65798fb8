"""Every primitive has every rule, and every rule is right.

The rules are compared with independent computations: VJPs with finite differences, batching with a
Python loop, values with NumPy and PyTorch.
"""

import itertools

import numpy as np
import pytest
import torch

from persample.engine import grad, value_and_grad, vmap
from persample.engine import namespace as xp
from persample.engine.batching import batch_rules
from persample.engine.contraction import contract, split
from persample.engine.primitives import PRIMITIVES, apply
from persample.engine.reverse import vjp_rules
from support.specs import CASE_IDS, CASES, SPECS, differentiable, subsets
from support.tolerances import FINITE_DIFFERENCES, FLOAT32, FLOAT64, assert_close

every_case = pytest.mark.parametrize(("name", "case"), CASES, ids=CASE_IDS)


STEP = 1e-5


def slope(f, xs, direction):
    """Return the derivative of the scalar f at xs along ``direction``, by central differences."""
    ahead = f(*[x + STEP * d for x, d in zip(xs, direction, strict=True)])
    behind = f(*[x - STEP * d for x, d in zip(xs, direction, strict=True)])
    return (ahead - behind) / (2 * STEP)


def check_vjp(name, case, seed=0):
    """Check a primitive's VJP rules on a case to second order, in a random direction."""
    xs = case.draw(seed)
    rng = np.random.default_rng(seed + 1)
    out = apply(name, *xs, **case.params)
    w = rng.normal(size=out.shape)
    for i in differentiable(name, xs):
        rule, v = vjp_rules[name][i], rng.normal(size=xs[i].shape)

        def value(x, i=i):
            return np.sum(w * apply(name, *xs[:i], x, *xs[i + 1 :], **case.params))

        ct = rule(w, out, *xs, **case.params)
        assert ct.shape == xs[i].shape, f"{name}, input {i}: cotangent of shape {ct.shape}"
        assert ct.dtype == xs[i].dtype, f"{name}, input {i}: cotangent of dtype {ct.dtype}"
        assert_close(
            np.sum(ct * v), slope(value, [xs[i]], [v]), FINITE_DIFFERENCES, f"{name}, input {i}"
        )

        # The rule as a function of the cotangent and of every floating-point input.
        floats = [j for j, x in enumerate(xs) if x.dtype.kind == "f"]

        def pulled(w, *new, rule=rule, v=v, floats=floats):
            full = list(xs)
            for j, x in zip(floats, new, strict=True):
                full[j] = x
            return xp.sum(rule(w, apply(name, *full, **case.params), *full, **case.params) * v)

        at = [w, *[xs[j] for j in floats]]
        along = [rng.normal(size=x.shape) for x in at]
        gradients = grad(pulled, tuple(range(len(at))))(*at)
        exact = sum(np.sum(g * d) for g, d in zip(gradients, along, strict=True))
        assert_close(
            exact, slope(pulled, at, along), FINITE_DIFFERENCES, f"{name}, input {i}, second order"
        )


def check_batching(name, case, sizes=(2, 3)):
    """Check two nested vmaps against two loops, for every way to batch the inputs in each."""

    def one(*xs):
        return apply(name, *xs, **case.params)

    draws = [case.draw(n, batch) for n, batch in enumerate([sizes, sizes[1:], sizes[:1], ()])]
    for outer, inner in itertools.product(subsets(len(draws[0])), repeat=2):
        which = [
            draws[(0 if i else 2) if o else (1 if i else 3)]
            for o, i in zip(outer, inner, strict=True)
        ]
        args = [xs[n] for n, xs in enumerate(which)]
        axes = [tuple(0 if batched else None for batched in way) for way in (outer, inner)]
        mapped = vmap(vmap(one, axes[1]), axes[0])(*args)
        for p, q in np.ndindex(sizes):
            xs = [x[p] if o else x for x, o in zip(args, outer, strict=True)]
            xs = [x[q] if i else x for x, i in zip(xs, inner, strict=True)]
            assert mapped.dtype == one(*xs).dtype, f"{name}: dtype {mapped.dtype}"
            assert_close(mapped[p, q], one(*xs), FLOAT64, f"{name} {outer} {inner}")


def test_every_primitive_has_every_rule_and_a_row_of_cases():
    assert set(PRIMITIVES) == set(vjp_rules) == set(batch_rules) == set(SPECS)
    assert all(SPECS.values())
    for name, case in CASES:
        if name != "concat":  # any number of inputs
            assert len(vjp_rules[name]) == len(case.inputs), name


@every_case
def test_vjp_to_second_order(name, case):
    check_vjp(name, case)


@every_case
def test_batch_rule(name, case):
    check_batching(name, case)
    check_batching(name, case, (1, 1))


@pytest.mark.parametrize("name", ["tanh", "multiply", "einsum", "take", "cholesky", "max"])
def test_a_spoiled_rule_is_noticed(name, monkeypatch):
    """Change a VJP by 0.05 %, or reverse a batch: the two checks above must fail."""
    case, rules, batched = SPECS[name][0], vjp_rules[name], batch_rules[name]
    for i in differentiable(name, case.draw()):
        wrong = lambda *args, i=i, **p: rules[i](*args, **p) * 1.0005  # noqa: E731
        monkeypatch.setitem(vjp_rules, name, [*rules[:i], wrong, *rules[i + 1 :]])
        with pytest.raises(AssertionError):
            check_vjp(name, case)
    monkeypatch.setitem(batch_rules, name, lambda *args, **p: batched(*args, **p)[::-1])
    with pytest.raises(AssertionError):
        check_batching(name, case)


@every_case
def test_gradients_have_the_dtype_of_their_input(name, case):
    xs = case.draw()
    small = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in xs]
    out, out32 = apply(name, *xs, **case.params), apply(name, *small, **case.params)
    if out.dtype.kind == "f" and name != "astype":
        assert out32.dtype == np.float32
    assert_close(out32, out, FLOAT32, name)
    for i in differentiable(name, xs):
        ct = vjp_rules[name][i](np.ones_like(out), out, *xs, **case.params)
        ct32 = vjp_rules[name][i](np.ones_like(out32), out32, *small, **case.params)
        assert ct32.dtype == np.float32, f"{name}, input {i}: {ct32.dtype}"
        assert_close(ct32, ct, 10 * FLOAT32, f"{name}, input {i}")


@pytest.mark.parametrize("subscripts", [c.params["subscripts"] for c in SPECS["einsum"]])
def test_a_contraction_is_what_einsum_says(subscripts):
    rng = np.random.default_rng(0)
    lengths = dict(zip("ijklbc", (2, 3, 4, 5, 6, 7), strict=True))
    x, y = [rng.normal(size=[lengths[a] for a in o]) for o in split(subscripts)[:2]]
    assert_close(contract(subscripts)(x, y), np.einsum(subscripts, x, y), FLOAT64, subscripts)


# Special values ------------------------------------------------------------------------------


def clip(m, x, low, high):
    return torch.clamp(x, low, high) if m is torch else m.clip(x, low, high)


SPECIAL = {
    "maximum at a tie": (lambda m, x, y: m.maximum(x, y), (1.0, 1.0)),
    "minimum at a tie": (lambda m, x, y: m.minimum(x, y), (1.0, 1.0)),
    "abs at 0": (lambda m, x, y: m.abs(x) * y, (0.0, 2.0)),
    "x ** 0.0 at 0": (lambda m, x, y: m.pow(x, 0.0) + y, (0.0, 1.0)),
    "x ** 1.0 at 0": (lambda m, x, y: m.pow(x, 1.0) + y, (0.0, 1.0)),
    "x ** 2 at 0": (lambda m, x, y: m.pow(x, 2) + y, (0.0, 1.0)),
    "x ** 3 at -2": (lambda m, x, y: m.pow(x, 3) + y, (-2.0, 1.0)),
    "x ** -1 at -2": (lambda m, x, y: m.pow(x, -1) + y, (-2.0, 1.0)),
    "0 ** y": (lambda m, x, y: m.pow(x, y), (0.0, 2.0)),
    "0 ** 0": (lambda m, x, y: m.pow(x, y), (0.0, 0.0)),
    "1 ** array with a 0": (lambda m, x, y: m.sum(m.pow(x, m.stack([y, y - y, y]))), (1.5, 2.0)),
    "log1p near 0": (lambda m, x, y: m.log1p(x) * y, (1e-18, 2.0)),
    "tanh far out": (lambda m, x, y: m.tanh(x) * y, (400.0, 2.0)),
    "sqrt at 0 is infinitely steep": (lambda m, x, y: m.sqrt(x) + y, (0.0, 1.0)),
    "log at 0": (lambda m, x, y: m.log(x) + y, (0.0, 1.0)),
    "where keeps NaN in if the untaken branch has it": (
        lambda m, x, y: m.where(x > 0.0, m.sqrt(x - 1.0), y),
        (-2.0, 1.0),
    ),
    "where with the double-where remedy": (
        lambda m, x, y: m.where(x > 0.0, m.log(m.where(x > 0.0, x, m.ones_like(x))), y),
        (0.0, 1.0),
    ),
    "logaddexp at a tie": (lambda m, x, y: m.logaddexp(x, y), (1.0, 1.0)),
    "logaddexp with +inf": (lambda m, x, y: m.logaddexp(x, y), (np.inf, 1.0)),
    "logaddexp with -inf": (lambda m, x, y: m.logaddexp(x, y), (-np.inf, 1.0)),
    "logaddexp far apart": (lambda m, x, y: m.logaddexp(x, y), (-900.0, 900.0)),
    "clip at its lower bound": (lambda m, x, y: clip(m, x, 1.0, 3.0) * y, (1.0, 2.0)),
    "clip at its upper bound": (lambda m, x, y: clip(m, x, 1.0, 3.0) * y, (3.0, 2.0)),
    "clip beyond a bound": (lambda m, x, y: clip(m, x, 1.0, 3.0) * y, (4.0, 2.0)),
    "remainder of a negative": (lambda m, x, y: m.remainder(x, y), (-5.3, 2.0)),
    "remainder by a negative": (lambda m, x, y: m.remainder(x, y), (5.3, -2.0)),
    "sign at 0": (lambda m, x, y: m.sign(x) * y + x, (0.0, 2.0)),
    "atan2 on the negative axis": (lambda m, x, y: m.atan2(x, y), (0.0, -2.0)),
    "hypot at the origin": (lambda m, x, y: m.hypot(x, y), (0.0, 0.0)),
    "prod with a zero": (lambda m, x, y: m.prod(m.stack([x, y, x + 3.0])), (0.0, 2.0)),
    "prod with two zeros": (lambda m, x, y: m.prod(m.stack([x, y])), (0.0, 0.0)),
    "prod of nothing": (lambda m, x, y: m.prod(m.stack([x, y])[:0]) * x, (3.0, 2.0)),
    "asin at 1": (lambda m, x, y: m.asin(x) * y, (1.0, 2.0)),
    "sinh far out": (lambda m, x, y: m.sinh(x) * y, (700.0, 1e-300)),
    "expm1 near 0": (lambda m, x, y: m.expm1(x) * y, (1e-18, 2.0)),
}


@pytest.mark.parametrize("what", SPECIAL)
def test_special_values_as_in_pytorch(what):
    f, at = SPECIAL[what]
    with np.errstate(all="ignore"):
        value, ours = value_and_grad(lambda x, y: f(xp, x, y), (0, 1))(*map(np.float64, at))
    x, y = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in at]
    out = f(torch, x, y)
    out.backward()
    gradients = [0.0 if t.grad is None else t.grad.item() for t in (x, y)]
    if what.startswith("clip at") and gradients[0] == 0.0:  # at a bound, from PyTorch 2.14 on
        gradients[0] = 2.0
    assert_close((value, ours), (out.item(), tuple(gradients)), FLOAT64, what)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_ties_of_max_share_evenly(axes):
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 3.0]])
    t = torch.tensor(x, requires_grad=True)
    torch.amax(t, axes).sum().backward()
    assert_close(grad(lambda x: xp.sum(xp.max(x, axis=axes)))(x), t.grad.numpy(), FLOAT64)


def test_a_negative_base_with_a_real_exponent_has_no_gradient_in_the_exponent():
    with np.errstate(invalid="ignore"):
        slopes = grad(xp.pow, (0, 1))(np.float64(-2.0), np.float64(3.0))
    assert_close(slopes, (np.array(12.0), np.array(np.nan)), FLOAT64)


@pytest.mark.parametrize("ord", [0.5, 1.5, 2, 2.5, 3, 4, np.float64(3)])
@pytest.mark.parametrize("x", [[0.0, 0.0, 0.0], [0.0, 2.0, -3.0], [1.0, 2.0, -3.0]], ids=repr)
def test_norms_have_slope_0_at_0_as_in_pytorch(x, ord):
    norm = lambda x: xp.linalg.vector_norm(x, ord=ord)  # noqa: E731
    peer = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    value = torch.linalg.vector_norm(peer, ord=float(ord))
    value.backward()
    assert_close(norm(np.array(x)), value.item(), FLOAT64)
    assert_close(grad(norm)(np.array(x)), peer.grad.numpy(), FLOAT64)
    for negative in (-1, -2.5):
        with np.errstate(divide="ignore"):
            expected = np.linalg.norm(x, negative)
        assert_close(xp.linalg.vector_norm(np.array(x), ord=negative), expected, FLOAT64)
