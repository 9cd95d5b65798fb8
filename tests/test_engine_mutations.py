"""The tests of the rules are tested: every rule is spoiled in every way that applies to it.

A mutant that changes no number on any case is the same function there and does not count; every
other one must be rejected by the checks of ``rule_checks``. Survivors are listed by name.
"""

import numpy as np
import pytest
from rule_checks import check_batching, check_vjp, differentiable, subsets
from specs import SPECS

from persample.engine import namespace as xp
from persample.engine import vjps
from persample.engine.batching import batch_rules
from persample.engine.primitives import apply
from persample.engine.reverse import vjp_rules

pytestmark = pytest.mark.slow


def first_along(x, axis=None, keepdims=False):
    """A sum that forgets to sum: the first entry along each axis."""
    x = xp.asarray(x)
    axes = axis if isinstance(axis, tuple) else range(x.ndim) if axis is None else (axis,)
    if 0 in x.shape:
        return xp.sum(x, axis, keepdims)
    return x[tuple([0 if a in axes else slice(None) for a in range(x.ndim)])]


def without_sums(rule):
    """Run the rule with every sum, contraction and scattering replaced by one that forgets."""

    def product(subscripts, x, y):
        letters = sorted(set(subscripts) - set(",->"))
        out = subscripts.split("->")[1]
        lengths = dict(
            zip(subscripts.replace(",", "").split("->")[0], x.shape + y.shape, strict=True)
        )
        if 0 in lengths.values():
            return apply("einsum", x, y, subscripts=subscripts)
        # Keep the letters that should be summed, then take their first entry.
        a, b = subscripts.split("->")[0].split(",")
        spread = []
        for names, z in ((a, x), (b, y)):
            z = xp.permute_dims(z, np.argsort(np.array(list(names), dtype="U1")).tolist())
            z = xp.reshape(z, tuple([lengths[c] if c in names else 1 for c in letters]))
            spread.append(z)
        full = xp.multiply(*spread)
        kept = [c for c in letters if c in out]
        full = full[tuple([slice(None) if c in out else 0 for c in letters])]
        return xp.permute_dims(full, tuple([kept.index(c) for c in out]))

    def assign(name, *inputs, **params):
        if name != "scatter_add":
            return apply(name, *inputs, **params)
        many = apply(name, np.ones(inputs[0].shape), inputs[1], **params)
        return apply(name, *inputs, **params) / np.where(many == 0, 1.0, many)

    def spoiled(*args, **params):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(xp, "sum", first_along)
            patch.setattr(vjps, "product", product)
            patch.setattr(vjps, "apply", assign)
            return rule(*args, **params)

    return spoiled


def changed(change):
    """Spoil what a rule returns, where ``change`` applies to it."""
    return lambda rule: lambda *args, **params: change(rule(*args, **params))


def flip(axis):
    def reverse_axis(x):
        if x.ndim <= axis:
            return x
        return x[tuple([slice(None, None, -1 if a == axis else None) for a in range(x.ndim)])]

    return reverse_axis


def untransposed(x):
    """The right numbers in the order of the transposed array."""
    turned = xp.permute_dims(x, tuple(range(x.ndim))[::-1])
    return xp.reshape(turned, x.shape)


def swapped(x):
    """Swap the last two axes if they have one length."""
    square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
    return xp.matrix_transpose(x) if square else x


VJP_MUTATIONS = {
    "sign": changed(lambda x: -x),
    "scale by 1.001": changed(lambda x: x * 1.001),
    "half": changed(lambda x: x * 0.5),
    "zero": changed(lambda x: x * 0.0),
    "constant added": changed(lambda x: x + 1e-3),
    "axis 0 reversed": changed(flip(0)),
    "axis 1 reversed": changed(flip(1)),
    "axis 2 reversed": changed(flip(2)),
    "transposition missing": changed(untransposed),
    "last axes swapped": changed(swapped),
    "sum missing": without_sums,
    "gradient stopped in inputs": lambda rule: (
        lambda ct, out, *xs, **p: rule(
            ct, xp.stop_gradient(out), *[xp.stop_gradient(x) for x in xs], **p
        )
    ),
    "cotangent ignored": lambda rule: lambda ct, *args, **p: rule(xp.ones_like(ct), *args, **p),
}


def negated(x):
    return x == False if x.dtype == bool else -x  # noqa: E712, elementwise


BATCH_MUTATIONS = {
    "sign": changed(negated),
    "scale by 1.001": changed(lambda x: x if x.dtype.kind != "f" else x * 1.001),
    "samples reversed": changed(flip(0)),
    "first sample for all": changed(lambda x: xp.broadcast_to(x[:1], x.shape)),
    "second sample last": changed(lambda x: x[np.array([0, 1, 1])]),
    "axis 1 reversed": changed(flip(1)),
    "axis 2 reversed": changed(flip(2)),
    "samples not leading": changed(lambda x: xp.reshape(untransposed(x), x.shape)),
    "first sample of each input": lambda rule: (
        lambda size, batched, *xs, **p: rule(
            size,
            batched,
            *[
                xp.broadcast_to(x[:1], x.shape) if b else x
                for x, b in zip(xs, batched, strict=True)
            ],
            **p,
        )
    ),
}


