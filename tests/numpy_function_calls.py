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
        (lambda x: np.sum(x, axis=-1, initial=2.5), X),
        (lambda x, c: np.sum(x, axis=0, where=c), X, condition(3, 5)),
        (lambda x: np.sum(x, 0, np.float32), X),
        (lambda c: np.sum(c), condition(7)),
    ],
    "prod": [
        (lambda x: np.prod(x), nonzero(2, 3)),
        (lambda x: np.prod(x, 1, keepdims=True, initial=2.0), nonzero(2, 3)),
        (lambda x, c: np.prod(x, axis=0, where=c), nonzero(3, 2), condition(2)),
    ],
    "max": [
        (lambda x: np.max(x), spaced(0.0, 3, 5)),
        (lambda x: np.max(x, axis=1, keepdims=True), spaced(0.0, 3, 5)),
        (lambda x: np.max(x, axis=0, initial=0.42), spaced(0.0, 3, 5)),
        (lambda x: np.max(x, axis=0, initial=2.5), few(3, 5)),
        (lambda x, c: np.max(x, 1, where=c, initial=-9.0), spaced(0.0, 3, 5), condition(3, 5)),
    ],
    "min": [
        (lambda x: np.min(x), spaced(0.0, 3, 5)),
        (lambda x: np.min(x, axis=(0,), keepdims=True), spaced(0.0, 3, 5)),
        (lambda x: np.min(x, axis=0, initial=0.42), spaced(0.0, 3, 5)),
        (lambda x, c: np.min(x, 1, where=c, initial=9.0), spaced(0.0, 3, 5), condition(5)),
    ],
    "amax": [(lambda x: np.amax(x, 0), spaced(0.0, 3, 5))],
    "amin": [(lambda x: np.amin(x, 0), spaced(0.0, 3, 5))],
    "ptp": [
        (lambda x: np.ptp(x), spaced(0.0, 3, 5)),
        (lambda x: np.ptp(x, axis=1, keepdims=True), spaced(0.0, 3, 5)),
    ],
    "all": [
        (lambda x: np.all(x), few(3, 5)),
        (lambda x, c: np.all(x, axis=0, keepdims=True, where=c), few(3, 5), condition(3, 5)),
    ],
    "any": [
        (lambda x: np.any(x, axis=1), few(3, 2)),
        (lambda x, c: np.any(x, axis=0, where=c), few(3, 5), condition(3, 5)),
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
        (lambda x: np.mean(x, 1, np.float32), few(3, 5)),
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
        (lambda x: np.average(x, 0, returned=True), X),
        (lambda x, w: np.average(x, weights=w), X, positive(3, 5)),
        (lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), X, positive(5)),
        (lambda x, w: np.average(x, axis=0, weights=w, returned=True), X, positive(3)),
        (lambda x, w: np.average(x, axis=1, weights=w), real(2, 3, 4), positive(3)),
        (lambda x, w: np.average(x, weights=w, returned=True), few(4), count(4)),
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
        (lambda x: np.nansum(x, axis=1, keepdims=True, initial=1.5), broken(3, 5)),
        (lambda x: np.nansum(x), few(3)),
    ],
    "nanprod": [(lambda x: np.nanprod(x, axis=1), broken(2, 4))],
    "nancumsum": [
        (lambda x: np.nancumsum(x), broken(2, 4)),
        (lambda x: np.nancumsum(x, 1), broken(2, 4)),
    ],
    "nancumprod": [(lambda x: np.nancumprod(x, axis=1), broken(2, 4))],
    "nanmean": [
        (lambda x: np.nanmean(x), broken(2, 4)),
        (lambda x: np.nanmean(x, axis=1, keepdims=True), broken(2, 4)),
    ],
    "nanvar": [
        (lambda x: np.nanvar(x), broken(3, 5)),
        (lambda x: np.nanvar(x, axis=None, ddof=1), broken(3, 5)),
        (lambda x: np.nanvar(x, axis=1, keepdims=True), broken(2, 8)),
    ],
    "nanstd": [(lambda x: np.nanstd(x, None, None, None, 1), broken(3, 5))],
    "nanmax": [
        (lambda x: np.nanmax(x), broken(3, 5)),
        (lambda x: np.nanmax(x, axis=1, keepdims=True), broken(3, 5)),
        (lambda x: np.nanmax(x, axis=1), few(3, 5)),
    ],
    "nanmin": [
        (lambda x: np.nanmin(x), broken(3, 5)),
        (lambda x: np.nanmin(x, axis=1), broken(3, 5)),
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
        (lambda x: np.quantile(x, 0.9, axis=(0, 2), keepdims=True), spaced(0.0, 2, 3, 4)),
        (lambda x: np.quantile(x, [[0.1, 0.8]], axis=0, keepdims=True), spaced(0.0, 3, 5)),
    ],
    "percentile": [
        (lambda x: np.percentile(x, 30), spaced(0.0, 3, 5)),
        (lambda x: np.percentile(x, [5, 70.5], axis=1, keepdims=True), spaced(0.0, 3, 5)),
    ],
    "median": [
        (lambda x: np.median(x), spaced(0.0, 3, 5)),
        (lambda x: np.median(x, axis=1), spaced(0.0, 3, 4)),
        (lambda x: np.median(x, axis=(0, 1), keepdims=True), spaced(0.0, 3, 4)),
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
    "digitize": [
        (lambda x: np.digitize(x, [-1.0, 0.0, 0.7]), real(3, 2)),
        (lambda x: np.digitize(x, np.array([2, 1, 0])), few(6)),
        (lambda x: np.digitize(x, np.array([0, 1, 2]), right=True), few(6)),
        (lambda x: np.digitize(x, np.array([2, 1, 0]), True), few(6)),
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
    "resize": [
        (lambda x: np.resize(x, (4, 2)), X),
        (lambda x: np.resize(x, 7), V),
        (lambda x: np.resize(x, (2, 0)), V),
    ],
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
    "atleast_3d": [
        (lambda x: np.atleast_3d(x), real(4)),
        (lambda x, y, z: np.atleast_3d(x, y, z), real(2, 3), real(), real(1, 2, 3, 1)),
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
    "rollaxis": [
        (lambda x: np.rollaxis(x, 2), real(2, 3, 4)),
        (lambda x: np.rollaxis(x, 0, 2), real(2, 3, 4)),
        (lambda x: np.rollaxis(x, 1, 3), real(2, 3, 4)),
        (lambda x: np.rollaxis(x, -1, -2), real(2, 3, 4)),
    ],
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
    "rot90": [
        *[(lambda x, k=k: np.rot90(x, k), X) for k in (-1, 0, 1, 2, 3)],
        (lambda x: np.rot90(x, axes=(2, 0)), real(2, 3, 4)),
        (lambda x: np.rot90(x, 3, (0, 2)), real(2, 3, 4)),
    ],
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
    "delete": [
        (lambda x: np.delete(x, 1), X),
        (lambda x: np.delete(x, [0, 2], axis=1), X),
        (lambda x: np.delete(x, slice(None, None, 2), 1), X),
    ],
    "lib.stride_tricks.sliding_window_view": [
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), real(7)),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), real(3, 5)),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-2), real(3, 5)),
    ],
    "apply_over_axes": [(lambda x: np.apply_over_axes(np.sum, x, [0, 2]), real(2, 3, 4))],
    "apply_along_axis": [
        (lambda x: np.apply_along_axis(np.sum, 0, x), X),
        (lambda x: np.apply_along_axis(lambda r: r[1:] * r[:-1], 1, x), real(2, 3, 2)),
        (lambda x: np.apply_along_axis(np.diag, -1, x), real(2, 3)),
    ],
    # joining
    "concatenate": [
        (lambda x, y: np.concatenate([x, y]), real(3, 5), real(1, 5)),
        (lambda x, y: np.concatenate((x, y), axis=1), real(3, 5), real(3, 2)),
        (lambda x, y: np.concatenate([x, y], axis=None), real(3, 5), real(2)),
        (lambda x: np.concatenate([x, np.ones(2)], dtype=np.float32), V),
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
    "dstack": [
        (lambda x, y: np.dstack([x, y]), V, V),
        (lambda x, y: np.dstack([x, y]), real(2, 3), real(2, 3, 2)),
    ],
    "column_stack": [(lambda x, y: np.column_stack([x, y]), V, real(4, 2))],
    "append": [
        (lambda x: np.append(x, [1.0, 2.0]), X),
        (lambda x, y: np.append(x, y, axis=1), X, real(3, 1)),
    ],
    "block": [
        (lambda x: np.block(x), X),
        (lambda x, y: np.block([x, y]), V, real()),
        (lambda x, y: np.block([[x, y], [np.zeros((2, 3)), np.eye(2)]]), real(2, 3), real(2, 2)),
        (lambda x: np.block([[[x], [x]]]), V),
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
    "hsplit": [
        (lambda x: np.hsplit(x, 2), V),
        (lambda x: np.hsplit(x, [2]), X),
    ],
    "vsplit": [(lambda x: np.vsplit(x, 3), X)],
    "dsplit": [(lambda x: np.dsplit(x, 2), real(2, 3, 4))],
    "pad": [
        (lambda x: np.pad(x, 2), X),
        (lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0), X),
        (lambda x: np.pad(x, (1, 2), constant_values=((1, 2), (3, 4))), X),
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
    "kron": [
        (lambda x, y: np.kron(x, y), V, real(3)),
        (lambda x, y: np.kron(x, y), real(2, 3), real(3, 1)),
        (lambda x, y: np.kron(x, y), real(2, 1, 3), real(3, 2)),
    ],
    "cross": [
        (lambda x, y: np.cross(x, y), real(3), real(3)),
        (lambda x, y: np.cross(x, y), real(4, 3), real(3)),
        (lambda x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0), real(3, 4), real(4, 3)),
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
        (lambda x, y: np.einsum("...i,...i->...", x, y), real(2, 3, 4), real(3, 4)),
        (lambda x, y: np.einsum("i...,ij", x, y), real(3, 2), real(3, 4)),
        (lambda x: np.einsum("...ij->...ji", x), real(2, 3, 4)),
        (lambda x: np.einsum("...", x), X),
    ],
    "linalg.multi_dot": [
        (lambda x, y, z: np.linalg.multi_dot([x, y, z]), real(2, 3), real(3, 4), real(4, 2)),
        (lambda x, y, z: np.linalg.multi_dot([x, y, z]), real(3), real(3, 4), real(4)),
    ],
    "convolve": [
        (lambda x, y: np.convolve(x, y), real(5), real(3)),
        *[
            (lambda x, y, m=m: np.convolve(x, y, m), real(i), real(j))
            for i, j in ((5, 3), (5, 2), (2, 5), (4, 4))
            for m in ("same", "valid")
        ],
        (lambda x: np.convolve(x, np.ones(3) / 3, mode="valid"), real(6)),
    ],
    "correlate": [
        (lambda x, y, m=m: np.correlate(x, y, m), real(i), real(j))
        for i, j in ((5, 3), (5, 2), (2, 5), (3, 6), (4, 4))
        for m in ("full", "same", "valid")
    ],
    "cov": [
        (lambda x: np.cov(x), X),
        (lambda x: np.cov(x, bias=True), V),
        (lambda x, y: np.cov(x, y, ddof=0), V, V),
        (lambda x, y: np.cov(x, y, rowvar=False), X, real(3, 2)),
    ],
    "corrcoef": [
        (lambda x: np.corrcoef(x), X),
        (lambda x, y: np.corrcoef(x, y), V, V),
        (lambda x: np.corrcoef(x, rowvar=False), real(6, 2)),
        (lambda x: np.corrcoef(x), V),
    ],
    # matrices
    "diag": [
        *[(lambda x, k=k: np.diag(x, k), real(3)) for k in (-2, 0, 1)],
        *[(lambda x, k=k: np.diag(x, k), X) for k in (-1, 0, 3)],
    ],
    "diagflat": [(lambda x: np.diagflat(x, -1), real(2, 2))],
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
    "sinc": [
        (lambda x: np.sinc(x), real(3, 5)),
        (lambda x: np.sinc(1e-2 * x), real(3)),
        (lambda x: np.sinc(x - x), real(2)),
    ],
    "fix": [(lambda x: np.fix(x), fractional(3, 5))],
    "round": [
        (lambda x: np.round(x), fractional(3, 5)),
        (lambda x: np.round(x, 2), real(3, 5)),
        (lambda x: np.round(100 * x, decimals=-1), real(3, 5)),
        (lambda x: np.round(x, 1), few(3)),
        (lambda x: np.round(13 * x, -1), few(3)),
    ],
    "around": [(lambda x: np.around(x, 1), real(3, 5))],
    "isposinf": [(lambda x: np.isposinf(x), extreme(2, 3))],
    "isneginf": [(lambda x: np.isneginf(x), extreme(2, 3))],
    "isclose": [
        (lambda x, y: np.isclose(x, y), few(3, 5), few(3, 5)),
        (lambda x, y: np.isclose(x, y, rtol=0.3, atol=0.1), X, X),
        (lambda x: np.isclose(x, x), extreme(6)),
        (lambda x, y: np.isclose(x, y), real(6), extreme(6)),
        (lambda x, y: np.isclose(x, y), extreme(6), real(6)),
        (lambda x: np.isclose(x, x, equal_nan=True), extreme(6)),
    ],
    "allclose": [
        (lambda x: np.allclose(x, x + 1e-9), X),
        (lambda x, y: np.allclose(x, y, atol=3.0), X, real(5)),
        (lambda x, y: np.allclose(x, y, 1e-3, 1e-3), X, real(5)),
        (lambda x, y: np.allclose(x, y), condition(1), condition(1)),
    ],
    "array_equal": [
        (lambda x, y: np.array_equal(x, y), condition(1), condition(1)),
        (lambda x: np.array_equal(x, x[:2]), X),
        (lambda x: np.array_equal(x, x, equal_nan=True), broken(2, 4)),
    ],
    "array_equiv": [
        (lambda x, y: np.array_equiv(x, y), condition(2, 1), condition(1)),
        (lambda x: np.array_equiv(x, x[0, :2]), X),
    ],
    "real": [(lambda x: np.real(x), X)],
    "imag": [(lambda x: np.imag(x), X)],
    "real_if_close": [(lambda x: np.real_if_close(x), X)],
    "angle": [
        (lambda x: np.angle(x), nonzero(3, 5)),
        (lambda x: np.angle(x, deg=True), nonzero(4)),
    ],
    "isreal": [(lambda x: np.isreal(x), X)],
    "iscomplex": [(lambda x: np.iscomplex(x), X)],
    "isrealobj": [(lambda x: np.isrealobj(x), X)],
    "iscomplexobj": [(lambda x: np.iscomplexobj(x), X)],
    # curves
    "diff": [
        (lambda x: np.diff(x), X),
        (lambda x: np.diff(x, 2, axis=0), X),
        (lambda x: np.diff(x, prepend=0.0, append=np.ones((3, 2))), X),
    ],
    "ediff1d": [
        (lambda x: np.ediff1d(x), X),
        (lambda x: np.ediff1d(x, to_begin=1.0, to_end=[2.0, 3.0]), V),
    ],
    "gradient": [
        (lambda x: np.gradient(x), real(5)),
        (lambda x: np.gradient(x, 0.5), X),
        (lambda x: np.gradient(x, 0.5, 2.0), X),
        (lambda x: np.gradient(x, axis=1), X),
        (lambda x: np.gradient(x), real(2)),
    ],
    "trapezoid": [
        (lambda x: np.trapezoid(x), X),
        (lambda x: np.trapezoid(x, dx=0.5, axis=0), X),
        (lambda x, t: np.trapezoid(x, t), X, rising(5)),
        (lambda x, t: np.trapezoid(x, t, axis=0), X, rising(3)),
        (lambda x, t: np.trapezoid(x, t, axis=1), real(2, 3, 4), rising(2, 3, 4)),
    ],
    "interp": [
        (lambda x: np.interp(x, [-1.0, 0.05, 1.0], [2.0, -1.0, 0.5]), real(3, 5)),
        (lambda x: np.interp(x, [0, 1, 1], [2.0, -1.0, 0.5]), few(5)),
        (lambda x, f: np.interp(x, [-1.0, 0.0, 1.0], f, left=0.0, right=9.0), X, real(3)),
        (lambda x, t, f: np.interp(x, t, f), real(6), rising(4), real(4)),
    ],
    "polyval": [
        (lambda p, x: np.polyval(p, x), real(4), X),
        (lambda x: np.polyval([2.0, 0.0, -1.0], x), real()),
    ],
    "vander": [
        (lambda x: np.vander(x), V),
        (lambda x: np.vander(x, 3, increasing=True), V),
        (lambda x: np.vander(x, N=1), V),
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
    "linspace": [
        (lambda x: np.linspace(x, 1.0, 5), real()),
        (lambda x, y: np.linspace(x, y, num=4, endpoint=False, axis=-1), V, real(3, 4)),
        (lambda x, y: np.linspace(x, y, 4, retstep=True), real(), real()),
        (lambda x: np.linspace(0, x, 1), V),
        (lambda x: np.linspace(0, 9 * x, 6, dtype=int), remote()),
    ],
    "logspace": [
        (lambda x: np.logspace(0.0, x, 4), real()),
        (lambda x, b: np.logspace(x, 1.0, 3, False, base=b, axis=1), V, above_one()),
        (lambda b: np.logspace(0.0, 1.0, 3, base=b), above_one(4)),
    ],
    "meshgrid": [
        (lambda x, y: np.meshgrid(x, y), V, real(3)),
        (lambda x, y, z: np.meshgrid(x, y, z, indexing="ij"), V, real(3), real(2)),
    ],
    "diag_indices_from": [(lambda x: np.diag_indices_from(x), real(3, 3))],
    "tril_indices_from": [(lambda x: np.tril_indices_from(x, 1), X)],
    "triu_indices_from": [(lambda x: x[np.triu_indices_from(x)], X)],
}

# These tell of an array and give none: compared as they are.
ABOUT = {
    "result_type": lambda x: np.result_type(x, np.float32(1), 3),
    "can_cast": lambda x: np.can_cast(x, np.float32, "same_kind"),
    "common_type": lambda x: np.common_type(x, np.ones(2, np.float32)),
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
    **{name: one(name, fractional) for name in ("floor", "ceil", "trunc", "rint", "modf")},
    **{name: one(name, extreme) for name in ("isfinite", "isinf", "isnan", "signbit")},
    "logical_not": one("logical_not", few, condition),
    "invert": one("invert", few, condition),
    **{name: two(name, real, real) for name in ("add", "subtract", "multiply", "nextafter")},
    **{name: two(name, real, real) for name in ("logaddexp", "logaddexp2")},
    **{name: two(name, real, nonzero) for name in ("divide", "copysign")},
    **{name: two(name, nonzero, nonzero) for name in ("arctan2", "hypot", "heaviside")},
    **{name: two(name, positive, real) for name in ("power", "float_power")},
    **{name: two(name, near, apart) for name in ("maximum", "minimum", "fmax", "fmin")},
    **{name: two(name, remote, about_one) for name in ("remainder", "fmod", "floor_divide")},
    "divmod": two("divmod", remote, about_one),
    **{name: two(name, near, apart) for name in ("less", "less_equal", "greater")},
    "greater_equal": two("greater_equal", few, few),
    **{name: two(name, few, few) for name in ("equal", "not_equal", "left_shift")},
    **{name: two(name, few, few) for name in ("right_shift", "bitwise_and", "bitwise_or")},
    **{name: two(name, few, few) for name in ("bitwise_xor", "logical_and", "logical_or")},
    "logical_xor": two("logical_xor", few, few),
    "ldexp": two("ldexp", real, few),
    "matmul": [
        (lambda x, y: np.matmul(x, y), X, V_5 := real(5)),
        (lambda x, y: np.matmul(x, y), real(2, 3, 4), real(4, 2)),
    ],
    "vecdot": [(lambda x, y: np.vecdot(x, y), X, V_5)],
    "matvec": [(lambda x, y: np.matvec(x, y), X, real(2, 5))],
    "vecmat": [(lambda x, y: np.vecmat(x, y), real(2, 3), X)],
}
UFUNC_CALLS["fmax"] += [(lambda x, y: np.fmax(x, y), broken(2, 4), near(4))]
UFUNC_CALLS["fmax"] += [(lambda x, y: np.fmax(x, y), few(4), few(4))]
UFUNC_CALLS["rint"] += [(lambda x: np.rint(x), few(4))]
UFUNC_CALLS["fmin"] += [(lambda x, y: np.fmin(x, y), apart(4), broken(2, 4))]
UFUNC_CALLS["fmod"] += [(lambda x, y: np.fmod(x, y), few(5), count(5))]
UFUNC_CALLS["add"] += [(lambda x: np.add(x, 1, dtype=np.float32), X)]
UFUNC_CALLS["power"] += [(lambda x: np.power(x, 3), few(5)), (lambda x: np.power(x, 2), X)]
UFUNC_CALLS["exp"] += [(lambda x: np.exp(x, out=None, where=True), X)]

METHOD_CALLS = {
    "add.reduce": [
        (lambda x: np.add.reduce(x), X),
        (lambda x: np.add.reduce(x, axis=None, initial=1.0), X),
        (lambda x: np.add.reduce(x, 1, keepdims=True), X),
    ],
    "multiply.reduce": [(lambda x: np.multiply.reduce(x, axis=(0, 1)), nonzero(2, 3))],
    "maximum.reduce": [
        (lambda x: np.maximum.reduce(x), near(3, 5)),
        (lambda x, y: np.maximum.reduce(np.stack([x, y]), initial=0.0), near(3), apart(3)),
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
