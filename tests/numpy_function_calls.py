"""CALLS: how the functions of NumPy are called on arrays: a function of them, and what to draw.

The domains lie away from kinks, ties and poles, so that finite differences may be taken.
"""

import inspect
from operator import attrgetter

import numpy as np

from .specs import (
    Input,
    about_one,
    above_one,
    condition,
    count,
    definite,
    few,
    fractional,
    index,
    inside,
    invertible,
    nonzero,
    positive,
    real,
    remote,
    spaced,
)


def near(*shape):
    return spaced(0.0, *shape)


def apart(*shape):
    return spaced(0.03, *shape)


def broken(*shape):
    """Numbers of which some are NaN, the first of each row never."""

    def draw(rng, s):
        x = 0.1 * rng.permutation(int(np.prod(s))).reshape(s) - 0.35
        x[..., 1:][rng.uniform(size=x[..., 1:].shape) < 0.3] = np.nan
        return x

    return Input(shape, draw)


def extreme(*shape):
    """Numbers, infinities and NaN in a fixed order, times a number that is drawn."""
    values = [1.5, np.nan, -np.inf, 0.5, np.inf, -2.0]
    return Input(shape, lambda rng, s: np.resize(values, s) * rng.uniform(0.5, 1.0, s))


def rising(*shape):
    return Input(shape, lambda rng, s: np.cumsum(rng.uniform(0.5, 1.0, s), axis=-1))


# Functions of one array, called alone, with an axis, and with what else they take.
REDUCTIONS = {
    real: "sum mean var std average cumsum cumulative_sum",
    near: "max min amax amin ptp argmax argmin sort argsort median",
    few: "all any count_nonzero mean average max prod",
    nonzero: "prod cumprod cumulative_prod linalg.norm",
    broken: "nansum nanprod nancumsum nancumprod nanmean nanvar nanstd nanmax nanmin",
}
HALF = [True, False, True, True, False]
ARGUMENTS = [
    ("sum prod all any mean", {"axis": 1, "where": HALF}),
    ("max min", {"axis": 1, "where": HALF, "initial": -9.0}),
    ("sum prod max min nansum", {"axis": 0, "initial": 0.42}),
    ("var std nanvar nanstd", {"axis": 1, "ddof": 1}),
    ("var std", {"axis": 1, "correction": 1}),
    ("cumulative_sum cumulative_prod", {"axis": 0, "include_initial": True}),
]


def reductions():
    for domain, names in REDUCTIONS.items():
        for name in names.split():
            f = attrgetter(name)(np)
            taken = inspect.signature(f).parameters
            more = [keywords for those, keywords in ARGUMENTS if name in those.split()]
            more += [{}] * ("cumulative" not in name)
            more += [{"axis": -1, "keepdims": True}] * ("keepdims" in taken)
            for given in [{"axis": 1}, *more]:
                yield lambda x, f=f, given=given: f(x, **given), domain(3, 5)


# Ufuncs by their domains.
ONE = {
    real: "negative positive conjugate exp expm1 exp2 sin cos arctan sinh cosh tanh arcsinh "
    "square degrees radians rad2deg deg2rad real imag angle isreal iscomplex isrealobj sinc",
    positive: "log log1p log2 log10 sqrt",
    nonzero: "absolute fabs cbrt reciprocal sign angle",
    inside: "tan arcsin arccos arctanh",
    above_one: "arccosh",
    fractional: "floor ceil trunc rint modf fix round",
    extreme: "isfinite isinf isnan signbit isposinf isneginf",
    few: "logical_not invert rint",
}
TWO = {
    (real, real): "add subtract multiply nextafter logaddexp logaddexp2",
    (real, nonzero): "divide copysign",
    (nonzero, nonzero): "arctan2 hypot heaviside",
    (positive, real): "power float_power",
    (near, apart): "maximum minimum fmax fmin less less_equal greater",
    (remote, about_one): "remainder fmod floor_divide divmod",
    (few, few): "equal not_equal left_shift right_shift bitwise_and bitwise_or bitwise_xor "
    "logical_and logical_or logical_xor greater_equal fmax isclose isin",
    (few, count): "fmod floor_divide",
    (real, few): "ldexp",
}


