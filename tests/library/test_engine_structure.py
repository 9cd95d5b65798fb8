"""The engine's rules use primitives only, and the primitives' kinds are right."""

import functools

import numpy as np
import pytest

from persample.engine import jit
from persample.engine.batching import batch_rules
from persample.engine.core import ELEMENTWISE, OTHER, VIEW
from persample.engine.primitives import PRIMITIVES, apply
from persample.engine.reverse import vjp_rules
from support.specs import CASE_IDS, CASES, differentiable, subsets
from support.tolerances import FLOAT64, assert_close

every_case = pytest.mark.parametrize(("name", "case"), CASES, ids=CASE_IDS)


def runs_by_primitives_alone(f, first, second):
    """Trace ``f`` on some arrays; check that its program is right on others.

    Computations of ``f`` outside primitives would be fixed at tracing, or raise.
    """
    compiled = jit(f)
    assert_close(compiled(*first), f(*first), FLOAT64)
    assert_close(compiled(*second), f(*second), FLOAT64)
    assert compiled.traces == 1


@every_case
@np.errstate(all="ignore")
def test_rules_compute_by_primitives_alone(name, case):
    draws = [case.draw(0), case.draw(1)]
    outs = [apply(name, *xs, **case.params) for xs in draws]
    first, second = [[0.5 * out, out, *xs] for out, xs in zip(outs, draws, strict=True)]
    for rule in [vjp_rules[name][i] for i in differentiable(name, draws[0])]:
        runs_by_primitives_alone(functools.partial(rule, **case.params), first, second)
    single, first, second = case.draw(9), case.draw(0, (3,)), case.draw(1, (3,))
    for batched in subsets(len(single))[:3]:
        mixed = [
            [x if b else y for x, y, b in zip(xs, single, batched, strict=True)]
            for xs in (first, second)
        ]
        rule = functools.partial(batch_rules[name], 3, list(batched), **case.params)
        runs_by_primitives_alone(rule, *mixed)


@every_case
def test_the_kind_of_a_primitive_says_what_its_result_is_made_of(name, case):
    xs, kind = case.draw(), PRIMITIVES[name].kind
    out = apply(name, *xs, **case.params)
    assert kind in (ELEMENTWISE, VIEW, OTHER)
    assert kind == VIEW or not any(np.shares_memory(out, x) for x in xs)
    if kind == VIEW and out.size:
        assert np.shares_memory(out, xs[0])
    if kind != ELEMENTWISE:
        return
    assert out.shape == xs[0].shape
    for place in np.ndindex(out.shape):  # each element from those in the same place alone
        alone = apply(name, *[x[place] for x in xs], **case.params)
        np.testing.assert_array_max_ulp(np.float64(alone), np.float64(out[place]), 2)
