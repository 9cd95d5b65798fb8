"""What decides whether a rule is right: finite differences for VJPs, a loop for batching.

Each check raises AssertionError on a wrong rule; test_engine_rules.py shows that it does.
"""

import itertools

import numpy as np
from tolerances import FINITE_DIFFERENCES as DIFFERENCES
from tolerances import FLOAT64, assert_close

from persample.engine import grad, vmap
from persample.engine import namespace as xp
from persample.engine.batching import batch_rules
from persample.engine.primitives import apply
from persample.engine.reverse import vjp_rules

STEP = 1e-5


def slope(f, xs, direction):
    """Return the derivative of the scalar f at xs along ``direction``, by central differences."""
    ahead = f(*[x + STEP * d for x, d in zip(xs, direction, strict=True)])
    behind = f(*[x - STEP * d for x, d in zip(xs, direction, strict=True)])
    return (ahead - behind) / (2 * STEP)


def differentiable(name, xs):
    """Return the numbers of the inputs that have a VJP rule and are floating-point."""
    rules = vjp_rules[name]
    return [i for i, x in enumerate(xs) if x.dtype.kind == "f" and rules[i] is not None]


def check_vjp(name, case, seed=0):
    """Check every rule of a primitive on a case to second order, in a random direction."""
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
        assert_close(np.sum(ct * v), slope(value, [xs[i]], [v]), DIFFERENCES, f"{name}, input {i}")

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
            exact, slope(pulled, at, along), DIFFERENCES, f"{name}, input {i}, second order"
        )


def subsets(n):
    """Return every way to batch some of n inputs, at least one."""
    return [b for b in itertools.product([True, False], repeat=n) if any(b)]


def check_batching(name, case, size=3, seed=0):
    """Check the batch rule on a case, for every choice of batched inputs, against a loop."""
    batches, single = case.draw(seed, (size,)), case.draw(seed + 1)
    for batched in subsets(len(single)):
        args = [x if b else y for x, y, b in zip(batches, single, batched, strict=True)]
        loop = [
            apply(
                name,
                *[x[n] if b else x for x, b in zip(args, batched, strict=True)],
                **case.params,
            )
            for n in range(size)
        ]
        rows = batch_rules[name](size, list(batched), *args, **case.params)
        assert rows.dtype == loop[0].dtype, f"{name}: dtype {rows.dtype}, not {loop[0].dtype}"
        assert_close(rows, np.stack(loop), FLOAT64, f"{name}, batched {batched}")
        axes = tuple(0 if b else None for b in batched)
        mapped = vmap(lambda *xs: apply(name, *xs, **case.params), axes)(*args)
        assert_close(mapped, np.stack(loop), FLOAT64, f"{name}, vmap {batched}")
