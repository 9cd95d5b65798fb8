"""CALLS and UFUNC_CALLS: how each function of NumPy is called on arrays, one row or more a name.

A row is a function of the arrays, and how to draw them: away from kinks, ties and poles, so that
finite differences may be taken, and of odd shapes.
"""

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


X, V = real(3, 5), real(4)
A_B = (real(3, 5), real(5))

CALLS = {
    # reductions
    "sum": [
        (lambda x: np.sum(x), X),
        (lambda x: np.sum(x, 1), X),
        (lambda x: np.sum(x, axis=(0, 2), keepdims=True), real(2, 3, 4)),
        (lambda x, c: np.sum(x, axis=0, where=c), X, condition(3, 5)),
        (lambda x: np.sum(x, 0, np.float32), X),
        (lambda c: np.sum(c), condition(7)),
    ],
    "prod": [
        (lambda x: np.prod(x), nonzero(2, 3)),
        (lambda x: np.prod(x, 1, keepdims=True), nonzero(2, 3)),
    ],
    "max": [
        (lambda x: np.max(x), spaced(0.0, 3, 5)),
        (lambda x: np.max(x, axis=1, keepdims=True), spaced(0.0, 3, 5)),
    ],
    "min": [
        (lambda x: np.min(x), spaced(0.0, 3, 5)),
        (lambda x: np.min(x, axis=(0,), keepdims=True), spaced(0.0, 3, 5)),
    ],
    "amax": [(lambda x: np.amax(x, 0), spaced(0.0, 3, 5))],
    "amin": [(lambda x: np.amin(x, 0), spaced(0.0, 3, 5))],
    "ptp": [
        (lambda x: np.ptp(x), spaced(0.0, 3, 5)),
        (lambda x: np.ptp(x, axis=1, keepdims=True), spaced(0.0, 3, 5)),
    ],
    "all": [
        (lambda x: np.all(x), few(3, 5)),
    ],
    "any": [
        (lambda x: np.any(x, axis=1), few(3, 2)),
    ],
    "count_nonzero": [
        (lambda x: np.count_nonzero(x), few(3, 5)),
        (lambda x: np.count_nonzero(x, axis=1, keepdims=True), few(3, 5)),
    ],
    "mean": [
        (lambda x: np.mean(x), X),
        (lambda x: np.mean(x, axis=0, keepdims=True), X),
        (
            lambda x, c: np.mean(x, axis=1, where=c),
            X,
            Input((5,), lambda rng, s: np.eye(*s[-1:], 5, dtype=bool)[0] | np.zeros(s, bool)),
        ),
        (lambda x: np.mean(x), few(3, 5)),
    ],
    "var": [
        (lambda x: np.var(x), X),
        (lambda x: np.var(x, axis=1, ddof=1, keepdims=True), X),
        (lambda x: np.var(x, axis=0, correction=1), X),
        (lambda x: np.var(x, (0, 2), None, None, 2), real(2, 3, 4)),
    ],
    "std": [
        (lambda x: np.std(x), X),
        (lambda x: np.std(x, axis=1, ddof=1, keepdims=True), X),
        (lambda x: np.std(x, axis=0, correction=1), X),
    ],
    "average": [
        (lambda x: np.average(x), X),
        (lambda x, w: np.average(x, weights=w), X, positive(3, 5)),
        (lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), X, positive(5)),
        (lambda x, w: np.average(x, axis=0, weights=w), X, positive(3)),
        (lambda x, w: np.average(x, axis=1, weights=w), real(2, 3, 4), positive(3)),
        (lambda x, w: np.average(x, weights=w), few(4), count(4)),
    ],
    "argmax": [
        (lambda x: np.argmax(x), spaced(0.0, 3, 5)),
        (lambda x: np.argmax(x, axis=1, keepdims=True), spaced(0.0, 3, 5)),
    ],
    "argmin": [
        (lambda x: np.argmin(x), spaced(0.0, 3, 5)),
        (lambda x: np.argmin(x, 0), spaced(0.0, 3, 5)),
    ],
    "cumsum": [
        (lambda x: np.cumsum(x), X),
        (lambda x: np.cumsum(x, axis=1, dtype=np.float32), X),
        (lambda x: np.cumsum(x, 0), X),
    ],
    "cumprod": [
        (lambda x: np.cumprod(x), nonzero(2, 3)),
        (lambda x: np.cumprod(x, axis=1), nonzero(2, 3)),
    ],
    "cumulative_sum": [
        (lambda x: np.cumulative_sum(x), V),
        (lambda x: np.cumulative_sum(x, axis=0, include_initial=True), X),
    ],
    "cumulative_prod": [
        (lambda x: np.cumulative_prod(x), nonzero(4)),
        (lambda x: np.cumulative_prod(x, axis=1, include_initial=True), nonzero(2, 3)),
    ],
    "nansum": [
        (lambda x: np.nansum(x), broken(3, 5)),
        (lambda x: np.nansum(x, axis=1, keepdims=True), broken(3, 5)),
        (lambda x: np.nansum(x), few(3)),
    ],
    "nanmean": [
        (lambda x: np.nanmean(x), broken(2, 4)),
        (lambda x: np.nanmean(x, axis=1, keepdims=True), broken(2, 4)),
    ],
    # order
    "sort": [
        (lambda x: np.sort(x), spaced(0.0, 3, 5)),
        (lambda x: np.sort(x, axis=0), spaced(0.0, 3, 5)),
        (lambda x: np.sort(x, None, kind="stable"), spaced(0.0, 3, 5)),
    ],
    "argsort": [
        (lambda x: np.argsort(x), spaced(0.0, 3, 5)),
        (lambda x: np.argsort(x, axis=0, stable=True), few(3, 5)),
        (lambda x: np.argsort(x, axis=None), spaced(0.0, 3, 5)),
    ],
    "quantile": [
        (lambda x: np.quantile(x, 0.3), spaced(0.0, 3, 5)),
        (lambda x: np.quantile(x, [0.0, 0.42, 1.0], axis=1), spaced(0.0, 3, 5)),
        (lambda x: np.quantile(x, [0.1, 0.8], axis=0), spaced(0.0, 3, 5)),
        (lambda x: np.isnan(np.quantile(x, 0.4, axis=1)), broken(4, 3)),
    ],
    "percentile": [
        (lambda x: np.percentile(x, 30), spaced(0.0, 3, 5)),
        (lambda x: np.percentile(x, [5, 70.5], axis=1), spaced(0.0, 3, 5)),
    ],
    "median": [
        (lambda x: np.median(x), spaced(0.0, 3, 5)),
        (lambda x: np.median(x, axis=1), spaced(0.0, 3, 4)),
    ],
    "searchsorted": [
        (lambda x, v: np.searchsorted(x, v), rising(6), real(2, 3)),
        (
            lambda x, v: np.searchsorted(x, v, side="right"),
            Input((6,), lambda rng, s: np.sort(rng.integers(0, 4, s), -1)),
            few(5),
        ),
        (
            lambda v: np.searchsorted(np.array([3.0, 1.0, 2.0]), v, sorter=np.array([1, 2, 0])),
            positive(4),
        ),
    ],
    "isin": [
        (lambda x: np.isin(x, [1, 3]), few(3, 5)),
        (lambda x, y: np.isin(x, y, invert=True), few(3, 5), few(2)),
    ],
    # shapes
    "shape": [(lambda x: np.shape(x), X)],
    "ndim": [(lambda x: np.ndim(x), X)],
    "size": [
        (lambda x: np.size(x), X),
        (lambda x: np.size(x, 1), X),
    ],
    "reshape": [
        (lambda x: np.reshape(x, (5, -1)), X),
        (lambda x: np.reshape(x, -1), X),
        (lambda x: np.reshape(x, shape=[1, 15]), X),
    ],
    "ravel": [(lambda x: np.ravel(x), X)],
    "squeeze": [
        (lambda x: np.squeeze(x), real(1, 3, 1)),
        (lambda x: np.squeeze(x, axis=0), real(1, 3, 1)),
        (lambda x: np.squeeze(x, (0, 2)), real(1, 3, 1)),
    ],
    "expand_dims": [
        (lambda x: np.expand_dims(x, 1), X),
        (lambda x: np.expand_dims(x, (0, -1)), X),
    ],
    "atleast_1d": [
        (lambda x: np.atleast_1d(x), real()),
        (lambda x, y: np.atleast_1d(x, y), real(2, 3), real()),
    ],
    "atleast_2d": [
        (lambda x: np.atleast_2d(x), real(3)),
        (lambda x, y, z: np.atleast_2d(x, y, z), real(2, 3, 1), real(), real(2, 3)),
    ],
    "transpose": [
        (lambda x: np.transpose(x), real(2, 3, 4)),
        (lambda x: np.transpose(x, (1, 2, 0)), real(2, 3, 4)),
    ],
    "moveaxis": [
        (lambda x: np.moveaxis(x, 0, -1), real(2, 3, 4)),
        (lambda x: np.moveaxis(x, source=(0, 1), destination=[2, 0]), real(2, 3, 4)),
    ],
    "swapaxes": [(lambda x: np.swapaxes(x, 0, -1), real(2, 3, 4))],
    "matrix_transpose": [(lambda x: np.matrix_transpose(x), real(2, 3, 4))],
    "linalg.matrix_transpose": [(lambda x: np.linalg.matrix_transpose(x), real(2, 3, 4))],
    "broadcast_to": [
        (lambda x: np.broadcast_to(x, (2, 3, 5)), X),
        (lambda x: np.broadcast_to(x, 4), real()),
    ],
    "broadcast_arrays": [(lambda x, y: np.broadcast_arrays(x, y), real(3, 1), real(5))],
    "flip": [
        (lambda x: np.flip(x), X),
        (lambda x: np.flip(x, 1), X),
        (lambda x: np.flip(x, axis=(0, 2)), real(2, 3, 4)),
    ],
    "flipud": [(lambda x: np.flipud(x), X)],
    "fliplr": [(lambda x: np.fliplr(x), X)],
    "roll": [
        (lambda x: np.roll(x, 2), X),
        (lambda x: np.roll(x, -1, axis=1), X),
        (lambda x: np.roll(x, (1, 2), axis=(0, 1)), X),
        (lambda x: np.roll(x, np.int64(1), 0), X),
    ],
    "repeat": [
        (lambda x: np.repeat(x, 2), X),
        (lambda x: np.repeat(x, [1, 0, 3], axis=0), X),
    ],
    "tile": [
        (lambda x: np.tile(x, 2), X),
        (lambda x: np.tile(x, (2, 1, 3)), X),
    ],
    "take": [
        (lambda x: np.take(x, [0, -1, 3]), X),
        (lambda x, i: np.take(x, i, axis=1), X, index(5, 2, 2)),
        (lambda x: np.take(x, 1, axis=0), X),
    ],
    "take_along_axis": [
        (lambda x, i: np.take_along_axis(x, i, axis=1), X, index(5, 3, 2)),
        (lambda x, i: np.take_along_axis(x, i, 0), X, index(3, 2, 5)),
        (lambda x, i: np.take_along_axis(x, i, None), X, index(15, 4)),
    ],
    # joining
    "concatenate": [
        (lambda x, y: np.concatenate([x, y]), real(3, 5), real(1, 5)),
        (lambda x, y: np.concatenate((x, y), axis=1), real(3, 5), real(3, 2)),
        (lambda x, y: np.concatenate([x, y], axis=None), real(3, 5), real(2)),
        (lambda x: np.concatenate(x), X),
    ],
    "stack": [
        (lambda x, y: np.stack([x, y]), X, X),
        (lambda x, y: np.stack([x, y], axis=-1), X, X),
        (lambda x: np.stack([x[0], x[2] * x[1]]), V),
    ],
    "vstack": [(lambda x, y: np.vstack([x, y]), V, real(2, 4))],
    "hstack": [
        (lambda x, y: np.hstack([x, y]), V, real(2)),
        (lambda x, y: np.hstack([x, y]), real(3, 5), real(3, 2)),
        (lambda x, y: np.hstack([x, y]), real(), real()),
    ],
    "column_stack": [(lambda x, y: np.column_stack([x, y]), V, real(4, 2))],
    "append": [
        (lambda x: np.append(x, [1.0, 2.0]), X),
        (lambda x, y: np.append(x, y, axis=1), X, real(3, 1)),
    ],
    "split": [
        (lambda x: np.split(x, 3), X),
        (lambda x: np.split(x, [1, 4], axis=1), X),
    ],
    "array_split": [
        (lambda x: np.array_split(x, 3, axis=1), X),
        (lambda x: np.array_split(x, [2, 9]), X),
    ],
    "unstack": [(lambda x: np.unstack(x, axis=1), X)],
    "pad": [
        (lambda x: np.pad(x, 2), X),
        (lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0), X),
        *[
            (lambda x, m=m: np.pad(x, ((2, 1), (0, 3)), mode=m), X)
            for m in ("edge", "reflect", "symmetric", "wrap")
        ],
    ],
    # products
    "dot": [
        (lambda x, y: np.dot(x, y), V, V),
        (lambda x, y: np.dot(x, y), X, real(5, 2)),
        (lambda x, y: np.dot(x, y), real(2, 3, 4), real(2, 4, 3)),
        (lambda x, y: np.dot(x, y), real(2, 3, 4), real(4)),
        (lambda x, y: np.dot(x, y), real(4), real(2, 4, 3)),
        (lambda x: np.dot(x, 2.0), X),
    ],
    "inner": [
        (lambda x, y: np.inner(x, y), V, V),
        (lambda x, y: np.inner(x, y), real(2, 3, 4), real(5, 4)),
        (lambda x, y: np.inner(x, y), real(), V),
    ],
    "outer": [(lambda x, y: np.outer(x, y), X, V)],
    "vdot": [(lambda x, y: np.vdot(x, y), X, real(5, 3))],
    "cross": [
        (lambda x, y: np.cross(x, y), real(3), real(3)),
        (lambda x, y: np.cross(x, y), real(4, 3), real(3)),
        (lambda x, y: np.cross(x, y, axis=0), real(3, 4), real(3, 4)),
    ],
    "tensordot": [
        (lambda x, y: np.tensordot(x, y), real(2, 3, 4), real(3, 4, 2)),
        (lambda x, y: np.tensordot(x, y, axes=1), X, real(5, 2)),
        (lambda x, y: np.tensordot(x, y, axes=0), V, real(2)),
        (lambda x, y: np.tensordot(x, y, axes=([1, 0], [0, 1])), real(2, 3, 4), real(3, 2)),
        (lambda x, y: np.tensordot(x, y, (-1, 0)), real(2, 3, 4), real(4, 2)),
    ],
    "einsum": [
        (lambda x, y: np.einsum("ij,jk->ki", x, y), X, real(5, 2)),
        (lambda x, y: np.einsum("ij, j", x, y, optimize=True), *A_B),
        (lambda x: np.einsum("ii", x), real(3, 3)),
        (lambda x, y, z: np.einsum("i,ij,j->", x, y, z), real(2), real(2, 3), real(3)),
    ],
    # matrices
    "diag": [
        *[(lambda x, k=k: np.diag(x, k), real(3)) for k in (-2, 0, 1)],
        *[(lambda x, k=k: np.diag(x, k), X) for k in (-1, 0, 3)],
    ],
    "diagonal": [
        (lambda x: np.diagonal(x, 1), X),
        (lambda x: np.diagonal(x), real(2, 3, 4)),
        (lambda x: np.diagonal(x, -1, axis1=2, axis2=1), real(2, 3, 4)),
    ],
    "trace": [
        (lambda x: np.trace(x), X),
        (lambda x: np.trace(x, 1, 2, 0), real(2, 3, 4)),
    ],
    "tril": [
        (lambda x: np.tril(x), X),
        (lambda x: np.tril(x, -1), real(2, 3, 4)),
        (lambda x: np.tril(x), V),
    ],
    "triu": [(lambda x: np.triu(x, k=1), X), (lambda x: np.triu(x), real(2, 4, 3))],
    "linalg.norm": [
        *[(lambda x, o=o: np.linalg.norm(x, o), nonzero(4)) for o in (None, 1, 2, 3.5, -1, 0)],
        *[(lambda x, o=o: np.linalg.norm(x, o), spaced(0.03, 4)) for o in (np.inf, -np.inf)],
        *[
            (lambda x, o=o: np.linalg.norm(x, ord=o), nonzero(3, 5))
            for o in (None, "fro", 1, -1, np.inf, -np.inf)
        ],
        (lambda x: np.linalg.norm(x), real(2, 3, 4)),
        (lambda x: np.linalg.norm(x, keepdims=True), real(2, 3)),
        (lambda x: np.linalg.norm(x, axis=1), real(2, 3, 4)),
        (lambda x: np.linalg.norm(x, 1, axis=-1, keepdims=True), nonzero(2, 3)),
        (lambda x: np.linalg.norm(x, axis=(0, 2), keepdims=True), real(2, 3, 4)),
        (lambda x: np.linalg.norm(x, 1, axis=(2, 0)), nonzero(2, 3, 4)),
        (lambda x: np.linalg.norm(x, 1, axis=(0, 2)), nonzero(2, 3, 4)),
    ],
    "linalg.det": [(lambda x: np.linalg.det(x), invertible(2, 3, 3))],
    "linalg.slogdet": [(lambda x: tuple(np.linalg.slogdet(x)), invertible(3, 3))],
    "linalg.inv": [(lambda x: np.linalg.inv(x), invertible(3, 3))],
    "linalg.solve": [
        (lambda a, b: np.linalg.solve(a, b), invertible(3, 3), real(3)),
        (lambda a, b: np.linalg.solve(a, b), invertible(2, 3, 3), real(2, 3, 1)),
    ],
    "linalg.matrix_power": [
        (lambda x, n=n: np.linalg.matrix_power(x, n), invertible(3, 3)) for n in (-2, 0, 1, 3)
    ],
    "linalg.cholesky": [
        (lambda x: np.linalg.cholesky(x + x.T), definite(3, 3)),
        (lambda x: np.linalg.cholesky(x + x.T, upper=True), definite(3, 3)),
    ],
    "linalg.matmul": [(lambda x, y: np.linalg.matmul(x, y), real(2, 3, 4), real(4, 1))],
    "linalg.tensordot": [(lambda x, y: np.linalg.tensordot(x, y, axes=1), X, real(5, 2))],
    "linalg.vecdot": [(lambda x, y: np.linalg.vecdot(x, y, axis=0), X, real(3, 1))],
    "linalg.outer": [(lambda x, y: np.linalg.outer(x, y), V, real(3))],
    "linalg.cross": [(lambda x, y: np.linalg.cross(x, y, axis=0), real(3, 2), real(3, 2))],
    "linalg.diagonal": [(lambda x: np.linalg.diagonal(x, offset=1), real(2, 3, 4))],
    "linalg.trace": [(lambda x: np.linalg.trace(x, offset=-1), real(2, 3, 4))],
    "linalg.matrix_norm": [(lambda x: np.linalg.matrix_norm(x, ord=1), nonzero(2, 3, 4))],
    "linalg.vector_norm": [
        (lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=3), nonzero(2, 3, 4))
    ],
    # elementwise
    "where": [
        (lambda c, x, y: np.where(c, x, y), condition(3, 5), X, real(5)),
        (lambda x: np.where(x > 0, np.exp(x), 0.0), nonzero(3, 5)),
        (lambda x: np.where(np.eye(3, dtype=bool), x, -1.0), real(3)),
    ],
    "select": [
        (lambda x, y: np.select([x > 0.5, x > 0], [x, y], 7.0), nonzero(3, 5), X),
        (lambda x: np.select([x > 0.0], [x**2]), nonzero(4)),
    ],
    "clip": [
        (lambda x: np.clip(x, -0.42, 0.42), spaced(-0.6, 3, 4)),
        (lambda x: np.clip(x, a_min=0.0, a_max=None), nonzero(3, 4)),
        (lambda x: np.clip(x, min=0.0, max=0.9), nonzero(3, 4)),
        (lambda x, y, z: np.clip(x, y, z), spaced(0.0, 7), spaced(0.03, 7), spaced(0.26, 7)),
        (lambda x: np.clip(x, None, 2), few(5)),
    ],
    "nan_to_num": [
        (lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0), extreme(2, 3)),
        (lambda x: np.nan_to_num(x), broken(2, 4)),
        (lambda x: np.nan_to_num(x), few(2)),
    ],
    "round": [
        (lambda x: np.round(x), fractional(3, 5)),
        (lambda x: np.round(x, 2), real(3, 5)),
        (lambda x: np.round(100 * x, decimals=-1), real(3, 5)),
        (lambda x: np.round(x, 1), few(3)),
        (lambda x: np.round(13 * x, -1), few(3)),
    ],
    "around": [(lambda x: np.around(x, 1), real(3, 5))],
    # curves
    "diff": [
        (lambda x: np.diff(x), X),
        (lambda x: np.diff(x, 2, axis=0), X),
        (lambda x: np.diff(x, prepend=0.0, append=np.ones((3, 2))), X),
    ],
    # making
    "zeros_like": [
        (lambda x: np.zeros_like(x), X),
        (lambda x: np.zeros_like(x, dtype=int, shape=(2,)), X),
    ],
    "ones_like": [(lambda x: np.ones_like(x, np.float32), X)],
    "empty_like": [(lambda x: 0.0 * np.nan_to_num(np.empty_like(x)), X)],
    "full_like": [
        (lambda x: np.full_like(x, 7.0), X),
        (lambda x: np.full_like(x, x[0], dtype=np.float32, shape=(2, 4)), V),
    ],
    "copy": [(lambda x: np.copy(x), X)],
    "astype": [(lambda x: np.astype(x, np.float32), X)],
    "meshgrid": [
        (lambda x, y: np.meshgrid(x, y), V, real(3)),
        (lambda x, y, z: np.meshgrid(x, y, z, indexing="ij"), V, real(3), real(2)),
    ],
}