def outcome(check, name):
    """Return what a check says of a primitive on all its cases: None if nothing."""
    for case in SPECS[name]:
        try:
            check(name, case)
        except AssertionError as error:
            return error
    return None


def differs_somewhere(name, i, rule, mutant):
    """Say whether a mutant computes another number, or has another derivative, on some case."""
    for case in SPECS[name]:
        xs = case.draw()
        out = apply(name, *xs, **case.params)
        if i >= len(xs) or i not in differentiable(name, xs):
            continue
        w = np.random.default_rng(1).normal(size=out.shape)
        a, b = rule(w, out, *xs, **case.params), mutant(w, out, *xs, **case.params)
        if np.shape(a) != np.shape(b) or np.any(a != b):
            return True
    return False


RULES = [
    (name, i)
    for name, cases in SPECS.items()
    for i in sorted({i for case in cases for i in differentiable(name, case.draw())})
]


def spoiled_row(name, i, mutant):
    """Return the row with rule i replaced (concat's row answers any number)."""
    count = max(len(case.inputs) for case in SPECS[name])
    return [mutant if j == i else vjp_rules[name][j] for j in range(count)]


@np.errstate(all="ignore")
def test_every_mutant_of_every_vjp_rule_is_rejected(monkeypatch):
    survivors, killed, alike = [], 0, []
    for name, i in RULES:
        rule = vjp_rules[name][i]
        for what, mutate in VJP_MUTATIONS.items():
            mutant = mutate(rule)
            second_order_only = what == "gradient stopped in inputs"
            if not second_order_only and not differs_somewhere(name, i, rule, mutant):
                alike.append((name, i, what))
                continue
            with monkeypatch.context() as patch:
                patch.setitem(vjp_rules, name, spoiled_row(name, i, mutant))
                rejected = outcome(check_vjp, name)
            if rejected is not None:
                killed += 1
            elif second_order_only:
                alike.append((name, i, what))  # checked one by one below
            else:
                survivors.append((name, i, what))
    assert not survivors, f"{len(survivors)} mutants survive: {survivors}"
    print(f"{len(RULES)} rules, {killed} mutants rejected, {len(alike)} equal to the rule")
    assert killed > 250, killed
    always = {"sign", "scale by 1.001", "half", "zero", "constant added", "cotangent ignored"}
    assert not [entry for entry in alike if entry[2] in always]


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


def test_a_rule_that_forgets_its_own_derivative_is_rejected_exactly_if_it_has_one(monkeypatch):
    mutate = VJP_MUTATIONS["gradient stopped in inputs"]
    caught = set()
    for name, i in RULES:
        with monkeypatch.context() as patch:
            patch.setitem(vjp_rules, name, spoiled_row(name, i, mutate(vjp_rules[name][i])))
            if outcome(check_vjp, name) is not None:
                caught.add((name, i))
    assert caught == NONLINEAR


def test_missing_sums_are_among_the_mutants():
    """The sweep would be empty where a mutation never applies: these rules must sum."""
    for name, i in [("einsum", 0), ("einsum", 1), ("broadcast_to", 0), ("max", 0), ("take", 0)]:
        rule = vjp_rules[name][i]
        with np.errstate(all="ignore"):
            assert differs_somewhere(name, i, rule, without_sums(rule)), name


def test_every_mutant_of_every_batch_rule_is_rejected(monkeypatch):
    survivors, killed, alike = [], 0, []
    for name, rule in list(batch_rules.items()):
        for what, mutate in BATCH_MUTATIONS.items():
            mutant = mutate(rule)
            same = True
            for case in SPECS[name]:
                many, one = case.draw(0, (3,)), case.draw(1)
                for batched in subsets(len(one)):
                    xs = [a if b else c for a, c, b in zip(many, one, batched, strict=True)]
                    args = (3, list(batched), *xs)
                    same &= np.array_equal(
                        rule(*args, **case.params), mutant(*args, **case.params)
                    )
            if same:
                alike.append((name, what))
                continue
            with monkeypatch.context() as patch:
                patch.setitem(batch_rules, name, mutant)
                if outcome(check_batching, name) is None:
                    survivors.append((name, what))
                else:
                    killed += 1
    assert not survivors, f"{len(survivors)} mutants survive: {survivors}"
    print(f"{len(batch_rules)} rules, {killed} mutants rejected, {len(alike)} equal to the rule")
    assert killed > 150, killed
    always = {"sign", "samples reversed", "first sample for all", "first sample of each input"}
    assert not [entry for entry in alike if entry[1] in always]