def elementwise():
    for domain, names in ONE.items():
        for f in [getattr(np, name) for name in names.split()]:
            yield lambda x, f=f: f(x), domain(3, 5)
            yield lambda x, f=f: f(x), domain()
    for (left, right), names in TWO.items():
        for f in [getattr(np, name) for name in names.split()]:
            yield lambda x, y, f=f: f(x, y), left(3, 5), right(5)
            yield lambda x, y, f=f: f(x, y), left(2, 1), right(1, 3)


X, V, CUBE = real(3, 5), real(4), real(2, 3, 4)
OTHERS = [
    # reductions
    (lambda x: np.sum(x, axis=(0, 2), keepdims=True), CUBE),
    (lambda x, c: np.sum(x, axis=0, where=c), X, condition(3, 5)),
    (lambda x: np.sum(x, 0, np.float32), X),
    (lambda c: np.sum(c), condition(7)),
    (lambda x: np.max(x, axis=0, initial=2.5), few(3, 5)),
    (lambda x: np.mean(x, 1, np.float32), few(3, 5)),
    (lambda x: np.var(x, (0, 2), None, None, 2), CUBE),
    (lambda x: np.average(x, 0, returned=True), X),
    (lambda x, w: np.average(x, weights=w), X, positive(3, 5)),
    (lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), X, positive(5)),
    (lambda x, w: np.average(x, axis=0, weights=w, returned=True), X, positive(3)),
    (lambda x, w: np.average(x, axis=1, weights=w), CUBE, positive(3)),
    (lambda x, w: np.average(x, weights=w, returned=True), few(4), count(4)),
    (lambda x: np.cumsum(x, axis=1, dtype=np.float32), X),
    (lambda x: np.cumulative_sum(x), V),
    (lambda x: np.nansum(x), few(3)),
    (lambda x: np.nanstd(x, None, None, None, 1), broken(3, 5)),
    (lambda x: np.nanmax(x, axis=1), few(3, 5)),
    # order
    (lambda x: np.sort(x, None, kind="stable"), near(3, 5)),
    (lambda x: np.argsort(x, axis=0, stable=True), few(3, 5)),
    (lambda x: np.argsort(x, axis=None), near(3, 5)),
    (lambda x: np.quantile(x, 0.3), near(3, 5)),
    (lambda x: np.quantile(x, [0.0, 0.42, 1.0], axis=1), near(3, 5)),
    (lambda x: np.quantile(x, 0.9, axis=(0, 2), keepdims=True), near(2, 3, 4)),
    (lambda x: np.quantile(x, [[0.1, 0.8]], axis=0, keepdims=True), near(3, 5)),
    (lambda x: np.percentile(x, [5, 70.5], axis=1, keepdims=True), near(3, 5)),
    (lambda x: np.median(x, axis=(0, 1), keepdims=True), near(3, 4)),
    (lambda x, v: np.searchsorted(x, v), rising(6), real(2, 3)),
    (lambda v: np.searchsorted([1, 1, 2], v, side="right"), few(5)),
    (lambda v: np.searchsorted(np.array([3.0, 1.0, 2.0]), v, sorter=[1, 2, 0]), positive(4)),
    (lambda x: np.digitize(x, [-1.0, 0.0, 0.7]), real(3, 2)),
    (lambda x: np.digitize(x, np.array([2, 1, 0])), few(6)),
    (lambda x: np.digitize(x, np.array([0, 1, 2]), right=True), few(6)),
    (lambda x: np.digitize(x, np.array([2, 1, 0]), True), few(6)),
    (lambda x, y: np.isin(x, y, invert=True), few(3, 5), few(2)),
    # shapes
    (lambda x: (*np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)), X),
    (lambda x: np.reshape(x, (5, -1)), X),
    (lambda x: np.reshape(x, shape=[1, 15]), X),
    (lambda x: np.ravel(x), X),
    (lambda x: np.resize(x, (4, 2)), X),
    (lambda x: np.resize(x, 7), V),
    (lambda x: np.resize(x, (2, 0)), V),
    (lambda x: np.squeeze(x), real(1, 3, 1)),
    (lambda x: np.squeeze(x, (0, 2)), real(1, 3, 1)),
    (lambda x: np.expand_dims(x, (0, -1)), X),
    (lambda x, y: np.atleast_1d(x, y), real(2, 3), real()),
    (lambda x, y, z: np.atleast_2d(x, y, z), real(2, 3, 1), real(), real(3)),
    (lambda x: np.atleast_3d(x), real(4)),
    (lambda x, y, z: np.atleast_3d(x, y, z), real(2, 3), real(), real(1, 2, 3, 1)),
    (lambda x: np.transpose(x), CUBE),
    (lambda x: np.transpose(x, (1, 2, 0)), CUBE),
    (lambda x: np.moveaxis(x, source=(0, 1), destination=[2, 0]), CUBE),
    (lambda x: np.swapaxes(x, 0, -1), CUBE),
    *[(lambda x, a=a: np.rollaxis(x, *a), CUBE) for a in [(2,), (0, 2), (1, 3), (-1, -2)]],
    (lambda x: np.matrix_transpose(x), CUBE),
    (lambda x: np.linalg.matrix_transpose(x), CUBE),
    (lambda x: np.broadcast_to(x, (2, 3, 5)), X),
    (lambda x: np.broadcast_to(x, 4), real()),
    (lambda x, y: np.broadcast_arrays(x, y), real(3, 1), real(5)),
    (lambda x: np.flip(x), X),
    (lambda x: np.flip(x, axis=(0, 2)), CUBE),
    (lambda x: (np.flipud(x), np.fliplr(x)), X),
    *[(lambda x, k=k: np.rot90(x, k), X) for k in (-1, 0, 1, 2)],
    (lambda x: np.rot90(x, 3, (0, 2)), CUBE),
    (lambda x: np.roll(x, 2), X),
    (lambda x: np.roll(x, (1, 2), axis=(0, 1)), X),
    (lambda x: np.repeat(x, 2), X),
    (lambda x: np.repeat(x, [1, 0, 3], axis=0), X),
    (lambda x: np.tile(x, (2, 1, 3)), X),
    (lambda x: np.take(x, [0, -1, 3]), X),
    (lambda x, i: np.take(x, i, axis=1), X, index(5, 2, 2)),
    (lambda x, i: np.take_along_axis(x, i, axis=1), X, index(5, 3, 2)),
    (lambda x, i: np.take_along_axis(x, i, None), X, index(15, 4)),
    (lambda x: np.delete(x, 1), X),
    (lambda x: np.delete(x, [0, 2], axis=1), X),
    (lambda x: np.delete(x, slice(None, None, 2), 1), X),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), real(7)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), X),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-2), X),
    (lambda x: np.apply_over_axes(np.sum, x, [0, 2]), CUBE),
    (lambda x: np.apply_along_axis(lambda r: r[1:] * r[:-1], 1, x), real(2, 3, 2)),
    (lambda x: np.apply_along_axis(np.diag, -1, x), real(2, 3)),
    # joining
    (lambda x, y: np.concatenate((x, y), axis=1), X, real(3, 2)),
    (lambda x, y: np.concatenate([x, y], axis=None), X, real(2)),
    (lambda x: np.concatenate([x, np.ones(2)], dtype=np.float32), V),
    (lambda x: np.concatenate(x), X),
    (lambda x, y: np.stack([x, y], axis=-1), X, X),
    (lambda x, y: np.vstack([x, y]), V, real(2, 4)),
    (lambda x, y: np.hstack([x, y]), V, real(2)),
    (lambda x, y: np.hstack([x, y]), X, real(3, 2)),
    (lambda x, y: np.dstack([x, y]), V, V),
    (lambda x, y: np.dstack([x, y]), real(2, 3), real(2, 3, 2)),
    (lambda x, y: np.column_stack([x, y]), V, real(4, 2)),
    (lambda x: np.append(x, [1.0, 2.0]), X),
    (lambda x, y: np.append(x, y, axis=1), X, real(3, 1)),
    (lambda x, y: np.block([x, y]), V, real()),
    (lambda x, y: np.block([[x, y], [np.zeros((2, 3)), np.eye(2)]]), real(2, 3), real(2, 2)),
    (lambda x: np.block([[[x], [x]]]), V),
    (lambda x: np.split(x, 3), X),
    (lambda x: np.split(x, [1, 4], axis=1), X),
    (lambda x: np.array_split(x, 3, axis=1), X),
    (lambda x: np.array_split(x, [2, 9]), X),
    (lambda x: np.unstack(x, axis=1), X),
    (lambda x: np.hsplit(x, 2), V),
    (lambda x: np.hsplit(x, [2]), X),
    (lambda x: np.vsplit(x, 3), X),
    (lambda x: np.dsplit(x, 2), CUBE),
    (lambda x: np.pad(x, 2), X),
    (lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0), X),
    (lambda x: np.pad(x, (1, 2), constant_values=((1, 2), (3, 4))), X),
    (lambda x: np.pad(x, ((2, 1), (0, 3)), mode="edge"), X),
    (lambda x: np.pad(x, ((2, 1), (0, 3)), mode="reflect"), X),
    (lambda x: np.pad(x, ((2, 1), (0, 3)), mode="symmetric"), X),
    (lambda x: np.pad(x, ((2, 1), (0, 3)), mode="wrap"), X),
    # products
    (lambda x, y: np.dot(x, y), X, real(5, 2)),
    (lambda x, y: np.dot(x, y), CUBE, real(2, 4, 3)),
    (lambda x, y: np.dot(x, y), CUBE, V),
    (lambda x, y: np.dot(x, y), V, real(2, 4, 3)),
    (lambda x: np.dot(x, 2.0), X),
    (lambda x, y: np.inner(x, y), CUBE, real(5, 4)),
    (lambda x, y: np.inner(x, y), real(), V),
    (lambda x, y: np.outer(x, y), X, V),
    (lambda x, y: np.vdot(x, y), X, real(5, 3)),
    (lambda x, y: np.kron(x, y), V, real(3)),
    (lambda x, y: np.kron(x, y), real(2, 1, 3), real(3, 2)),
    (lambda x, y: np.cross(x, y), real(4, 3), real(3)),
    (lambda x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0), real(3, 4), real(4, 3)),
    (lambda x, y: np.cross(x, y, axis=0), real(3, 4), real(3, 4)),
    (lambda x, y: np.tensordot(x, y), CUBE, real(3, 4, 2)),
    (lambda x, y: np.tensordot(x, y, axes=0), V, real(2)),
    (lambda x, y: np.tensordot(x, y, axes=([1, 0], [0, 1])), CUBE, real(3, 2)),
    (lambda x, y: np.tensordot(x, y, (-1, 0)), CUBE, real(4, 2)),
    (lambda x, y: np.einsum("ij, j", x, y, optimize=True), X, real(5)),
    (lambda x, y, z: np.einsum("i,ij,j->", x, y, z), real(2), real(2, 3), real(3)),
    (lambda x, y: np.einsum("...i,...i->...", x, y), CUBE, real(3, 4)),
    (lambda x, y: np.einsum("i...,ij", x, y), real(3, 2), real(3, 4)),
    (lambda x: np.einsum("...", x), X),
    (lambda x, y, z: np.linalg.multi_dot([x, y, z]), real(3), real(3, 4), V),
    *[
        (lambda x, y, f=f, m=m: f(x, y, m), real(i), real(j))
        for f in (np.convolve, np.correlate)
        for i, j in ((5, 3), (5, 2), (2, 5), (4, 4))
        for m in ("full", "same", "valid")
    ],
    (lambda x: np.cov(x, bias=True), V),
    (lambda x, y: np.cov(x, y, ddof=0), V, V),
    (lambda x, y: np.cov(x, y, rowvar=False), X, real(3, 2)),
    (lambda x, y: np.corrcoef(x, y), V, V),
    (lambda x: np.corrcoef(x, rowvar=False), real(6, 2)),
    (lambda x: np.corrcoef(x), V),
    (lambda x, y: np.matmul(x, y), CUBE, real(4, 2)),
    (lambda x, y: (np.matmul(x, y), np.vecdot(x, y)), X, real(5)),
    (lambda x, y: np.matvec(x, y), X, real(2, 5)),
    (lambda x, y: np.vecmat(x, y), real(2, 3), X),
    # matrices
    *[(lambda x, k=k: np.diag(x, k), real(3)) for k in (-2, 0, 1)],
    *[(lambda x, k=k: np.diag(x, k), X) for k in (-1, 0, 3)],
    (lambda x: np.diagflat(x, -1), real(2, 2)),
    (lambda x: np.diagonal(x, -1, axis1=2, axis2=1), CUBE),
    (lambda x: np.trace(x, 1, 2, 0), CUBE),
    (lambda x: (np.tril(x, -1), np.triu(x, k=1)), CUBE),
    (lambda x: (np.tril(x), np.triu(x)), V),
    *[(lambda x, o=o: np.linalg.norm(x, o), nonzero(4)) for o in (1, 2, 3.5, -1, 0)],
    *[(lambda x, o=o: np.linalg.norm(x, o), apart(4)) for o in (np.inf, -np.inf)],
    *[
        (lambda x, o=o: np.linalg.norm(x, ord=o), nonzero(3, 5))
        for o in ("fro", 1, -1, np.inf, -np.inf)
    ],
    (lambda x: np.linalg.norm(x), CUBE),
    (lambda x: np.linalg.norm(x, axis=(0, 2), keepdims=True), CUBE),
    (lambda x: np.linalg.norm(x, 1, axis=(2, 0)), nonzero(2, 3, 4)),
    (lambda x: (np.linalg.det(x), np.linalg.inv(x)), invertible(2, 3, 3)),
    (lambda x: tuple(np.linalg.slogdet(x)), invertible(3, 3)),
    (lambda a, b: np.linalg.solve(a, b), invertible(3, 3), real(3)),
    (lambda a, b: np.linalg.solve(a, b), invertible(2, 3, 3), real(2, 3, 1)),
    *[(lambda x, n=n: np.linalg.matrix_power(x, n), invertible(3, 3)) for n in (-2, 0, 3)],
    (lambda x: np.linalg.cholesky(x + x.T), definite(3, 3)),
    (lambda x: np.linalg.cholesky(x + x.T, upper=True), definite(3, 3)),
    (lambda x, y: np.linalg.matmul(x, y), CUBE, real(4, 1)),
    (lambda x, y: np.linalg.tensordot(x, y, axes=1), X, real(5, 2)),
    (lambda x, y: np.linalg.vecdot(x, y, axis=0), X, real(3, 1)),
    (lambda x, y: np.linalg.outer(x, y), V, real(3)),
    (lambda x, y: np.linalg.cross(x, y, axis=0), real(3, 2), real(3, 2)),
    (lambda x: (np.linalg.diagonal(x, offset=1), np.linalg.trace(x, offset=-1)), CUBE),
    (lambda x: np.linalg.matrix_norm(x, ord=1), nonzero(2, 3, 4)),
    (lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=3), nonzero(2, 3, 4)),
    # elementwise
    (lambda c, x, y: np.where(c, x, y), condition(3, 5), X, real(5)),
    (lambda x, y: np.select([x > 0.5, x > 0], [x, y], 7.0), nonzero(3, 5), X),
    (lambda x: np.clip(x, -0.42, 0.42), spaced(-0.6, 3, 4)),
    (lambda x: np.clip(x, a_min=0.0, a_max=None), nonzero(3, 4)),
    (lambda x: np.clip(x, min=0.0, max=0.9), nonzero(3, 4)),
    (lambda x, y, z: np.clip(x, y, z), near(7), apart(7), spaced(0.26, 7)),
    (lambda x: np.clip(x, None, 2), few(5)),
    (lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0), extreme(2, 3)),
    (lambda x: np.nan_to_num(x), broken(2, 4)),
    (lambda x: np.nan_to_num(x), few(2)),
    (lambda x: (np.sinc(1e-2 * x), np.sinc(x - x)), real(3)),
    (lambda x: np.round(x, 2), X),
    (lambda x: np.round(100 * x, decimals=-1), X),
    (lambda x: np.around(13 * x, -1), few(3)),
    (lambda x, y: np.isclose(x, y, rtol=0.3, atol=0.1), X, X),
    (lambda x, y: np.isclose(x, y), real(6), extreme(6)),
    (lambda x: np.isclose(x, x, equal_nan=True), extreme(6)),
    (lambda x: np.allclose(x, x + 1e-9), X),
    (lambda x, y: np.allclose(x, y, atol=3.0), X, real(5)),
    (lambda x, y: np.array_equal(x, y), condition(1), condition(1)),
    (lambda x: np.array_equal(x, x[:2]), X),
    (lambda x: np.array_equal(x, x, equal_nan=True), broken(2, 4)),
    (lambda x, y: np.array_equiv(x, y), condition(2, 1), condition(1)),
    (lambda x: np.array_equiv(x, x[0, :2]), X),
    (lambda x: (np.real_if_close(x), np.iscomplexobj(x)), X),
    (lambda x: np.angle(x, deg=True), nonzero(4)),
    (lambda x, y: np.fmax(x, y), broken(2, 4), near(4)),
    (lambda x, y: np.fmin(x, y), apart(4), broken(2, 4)),
    (lambda x: np.add(x, 1, dtype=np.float32), X),
    (lambda x: (np.power(x, 3), np.power(x, 2)), few(5)),
    (lambda x: np.exp(x, out=None, where=True), X),
    # curves
    (lambda x: np.diff(x, 2, axis=0), X),
    (lambda x: np.diff(x, prepend=0.0, append=np.ones((3, 2))), X),
    (lambda x: np.ediff1d(x, to_begin=1.0, to_end=[2.0, 3.0]), V),
    (lambda x: np.gradient(x, 0.5, 2.0), X),
    (lambda x: np.gradient(x, 0.5), X),
    (lambda x: np.gradient(x, axis=1), X),
    (lambda x: np.gradient(x), real(2)),
    (lambda x: np.trapezoid(x, dx=0.5, axis=0), X),
    (lambda x, t: np.trapezoid(x, t), X, rising(5)),
    (lambda x, t: np.trapezoid(x, t, axis=1), CUBE, rising(2, 3, 4)),
    (lambda x: np.interp(x, [0, 1, 1], [2.0, -1.0, 0.5]), few(5)),
    (lambda x, f: np.interp(x, [-1.0, 0.0, 1.0], f, left=0.0, right=9.0), X, real(3)),
    (lambda x, t, f: np.interp(x, t, f), real(6), rising(4), real(4)),
    (lambda p, x: np.polyval(p, x), V, X),
    (lambda x: np.vander(x), V),
    (lambda x: np.vander(x, 3, increasing=True), V),
    # making
    (lambda x: np.zeros_like(x, dtype=int, shape=(2,)), X),
    (lambda x: np.ones_like(x, np.float32), X),
    (lambda x: 0.0 * np.nan_to_num(np.empty_like(x)), X),
    (lambda x: np.full_like(x, x[0], dtype=np.float32, shape=(2, 4)), V),
    (lambda x: (np.copy(x), np.astype(x, np.float32)), X),
    (lambda x, y: np.linspace(x, y, num=4, endpoint=False, axis=-1), V, real(3, 4)),
    (lambda x, y: np.linspace(x, y, 4, retstep=True), real(), real()),
    (lambda x: np.linspace(0, x, 1), V),
    (lambda x: np.linspace(0, 9 * x, 6, dtype=int), remote()),
    (lambda x, b: np.logspace(x, 1.0, 3, False, base=b, axis=1), V, above_one()),
    (lambda x, b: (np.logspace(0.0, 1.0, 3, base=b), np.logspace(x, 1.0, 3)), V, above_one(4)),
    (lambda x, y, z: np.meshgrid(x, y, z, indexing="ij"), V, real(3), real(2)),
    (lambda x, y: np.meshgrid(x, y), V, real(3)),
    (lambda x: np.diag_indices_from(x), real(3, 3)),
    (lambda x: (*np.tril_indices_from(x, 1), x[np.triu_indices_from(x)]), X),
    # methods of ufuncs
    (lambda x: np.add.reduce(x), X),
    (lambda x: np.add.reduce(x, axis=None, initial=1.0), X),
    (lambda x: np.multiply.reduce(x, axis=(0, 1)), nonzero(2, 3)),
    (lambda x: np.maximum.reduce(x, initial=0.0), apart(3, 5)),
    (lambda x: np.minimum.reduce(x, -1), near(3, 5)),
    (lambda x: (np.logical_and.reduce(x, axis=1), np.logical_or.reduce(x)), few(3, 2)),
    (lambda x: np.logaddexp.reduce(x), X),
    (lambda x: np.logaddexp.reduce(x, axis=1, keepdims=True), X),
    (lambda x: np.add.accumulate(x, axis=1), X),
    (lambda x: np.multiply.accumulate(x), nonzero(3, 2)),
    (lambda x, y: np.subtract.outer(x, y), real(2, 3), V),
]
CALLS = [*reductions(), *elementwise(), *OTHERS]

# These tell of an array and give none: compared as they are.
ABOUT = [
    lambda x: np.result_type(x, np.float32(1), 3),
    lambda x: np.can_cast(x, np.float32, "same_kind"),
    lambda x: np.common_type(x, np.ones(2, np.float32)),
]
