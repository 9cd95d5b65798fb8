"""SPECS maps each primitive to a list of test cases.

The input domains of NumPy's ufuncs are in UFUNCS, for the primitive and for the NumPy function of
the same name.

A case has the parameters and, for each input, a domain without kinks and poles. The tests of the
rules, of their mutants and of the transforms all use them.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from persample.engine.primitives import PRIMITIVES
from persample.engine.reverse import vjp_rules


@dataclass(frozen=True)
class Input:
    """The shape of an input, and the function ``draw(rng, shape)`` that returns a random array."""

    shape: tuple
    draw: Callable


@dataclass(frozen=True)
class Example:
    """Inputs and parameters of one call of a primitive."""

    inputs: tuple
    params: dict = field(default_factory=dict)

    def draw(self, seed: int = 0, batch: tuple = ()) -> list:
        """Return a random array for each input, with the axes ``batch`` before its own."""
        rng = np.random.default_rng(seed)
        return [x.draw(rng, batch + x.shape) for x in self.inputs]


def real(*shape):
    return Input(shape, lambda rng, s: rng.uniform(-1.5, 1.5, s))


def positive(*shape):
    return Input(shape, lambda rng, s: rng.uniform(0.5, 2.0, s))


def nonzero(*shape):
    return Input(shape, lambda rng, s: rng.uniform(0.4, 1.6, s) * rng.choice([-1.0, 1.0], s))


def spaced(offset, *shape):
    """Return an Input of 0, 0.1, 0.2, ... in random order, plus ``offset``: no ties."""

    def draw(rng, s):
        return 0.1 * rng.permutation(int(np.prod(s))).reshape(s).astype(float) + offset

    return Input(shape, draw)


def condition(*shape):
    return Input(shape, lambda rng, s: rng.integers(0, 2, s).astype(bool))


def inside(*shape):
    """Return an Input of numbers between -0.8 and 0.8, inside the domain of asin and atanh."""
    return Input(shape, lambda rng, s: rng.uniform(-0.8, 0.8, s))


def above_one(*shape):
    return Input(shape, lambda rng, s: rng.uniform(1.2, 2.5, s))


def fractional(*shape):
    """Return an Input of numbers at least 0.2 from any integer, where step functions jump."""
    return Input(shape, lambda rng, s: rng.integers(-3, 3, s) + rng.uniform(0.2, 0.8, s))


def extreme(*shape):
    """Return an Input of numbers, infinities and NaN in a fixed order, randomly scaled."""
    values = [1.5, np.nan, -np.inf, 0.5, np.inf, -2.0]
    return Input(shape, lambda rng, s: np.resize(values, s) * rng.uniform(0.5, 1.0, s))


def remote(*shape):
    """Return an Input of numbers whose quotient by ``about_one`` is not near an integer."""
    return Input(shape, lambda rng, s: rng.integers(-3, 3, s) + rng.uniform(0.45, 0.55, s))


def about_one(*shape):
    return Input(shape, lambda rng, s: rng.uniform(0.95, 1.05, s))


def few(*shape):
    """Return an Input of integers from 0 to 3, so that many are equal."""
    return Input(shape, lambda rng, s: rng.integers(0, 4, s))


def with_zeros(*shape):
    """Return an Input of non-negative numbers, about a third of them zero."""
    return Input(shape, lambda rng, s: rng.uniform(0.5, 1.5, s) * rng.integers(0, 3, s).clip(0, 1))


def invertible(*shape):
    """Return an Input of square matrices far from singular."""
    return Input(shape, lambda rng, s: rng.uniform(-0.5, 0.5, s) + 2.0 * np.eye(s[-1]))


def definite(*shape):
    """Return an Input of symmetric positive definite matrices."""

    def draw(rng, s):
        half = rng.uniform(-1.0, 1.0, s)
        return half @ half.mT + np.eye(s[-1])

    return Input(shape, draw)


def index(length, *shape):
    return Input(shape, lambda rng, s: rng.integers(-length, length, s))


def rising(*shape):
    return Input(shape, lambda rng, s: np.cumsum(rng.uniform(0.5, 1.0, s), axis=-1))


def near(*shape):
    return spaced(0.0, *shape)


def apart(*shape):
    """Return an Input of distinct numbers, none of them equal to one of ``near``."""
    return spaced(0.03, *shape)


def case(*inputs, **params):
    return Example(inputs, params)


def product(subscripts, **lengths):
    """Return a case for einsum; most axes differ in length, so that a swap of two raises."""
    lengths = {"i": 2, "j": 3, "k": 4, "l": 5, "b": 3, "c": 2, **lengths}
    operands = subscripts.split("->")[0].split(",")
    return case(*[real(*[lengths[a] for a in o]) for o in operands], subscripts=subscripts)


PRODUCTS = [
    *("i,i->", "ij,j->i", "j,ji->i", "ji,j->i", "j,ij->i", "ij,jk->ik", "ij,jk->ki"),
    *("ji,jk->ik", "ij,kj->ik", "ji,kj->ki", "i,j->ij", "i,j->ji", "i,i->i", ",->", ",i->i"),
    *("ij,->ij", "ij,->ji", "ij,ij->ij", "ij,ji->ij", "ij,ij->", "ij,ji->", "ijk,jk->i"),
    *("ijk,kj->i", "ijk,ij->k", "ijk,jkl->il", "ijk,ljk->li", "b,bi->bi", "bi,bj->bij"),
    *("bi,bj->bji", "bi,bi->b", "bij,bj->bi", "bji,bj->bi", "bj,bji->bi", "bj,bij->bi"),
    *("bij,bjk->bik", "bij,bkj->bik", "bji,bjk->bki", "bij,bjk->bki", "ib,bj->bij"),
    *("bi,ij->bj", "ij,bj->bi", "bij,jk->bik", "bcij,bcjk->bcik", "bcij,bjk->bcik"),
    *("ibj,bjk->ibk", "bijk,bjk->bi", "bi,bj->ij", "bij,bij->ij", "bci,bcj->ij"),
]

NEGATIVE_STEPS = ((2, None, -1), (0, 3, 2))

# Ufuncs by what they take.
UFUNCS = {
    (real,): "negative positive conjugate exp expm1 sin cos arctan sinh cosh tanh arcsinh square",
    (positive,): "log log1p log2 log10 sqrt",
    (nonzero,): "absolute sign",
    (inside,): "tan arcsin arccos arctanh",
    (above_one,): "arccosh",
    (fractional,): "floor ceil trunc",
    (extreme,): "isfinite isinf isnan signbit",
    (few,): "logical_not invert",
    (real, real): "add subtract multiply nextafter logaddexp",
    (real, nonzero): "divide copysign",
    (nonzero, nonzero): "arctan2 hypot",
    (positive, real): "power",
    (near, apart): "maximum minimum less less_equal greater",
    (remote, about_one): "remainder floor_divide",
    (few, few): "greater_equal equal not_equal left_shift right_shift bitwise_and bitwise_or"
    " bitwise_xor logical_and logical_or logical_xor",
}
DOMAINS = {name: domains for domains, names in UFUNCS.items() for name in names.split()}


def ufunc(name):
    """Return the test cases of the primitive ``name``, for which ``np.name`` is a ufunc."""
    domains = DOMAINS[getattr(np, name).__name__]
    return [case(*[domain(*shape) for domain in domains]) for shape in ((2, 3), (), (0, 2))]


SPECS = {
    **{name: ufunc(name) for name in PRIMITIVES if isinstance(getattr(np, name, 0), np.ufunc)},
    "stop_gradient": [case(real(2, 3)), case(real())],
    "round": [case(fractional(2, 3)), case(few(4))],
    "astype": [case(real(2, 3), dtype=np.dtype("d")), case(index(5, 3), dtype=np.dtype("f"))],
    "where": [case(condition(*s), real(*s), real(*s)) for s in ((2, 3), (), (7,))],
    "einsum": [*map(product, PRODUCTS), product("ij,jk->ik", j=0), product("i,i->", i=0)],
    "sum": [case(real(2, 3, 4), axes=(0, 2)), case(real(0, 3), axes=(0,))],
    **dict.fromkeys(
        ("max", "min"), [case(spaced(0.0, 2, 3, 4), axes=(0, 2)), case(spaced(0.0, 5), axes=(0,))]
    ),
    "prod": [
        case(nonzero(2, 3, 2), axes=(0, 2)),
        case(nonzero(5), axes=(0,)),
        case(real(0, 3), axes=(0,)),
        case(with_zeros(3, 4), axes=(1,)),
    ],
    "cumulative_sum": [case(real(2, 3, 4), axis=1), case(real(3, 0), axis=1)],
    "cumulative_prod": [
        case(nonzero(2, 3, 4), axis=1),
        case(with_zeros(4, 3), axis=0),
        case(real(3, 0), axis=1),
    ],
    **dict.fromkeys(("argmax", "argmin"), [case(spaced(0.0, 2, 3, 4), axis=1)]),
    "argsort": [case(spaced(0.0, 5), axis=0), case(few(2, 6, 2), axis=1)],
    "solve": [case(invertible(3, 3), real(3, 2)), case(invertible(2, 4, 4), real(2, 4, 1))],
    "cholesky": [case(definite(3, 3)), case(definite(2, 4, 4)), case(definite(1, 1))],
    "log_abs_det": [case(invertible(3, 3)), case(invertible(2, 4, 4)), case(invertible(1, 1))],
    "sign_of_det": [case(real(3, 3)), case(real(6, 2, 2))],
    "reshape": [
        case(real(2, 6), shape=(3, 4)),
        case(real(2, 3), shape=(2, 1, 3)),
        case(real(1, 3, 1), shape=(3,)),
        case(real(), shape=(1, 1)),
        case(real(1), shape=()),
        case(real(0, 3), shape=(3, 0)),
    ],
    "permute_dims": [case(real(2, 3), axes=(1, 0)), case(real(2, 2, 3, 2), axes=(1, 3, 0, 2))],
    "broadcast_to": [
        case(real(3), shape=(2, 3)),
        case(real(2, 1), shape=(2, 3)),
        case(real(), shape=(2, 2)),
        case(real(1, 3, 1), shape=(2, 2, 3, 4)),
        case(real(1), shape=(0,)),
    ],
    "concat": [
        case(real(2, 3), real(2, 1), real(2, 2), axis=1),
        case(real(3), axis=0),
        case(real(0, 2), real(2, 2), axis=0),
    ],
    "slice": [
        case(real(5), slices=((1, 4, 1),)),
        case(real(3, 5), slices=NEGATIVE_STEPS),
        case(real(3, 4), slices=((0, None, -1), (3, None, -2))),
        case(real(3, 4), slices=((0, 0, 1), (0, 4, 1))),
    ],
    "pad": [
        case(real(3), shape=(5,), slices=((1, 4, 1),)),
        case(real(3, 2), shape=(3, 5), slices=NEGATIVE_STEPS),
        case(real(1, 2), shape=(3, 4), slices=((0, None, -1), (3, None, -2))),
    ],
    "take": [
        case(real(4), index(4), batch_dims=0),
        case(real(4, 2), index(4, 3, 2), batch_dims=0),
        case(real(2, 4, 3), index(4, 2, 5), batch_dims=1),
        case(real(2, 3, 4, 2), index(4, 2, 3, 6), batch_dims=2),
    ],
    "scatter_add": [
        case(real(), index(4), length=4, batch_dims=0),
        case(real(3, 2, 2), index(4, 3, 2), length=4, batch_dims=0),
        case(real(2, 5, 3), index(4, 2, 5), length=4, batch_dims=1),
        case(real(2, 3, 6, 2), index(4, 2, 3, 6), length=4, batch_dims=2),
    ],
}

# For parametrising a test: (name, case) pairs and what to call them.
CASES = [(name, c) for name, cases in SPECS.items() for c in cases]
CASE_IDS = [
    f"{name}-{'x'.join(str(x.shape) for x in c.inputs)}-{c.params}".replace(" ", "")
    for name, c in CASES
]


def differentiable(name, xs):
    """Return the indices of the floating-point inputs for which a primitive has a VJP rule."""
    rules = vjp_rules[name]
    return [i for i, x in enumerate(xs) if x.dtype.kind == "f" and rules[i] is not None]


def subsets(n):
    """Return all tuples of n bools except the all-False one: which of n inputs are batched."""
    return [b for b in itertools.product([True, False], repeat=n) if any(b)]
