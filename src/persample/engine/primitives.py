"""The complete list of primitives, each with its NumPy implementation.

To add one, say ``exp2``: a row here (for a ufunc, its name in a list below), a row of VJP rules
in ``vjps``, a row in ``batching.batch_rules`` (an ELEMENTWISE primitive has one already), and test
cases in ``tests/support/specs.py``. One-input ufuncs are then functions of the namespace:
``xp.exp2(x)``.
"""

import numpy as np

from .contraction import contract
from .core import ELEMENTWISE, OTHER, VIEW, Primitive, bind


def _slice(x, slices):
    return x[tuple([slice(*s) for s in slices])]


def _pad(x, shape, slices):
    padded = np.zeros(shape, x.dtype)
    padded[tuple([slice(*s) for s in slices])] = x
    return padded


def _batch_grid(indices, batch_dims):
    """Return ``np.arange`` along each batch axis, in shapes that broadcast with ``indices``."""
    axes = [np.arange(n) for n in indices.shape[:batch_dims]]
    return tuple([a.reshape(a.shape + (1,) * (indices.ndim - 1 - i)) for i, a in enumerate(axes)])


def _take(x, indices, batch_dims):
    if batch_dims == 0:
        return np.take(x, indices, axis=0)  # a copy always; x[i] is a view if i is 0-d
    return x[_batch_grid(indices, batch_dims) + (indices,)]


def _scatter_add(x, indices, length, batch_dims):
    summed = np.zeros(x.shape[:batch_dims] + (length,) + x.shape[indices.ndim :], x.dtype)
    np.add.at(summed, _batch_grid(indices, batch_dims) + (indices,), x)
    return summed


def _cholesky(x):
    """Return the Cholesky factor of (x + x.mT) / 2; NumPy would read only one triangle of x."""
    return np.linalg.cholesky((x + x.mT) / 2)


def _round(x):
    """Return x rounded, ties to even, as a copy; np.round up to NumPy 2.3 copies no integers."""
    return np.round(x) if x.dtype.kind in "fc" else np.array(x)


# Names of ufuncs: with one input (SMOOTH, ZERO_SLOPE) and with two (the PAIRS).
SMOOTH = ["negative", "abs", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt"]
SMOOTH += ["sin", "cos", "tan", "asin", "acos", "atan"]
SMOOTH += ["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]
ZERO_SLOPE = ["sign", "floor", "ceil", "trunc", "isfinite", "isinf", "isnan", "signbit"]
ZERO_SLOPE += ["bitwise_invert"]
PAIRS = ["remainder", "atan2", "hypot", "logaddexp"]
ZERO_SLOPE_PAIRS = ["floor_divide", "nextafter", "bitwise_and", "bitwise_or", "bitwise_xor"]
ZERO_SLOPE_PAIRS += ["bitwise_left_shift", "bitwise_right_shift"]

PRIMITIVES = {
    p.name: p
    for p in [
        # One input, the ufunc of the same name.
        *[Primitive(name, getattr(np, name), ELEMENTWISE) for name in SMOOTH + ZERO_SLOPE],
        Primitive("round", _round, ELEMENTWISE),
        Primitive("stop_gradient", lambda x: x, VIEW),
        Primitive("astype", lambda x, dtype: x.astype(dtype), ELEMENTWISE),
        # Inputs of one call have one dtype (but for the condition of ``where``) and one shape;
        # only a constant number, a NumPy scalar, stays unbroadcast.
        Primitive("add", np.add, ELEMENTWISE),
        Primitive("subtract", np.subtract, ELEMENTWISE),
        Primitive("multiply", np.multiply, ELEMENTWISE),
        Primitive("divide", np.divide, ELEMENTWISE),
        Primitive("power", np.power, ELEMENTWISE),
        Primitive("maximum", np.maximum, ELEMENTWISE),
        Primitive("minimum", np.minimum, ELEMENTWISE),
        Primitive("equal", np.equal, ELEMENTWISE),
        Primitive("not_equal", np.not_equal, ELEMENTWISE),
        Primitive("less", np.less, ELEMENTWISE),
        Primitive("less_equal", np.less_equal, ELEMENTWISE),
        Primitive("where", np.where, ELEMENTWISE),
        *[Primitive(name, getattr(np, name), ELEMENTWISE) for name in PAIRS + ZERO_SLOPE_PAIRS],
        # Every product and sum of products: matmul, dot, outer. Letters as in np.einsum.
        Primitive("einsum", lambda x, y, subscripts: contract(subscripts)(x, y), OTHER),
        Primitive("sum", lambda x, axes: np.sum(x, axis=axes), OTHER),
        Primitive("max", lambda x, axes: np.max(x, axis=axes), OTHER),
        Primitive("min", lambda x, axes: np.min(x, axis=axes), OTHER),
        Primitive("prod", lambda x, axes: np.prod(x, axis=axes), OTHER),
        Primitive("cumulative_sum", np.cumulative_sum, OTHER),
        Primitive("cumulative_prod", np.cumulative_prod, OTHER),
        Primitive("argmax", np.argmax, OTHER),
        Primitive("argmin", np.argmin, OTHER),
        Primitive("argsort", lambda x, axis: np.argsort(x, axis=axis, stable=True), OTHER),
        Primitive("reshape", np.reshape, VIEW),
        Primitive("permute_dims", np.permute_dims, VIEW),
        Primitive("broadcast_to", np.broadcast_to, VIEW),
        Primitive("concat", lambda *xs, axis: np.concatenate(xs, axis=axis), OTHER),
        Primitive("slice", _slice, VIEW),
        Primitive("pad", _pad, OTHER),  # zeros, and x at slices
        # The axis taken from follows ``batch_dims`` axes that x and indices share.
        Primitive("take", _take, OTHER),
        Primitive("scatter_add", _scatter_add, OTHER),
        # Matrices in the last two axes.
        Primitive("solve", np.linalg.solve, OTHER),
        Primitive("cholesky", _cholesky, OTHER),
        Primitive("log_abs_det", lambda x: np.linalg.slogdet(x)[1], OTHER),
        Primitive("sign_of_det", lambda x: np.linalg.slogdet(x)[0], OTHER),
    ]
}


def apply(name, *inputs, **params):
    """Apply the primitive of this name to arrays or tracers; ``params`` are its keywords."""
    return bind(PRIMITIVES[name], *inputs, **params)