# These tell of an array and give none: compared as they are.
ABOUT = {
    "result_type": lambda x: np.result_type(x, np.float32(1), 3),
}


def one(name, *domains):
    f = getattr(np, name)
    return [(lambda x: f(x), domain(*shape)) for domain in domains for shape in ((3, 5), ())]


def two(name, left, right):
    f = getattr(np, name)
    pairs = [((3, 5), (5,)), ((), (3,)), ((2, 1), (1, 3))]
    return [(lambda x, y: f(x, y), left(*s), right(*t)) for s, t in pairs]


def apart(*shape):
    return spaced(0.03, *shape)


def near(*shape):
    return spaced(0.0, *shape)


UFUNC_CALLS = {
    **{name: one(name, real) for name in ("negative", "positive", "conjugate", "exp", "expm1")},
    **{name: one(name, real) for name in ("exp2", "sin", "cos", "arctan", "sinh", "cosh")},
    **{name: one(name, real) for name in ("tanh", "arcsinh", "square", "degrees", "radians")},
    **{name: one(name, real) for name in ("rad2deg", "deg2rad")},
    **{name: one(name, positive) for name in ("log", "log1p", "log2", "log10", "sqrt")},
    **{name: one(name, nonzero) for name in ("absolute", "fabs", "cbrt", "reciprocal", "sign")},
    **{name: one(name, inside) for name in ("tan", "arcsin", "arccos", "arctanh")},
    "arccosh": one("arccosh", above_one),
    **{name: one(name, fractional) for name in ("floor", "ceil", "trunc", "rint")},
    **{name: one(name, extreme) for name in ("isfinite", "isinf", "isnan", "signbit")},
    "logical_not": one("logical_not", few, condition),
    "invert": one("invert", few, condition),
    **{name: two(name, real, real) for name in ("add", "subtract", "multiply", "nextafter")},
    "logaddexp": two("logaddexp", real, real),
    **{name: two(name, real, nonzero) for name in ("divide", "copysign")},
    **{name: two(name, nonzero, nonzero) for name in ("arctan2", "hypot")},
    "power": two("power", positive, real),
    **{name: two(name, near, apart) for name in ("maximum", "minimum")},
    **{name: two(name, remote, about_one) for name in ("remainder", "floor_divide")},
    **{name: two(name, near, apart) for name in ("less", "less_equal", "greater")},
    "greater_equal": two("greater_equal", few, few),
    **{name: two(name, few, few) for name in ("equal", "not_equal", "left_shift")},
    **{name: two(name, few, few) for name in ("right_shift", "bitwise_and", "bitwise_or")},
    **{name: two(name, few, few) for name in ("bitwise_xor", "logical_and", "logical_or")},
    "logical_xor": two("logical_xor", few, few),
    "matmul": [
        (lambda x, y: np.matmul(x, y), X, V_5 := real(5)),
        (lambda x, y: np.matmul(x, y), real(2, 3, 4), real(4, 2)),
    ],
    "vecdot": [(lambda x, y: np.vecdot(x, y), X, V_5)],
}
UFUNC_CALLS["rint"] += [(lambda x: np.rint(x), few(4))]
UFUNC_CALLS["add"] += [(lambda x: np.add(x, 1, dtype=np.float32), X)]
UFUNC_CALLS["power"] += [(lambda x: np.power(x, 3), few(5)), (lambda x: np.power(x, 2), X)]
UFUNC_CALLS["exp"] += [(lambda x: np.exp(x, out=None, where=True), X)]

