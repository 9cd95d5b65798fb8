"""The tests of the rules are tested: every rule is spoiled in every way that applies to it.

A mutant that changes no number on any case is the same function there and does not count; every
other one must be rejected by the checks of ``rule_checks``.
"""

import numpy as np
import pytest
from rule_checks import check_batching, check_vjp, differentiable, subsets
from specs import SPECS

from persample.engine import namespace as xp
from persample.engine.batching import batch_rules
from persample.engine.primitives import apply
from persample.engine.reverse import vjp_rules


def first_along(x, axis=None, keepdims=False):
    """A sum that forgets to sum: the first entry along each axis."""
    x = xp.asarray(x)
    axes = axis if isinstance(axis, tuple) else range(x.ndim) if axis is None else (axis,)
    if 0 in x.shape:
        return xp.sum(x, axis, keepdims)
    return x[tuple([0 if a in axes else slice(None) for a in range(x.ndim)])]


def without_sums(rule):
    def spoiled(*args, **params):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(xp, "sum", first_along)
            return rule(*args, **params)

    return spoiled


def changed(change):
    """Spoil what a rule returns, where ``change`` applies to it."""
    return lambda rule: lambda *args, **params: change(rule(*args, **params))


def flip(axis):
    return changed(lambda x: xp.flip(x, axis=axis) if x.ndim > axis else x)


def untransposed(x):
    """The right numbers in the order of the transposed array."""
    turned = xp.permute_dims(x, tuple(range(x.ndim))[::-1])
    return xp.reshape(turned, x.shape)


def negated(x):
    return x == False if x.dtype == bool else -x  # noqa: E712, elementwise


def first_samples(rule):
    def spoiled(size, batched, *xs, **params):
        pairs = zip(xs, batched, strict=True)
        same = [xp.broadcast_to(x[:1], x.shape) if b else x for x, b in pairs]
        return rule(size, batched, *same, **params)

    return spoiled


def forgetful(rule):
    """Hold the inputs and the output fixed: right to first order."""
    fixed = xp.stop_gradient
    return lambda ct, out, *xs, **p: rule(ct, fixed(out), *map(fixed, xs), **p)


# The first ones change every rule.
VJP_ALWAYS = {
    "sign": changed(lambda x: -x),
    "scale by 1.001": changed(lambda x: x * 1.001),
    "zero": changed(lambda x: x * 0.0),
    "constant added": changed(lambda x: x + 1e-3),
    "cotangent ignored": lambda rule: lambda ct, *args, **p: rule(xp.ones_like(ct), *args, **p),
}
VJP_SOMETIMES = {
    "axis 0 reversed": flip(0),
    "axis 1 reversed": flip(1),
    "transposition missing": changed(untransposed),
    "sum missing": without_sums,
}
BATCH_ALWAYS = {
    "sign": changed(negated),
    "samples reversed": flip(0),
    "first sample for all": changed(lambda x: xp.broadcast_to(x[:1], x.shape)),
    "first sample of each input": first_samples,
}
BATCH_SOMETIMES = {
    "scale by 1.001": changed(lambda x: x if x.dtype.kind != "f" else x * 1.001),
    "axis 1 reversed": flip(1),
    "samples not leading": changed(untransposed),
}


def rejected(check, name):
    """Say whether a check fails on any case of a primitive."""
    for case in SPECS[name]:
        try:
            check(name, case)
        except (AssertionError, ValueError):
            return True
    return False


def vjps(name, i, rule):
    """Return what a rule gives on each case."""
    for case in SPECS[name]:
        xs = case.draw()
        out = apply(name, *xs, **case.params)
        if i < len(xs) and i in differentiable(name, xs):
            w = np.random.default_rng(1).normal(size=out.shape)
            yield rule(w, out, *xs, **case.params)


def batches(name, rule):
    for case in SPECS[name]:
        many, one = case.draw(0, (3,)), case.draw(1)
        for batched in subsets(len(one)):
            xs = [a if b else c for a, c, b in zip(many, one, batched, strict=True)]
            yield rule(3, list(batched), *xs, **case.params)


def alike(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


RULES = [
    (name, i)
    for name, cases in SPECS.items()
    for i in sorted({i for case in cases for i in differentiable(name, case.draw())})
]
# Rules that read an input or the output: a derivative of theirs goes missing with the gradient.
NONLINEAR = {
    *(("exp", 0), ("log", 0), ("log1p", 0), ("tanh", 0), ("sqrt", 0), ("multiply", 0)),
    *(("multiply", 1), ("divide", 0), ("divide", 1), ("power", 0), ("power", 1)),
    *(("einsum", 0), ("einsum", 1), ("logaddexp", 0), ("logaddexp", 1), ("prod", 0)),
    *((name, i) for name in ("atan2", "hypot") for i in (0, 1)),
    *((name, 0) for name in ("sin", "cos", "tan", "asin", "acos", "atan")),
    *((name, 0) for name in ("sinh", "cosh", "asinh", "acosh", "atanh")),
    *((name, 0) for name in ("expm1", "log2", "log10", "cumulative_prod")),
    *(("solve", 0), ("solve", 1), ("cholesky", 0), ("log_abs_det", 0)),
}


@pytest.mark.parametrize(("name", "i"), RULES)
@np.errstate(all="ignore")
def test_every_mutant_of_every_vjp_rule_is_rejected(name, i, monkeypatch):
    rule, count = vjp_rules[name][i], max(len(case.inputs) for case in SPECS[name])

    def noticed(mutant):
        row = [mutant if j == i else vjp_rules[name][j] for j in range(count)]
        with monkeypatch.context() as patch:
            patch.setitem(vjp_rules, name, row)
            return rejected(check_vjp, name)

    for what, mutate in VJP_ALWAYS.items():
        assert noticed(mutate(rule)), what
    for what, mutate in VJP_SOMETIMES.items():
        mutant = mutate(rule)
        assert noticed(mutant) or alike(vjps(name, i, rule), vjps(name, i, mutant)), what
    assert noticed(forgetful(rule)) == ((name, i) in NONLINEAR)


@pytest.mark.parametrize("name", SPECS)
def test_every_mutant_of_every_batch_rule_is_rejected(name, monkeypatch):
    rule = batch_rules[name]
    for what, mutate in (BATCH_ALWAYS | BATCH_SOMETIMES).items():
        mutant = mutate(rule)
        monkeypatch.setitem(batch_rules, name, mutant)
        if not rejected(check_batching, name):
            assert what not in BATCH_ALWAYS
            assert alike(batches(name, rule), batches(name, mutant)), what
