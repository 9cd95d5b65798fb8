"""CALLS: for each function of the Array API, how hypothesis draws a call of it.

A row gives (arguments, keywords) within what the standard defines: dtypes that it promotes,
shapes that broadcast, axes that exist; special values and empty arrays among them.
"""

import array_api_strict as strict
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, from_dtype

FLOATS = ["float32", "float64"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = FLOATS + INTS
ANY = [*REAL, "bool"]
flag = st.booleans()
any_shape = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
no_empty_shape = array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)


@st.composite
def array(draw, dtypes=FLOATS, shape=any_shape, low=None, high=None):
    """One array: of all values that the dtype has, or of those between two bounds."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    limits = {}
    if low is not None and dtype.kind != "b":
        limits = {"min_value": max(low, 0) if dtype.kind == "u" else low, "max_value": high}
    if dtype.kind == "f":
        limits["allow_subnormal"] = False
    return draw(arrays(dtype, shape, elements=from_dtype(dtype, **limits)))


@st.composite
def pair(draw, dtypes=FLOATS, same=False, low=None, high=None):
    """Two arrays that broadcast, of dtypes that the standard promotes; or one and a number."""
    shape = draw(any_shape)
    x = draw(array(dtypes, shape, low, high))
    if draw(st.integers(0, 5)) == 0 and x.dtype.kind in "fi":
        return (x, 2.0 if x.dtype.kind == "f" else 2), {}
    other = tuple(draw(st.sampled_from([n, 1])) for n in shape)[draw(st.integers(0, len(shape))) :]
    y = draw(array([x.dtype.name] if same else dtypes, other, low, high))
    try:
        strict.result_type(strict.asarray(x), strict.asarray(y))
    except TypeError:
        assume(False)
    return ((x, y) if draw(flag) else (y, x)), {}


def an_axis(x):
    return st.integers(-x.ndim, x.ndim - 1)


@st.composite
def reduction(draw, dtypes=REAL, shape=any_shape, **keywords):
    """An array of small numbers, so that no sum overflows; axes; keepdims."""
    x = draw(array(dtypes, shape, -4, 4))
    some = st.lists(st.integers(0, x.ndim - 1), unique=True).map(tuple) if x.ndim else st.none()
    axis = draw(st.none() | some | an_axis(x) if x.ndim else st.none())
    drawn = {name: draw(value) for name, value in keywords.items()}
    return (x,), {"axis": axis, "keepdims": draw(flag), **drawn}


@st.composite
def along(draw, dtypes=REAL, min_side=1, **keywords):
    """An array with an axis, and that axis."""
    shape = array_shapes(min_dims=1, max_dims=3, min_side=min_side, max_side=4)
    x = draw(array(dtypes, shape, -4, 4))
    drawn = {name: draw(value) for name, value in keywords.items()}
    return (x,), {"axis": draw(an_axis(x)), **drawn}


def alone(strategy):
    return strategy.map(lambda x: ((x,), {}))


def together(*strategies):
    return st.tuples(*strategies).map(lambda xs: (xs, {}))


def using(strategy, call):
    """Draw a value and turn it into (arguments, keywords)."""
    return strategy.map(call)


def keyword(strategy, name, values):
    """Draw an array, and one of several values for a keyword."""
    return st.tuples(strategy, st.sampled_from(values)).map(lambda c: ((c[0],), {name: c[1]}))


def matrices(n, m, dtypes=FLOATS):
    batch = array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=2)
    return batch.flatmap(lambda b: array(dtypes, (*b, n, m), -2, 2))


def regular():
    """Matrices far from singular."""
    return matrices(3, 3).map(lambda x: x + 9 * np.eye(3, dtype=x.dtype))


@st.composite
def picked(draw, whole=False):
    """Indices along an axis: a few for all, or for ``whole`` some for each place."""
    (x,), keywords = draw(along())
    shape = list(x.shape) if whole else [0]
    shape[keywords["axis"] if whole else 0] = draw(st.integers(1, 4))
    places = st.integers(0, x.shape[keywords["axis"]] - 1)
    return (x, draw(arrays(np.int64, tuple(shape), elements=places))), keywords


@st.composite
def products(draw):
    n, k, m = [draw(st.integers(0, 3)) for _ in range(3)]
    dtype = [draw(st.sampled_from(["float64", "int64"]))]
    left, right = draw(st.sampled_from([((), ()), ((2,), ()), ((1,), (3,)), ((2, 1), (3,))]))
    x = array(dtype, draw(st.sampled_from([(*left, n, k), (k,)])), -4, 4)
    y = array(dtype, draw(st.sampled_from([(*right, k, m), (k,)])), -4, 4)
    return (draw(x), draw(y)), {}


@st.composite
def sorted_and_sought(draw):
    few = st.integers(-3, 3)
    x = np.sort(draw(arrays(np.float64, st.integers(0, 5), elements=few)))
    y = draw(arrays(np.float64, any_shape, elements=few))
    return (x, y), {"side": draw(st.sampled_from(["left", "right"]))}


@st.composite
def shifted_bits(draw):
    x = draw(array(["int8", "int32", "int64", "uint8"], low=-9, high=9))
    return (x, draw(arrays(x.dtype, x.shape, elements=st.integers(0, 3)))), {}


@st.composite
def powers(draw):
    (x, y), _ = draw(pair(REAL, same=True, low=-3, high=3))
    assume(np.asarray(y).dtype.kind == "f" or np.all(np.asarray(y) >= 0))
    return (x, y), {}


def every(names, strategy):
    """One strategy for several functions."""
    return dict.fromkeys(names.split(), strategy)


TWO_BY_THREE = array(FLOATS, (2, 3), -8, 8)
NORMS = ["fro", 1, -1, np.inf, -np.inf]
CALLS = {
    **every("exp expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan", alone(array())),
    **every("sinh cosh tanh asinh acosh atanh signbit reciprocal", alone(array())),
    **every("abs negative positive square sign floor ceil trunc round", alone(array(REAL))),
    **every("isfinite isinf isnan", alone(array(REAL))),
    **every("logical_not", alone(array(["bool"]))),
    **every("bitwise_invert", alone(array([*INTS, "bool"]))),
    **every("add subtract multiply maximum minimum less less_equal", pair(REAL)),
    **every("greater greater_equal", pair(REAL)),
    **every("equal not_equal", pair(ANY)),
    **every("divide atan2 hypot copysign nextafter logaddexp", pair()),
    **every("floor_divide remainder", pair(REAL, low=1, high=9)),
    **every("pow", powers()),
    **every("logical_and logical_or logical_xor", pair(["bool"])),
    **every("bitwise_and bitwise_or bitwise_xor", pair([*INTS, "bool"], same=True)),
    **every("bitwise_left_shift bitwise_right_shift", shifted_bits()),
    **every("sum prod", reduction()),
    **every("max min", reduction(REAL, no_empty_shape)),
    **every("all any count_nonzero", reduction(ANY)),
    **every("mean", reduction(FLOATS, no_empty_shape)),
    **every("var std", reduction(FLOATS, no_empty_shape, correction=st.sampled_from([0, 0.5]))),
    **every("argmax argmin", along(keepdims=flag)),
    **every("argsort sort", along(descending=flag)),
    **every("cumulative_sum cumulative_prod", along(include_initial=flag)),
    **every("diff", along(min_side=2, n=st.integers(0, 2))),
    **every("flip unstack expand_dims", along(ANY)),
    **every("roll", using(along(REAL), lambda c: ((c[0][0], -2), c[1]))),
    **every("repeat", using(along(ANY), lambda c: ((c[0][0], 2), c[1]))),
    **every("tile", using(array(ANY), lambda x: ((x, (2, 1, 3)), {}))),
    **every("take", picked()),
    **every("take_along_axis", picked(whole=True)),
    **every("moveaxis", using(along(ANY), lambda c: ((c[0][0], c[1]["axis"], 0), {}))),
    **every("permute_dims", using(array(ANY), lambda x: ((x, tuple(range(x.ndim))[::-1]), {}))),
    **every("squeeze", using(array(ANY), lambda x: ((x[None, ..., None], (0, x.ndim + 1)), {}))),
    **every("reshape", using(array(ANY), lambda x: ((x, (-1,) if x.size else x.shape[::-1]), {}))),
    **every("concat stack", using(along(ANY), lambda c: (([c[0][0]] * 2,), c[1]))),
    **every("matrix_transpose", alone(matrices(2, 3))),
    **every("tril triu", keyword(matrices(2, 3), "k", [-3, -1, 0, 1, 4])),
    **every("broadcast_to", using(array(ANY), lambda x: ((x, (2, *x.shape)), {}))),
    **every("broadcast_arrays", pair(ANY).filter(lambda c: hasattr(c[0][1], "shape"))),
    **every("meshgrid", together(*[array(["float64"], (n,)) for n in (2, 3, 1)])),
    **every("clip", using(array(REAL), lambda x: ((x, 1, 3), {}))),
    **every("where", using(pair(REAL), lambda c: ((c[0][0] > c[0][1], *c[0]), {}))),
    **every("astype", using(array(REAL, low=0, high=9), lambda x: ((x, np.dtype("i2")), {}))),
    **every("searchsorted", sorted_and_sought()),
    **every("isin", pair(["int8"]).filter(lambda c: hasattr(c[0][1], "shape"))),
    **every("matmul", products()),
    **every("vecdot", together(*[array(["float64"], s, -8, 8) for s in ((2, 3), (4, 1, 3))])),
    **every("tensordot", together(TWO_BY_THREE, array(["float64"], (2, 3, 2), -8, 8))),
    **every("zeros_like ones_like", alone(array(ANY))),
    **every("full_like", using(array(REAL), lambda x: ((x, 3), {}))),
    **every("linalg.outer", together(array(FLOATS, (2,), -9, 9), array(FLOATS, (3,), -9, 9))),
    **every("linalg.diagonal linalg.trace", keyword(matrices(3, 4), "offset", range(-4, 6))),
    **every(
        "linalg.matrix_norm",
        using(
            st.tuples(matrices(2, 3), st.sampled_from(NORMS), flag),
            lambda c: (c[:1], {"ord": c[1], "keepdims": c[2]}),
        ),
    ),
    **every(
        "linalg.vector_norm",
        reduction(FLOATS, no_empty_shape, ord=st.sampled_from([0, 1, 2, 3, np.inf, -np.inf])),
    ),
    **every("linalg.cross", together(TWO_BY_THREE, TWO_BY_THREE)),
    **every("linalg.det linalg.inv linalg.slogdet", alone(regular())),
    **every(
        "linalg.matrix_power",
        using(st.tuples(regular(), st.integers(-2, 3)), lambda c: (c, {})),
    ),
    **every("linalg.cholesky", using(regular(), lambda x: ((x + x.mT,), {"upper": True}))),
    **every(
        "linalg.solve",
        together(regular(), matrices(3, 2)).filter(lambda c: c[0][0].dtype == c[0][1].dtype),
    ),
}