METHOD_CALLS = {
    "add.reduce": [
        (lambda x: np.add.reduce(x), X),
        (lambda x: np.add.reduce(x, 1, keepdims=True), X),
    ],
    "multiply.reduce": [(lambda x: np.multiply.reduce(x, axis=(0, 1)), nonzero(2, 3))],
    "maximum.reduce": [
        (lambda x: np.maximum.reduce(x), near(3, 5)),
        (lambda x, y: np.maximum.reduce(np.stack([x, y])), near(3), apart(3)),
    ],
    "minimum.reduce": [(lambda x: np.minimum.reduce(x, -1), near(3, 5))],
    "logical_and.reduce": [(lambda x: np.logical_and.reduce(x, axis=1), few(3, 2))],
    "logical_or.reduce": [(lambda x: np.logical_or.reduce(x), few(3, 2))],
    "logaddexp.reduce": [
        (lambda x: np.logaddexp.reduce(x), X),
        (lambda x: np.logaddexp.reduce(x, axis=1, keepdims=True), X),
    ],
    "add.accumulate": [
        (lambda x: np.add.accumulate(x), X),
        (lambda x: np.add.accumulate(x, axis=1), X),
    ],
    "multiply.accumulate": [(lambda x: np.multiply.accumulate(x), nonzero(3, 2))],
    "subtract.outer": [(lambda x, y: np.subtract.outer(x, y), real(2, 3), V)],
    "maximum.outer": [(lambda x, y: np.maximum.outer(x, y), near(3), apart(4))],
}
