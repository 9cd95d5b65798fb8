"""Matrices: norms, determinants, linear systems, with the VJP rules of their primitives.

The matrices may have leading batch axes. Functions that need eigenvalues or singular values are
missing (see ``MISSING``): losses rarely use them, and their derivatives fail where values tie.
"""

import builtins
from typing import Any, NamedTuple

import numpy as np

from ..operations import (
    add,
    asarray,
    astype,
    broadcast_to,
    equal,
    matmul,
    max,
    min,
    multiply,
    negative,
    not_equal,
    pow,
    reduce,
    reshape,
    subtract,
    sum,
    where,
)
from ..primitives import apply
from .creation import tril
from .elementwise import abs, exp, real, sqrt
from .products import outer, tensordot, vecdot  # noqa: F401, the standard has them here too
from .shapes import expand_dims, matrix_transpose, moveaxis, stack

# Names of the standard that the engine lacks, with the reason.
MISSING = dict.fromkeys(
    ("eig", "eigh", "eigvals", "eigvalsh", "matrix_rank", "pinv", "qr", "svd", "svdvals"),
    "losses rarely need it, and its derivatives fail where values tie",
)


def __getattr__(name: str):
    """Raise AttributeError for a missing name, with the reason."""
    reason = MISSING.get(name, "write it with those that it has")
    raise AttributeError(f"the NumPy engine has no function 'linalg.{name}': {reason}.")


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


def _square(where, x):
    x = real(asarray(x))
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"linalg.{where}: shape {x.shape} is no square matrix; give one.")
    return x


def solve(x1, x2, /):
    """Return the solution x of x1 @ x = x2; x2 is a vector (1-d), or a matrix of columns."""
    a, b = _square("solve", x1), real(asarray(x2))
    vector = b.ndim == 1
    b = expand_dims(b, -1) if vector else b
    if b.ndim == 0 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"linalg.solve: shapes {a.shape} and {x2.shape} do not fit.")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = [broadcast_to(astype(v, dtype), batch + v.shape[-2:]) for v in (a, b)]
    x = apply("solve", a, b)
    return x[..., 0] if vector else x


def inv(x, /):
    """Return the inverse of square matrices in the last two axes."""
    x = _square("inv", x)
    return solve(x, np.eye(x.shape[-1], dtype=x.dtype))


def cholesky(x, /, *, upper=False):
    """Return the Cholesky factor L of a positive definite x = L @ L.mT, or L.mT if ``upper``."""
    factor = apply("cholesky", _square("cholesky", x))
    return matrix_transpose(factor) if upper else factor


def slogdet(x, /):
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    x = _square("slogdet", x)
    return SlogdetResult(apply("sign_of_det", x), apply("log_abs_det", x))


def det(x, /):
    """Return the determinant; its derivative needs an invertible matrix."""
    sign, logabsdet = slogdet(x)
    return multiply(sign, exp(logabsdet))


def diagonal(x, /, *, offset=0):
    """Return the diagonal of the last two axes that is ``offset`` above the main one."""
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"linalg.diagonal: shape {x.shape} is no matrix; give two axes or more.")
    *batch, n, m = x.shape
    fits = (n + offset, m) if offset < 0 else (n, m - offset)
    count = builtins.max(0, builtins.min(fits))
    start = -offset * m if offset < 0 else offset
    flat = reshape(x, (*batch, n * m))
    return flat[..., start : start + count * (m + 1) : m + 1]


def trace(x, /, *, offset=0, dtype=None):
    """Return the sum over the diagonal that `diagonal` returns."""
    return sum(diagonal(x, offset=offset), -1, dtype=dtype)


def cross(x1, x2, /, *, axis=-1):
    """Return the vector product along an axis of length 3."""
    x, y = [moveaxis(v, axis, -1) for v in (x1, x2)]
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            f"linalg.cross: the axes have lengths {x.shape[-1]} and {y.shape[-1]}; both need 3."
        )
    parts = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        ahead, behind = multiply(x[..., i], y[..., j]), multiply(x[..., j], y[..., i])
        parts.append(subtract(ahead, behind))
    return moveaxis(stack(parts, axis=-1), -1, axis)


def matrix_power(x, n, /):
    """Return the n-th power of the square matrix x; a negative n inverts x first."""
    x = _square("matrix_power", x)
    x, n = (inv(x), -n) if n < 0 else (x, n)
    power = broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    while n:
        power = matmul(power, x) if n % 2 else power
        x, n = matmul(x, x), n // 2
    return power


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Return the ``ord``-norm over axes (0: number of nonzeros); its gradient is 0 at x = 0."""
    x = real(asarray(x))
    if ord == 2:
        return _power(sum(multiply(x, x), axis, keepdims), 0.5)
    if ord == 0:
        return sum(astype(not_equal(x, 0), x.dtype), axis, keepdims)
    size = abs(x)
    if ord in (np.inf, -np.inf):
        return reduce("max" if ord > 0 else "min", size, axis, keepdims)
    if ord == 1:
        return sum(size, axis, keepdims)
    return _power(sum(_power(size, ord), axis, keepdims), 1.0 / ord)


def _power(x, exponent):
    """Return x ** exponent for x >= 0 with derivative 0 at x = 0, as in PyTorch's norms."""
    zero, exponent = equal(x, 0), float(exponent)
    positive = where(zero, 1.0, x)
    power = sqrt(positive) if exponent == 0.5 else pow(positive, exponent)
    return where(zero, 0.0 if exponent > 0 else np.inf, power)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Return a norm of the matrices in the last two axes: Frobenius ("fro"), 1-norm or inf-norm.

    1 and inf are the largest absolute sum of a column and of a row, -1 and -inf the smallest.
    """
    x = real(asarray(x))
    if x.ndim < 2:
        raise ValueError(
            f"linalg.matrix_norm: shape {x.shape} is no matrix; give two axes or more."
        )
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise NotImplementedError(
            f'linalg.matrix_norm: ord={ord!r} needs singular values; choose "fro", 1, -1, inf '
            "or -inf."
        )
    sums = sum(abs(x), -2 if ord in (1, -1) else -1, keepdims=True)
    norm = (max if ord > 0 else min)(sums, (-2, -1), keepdims=True)
    return norm if keepdims else norm[..., 0, 0]


# The rules -------------------------------------------------------------------------------------


def _solve_a(ct, out, a, b):
    return negative(matmul(_solve_b(ct, out, a, b), matrix_transpose(out)))


def _solve_b(ct, out, a, b):
    return apply("solve", matrix_transpose(a), ct)


def _cholesky(ct, out, x):
    """Return the cotangent of x: L^-T P(L^T ct) L^-1, symmetric.

    P takes the lower triangle and half of the diagonal.

    Source: Murray (2016), Differentiation of the Cholesky decomposition, equation 10.
    """
    turned = matrix_transpose(out)
    half = np.asarray(1.0 - 0.5 * np.eye(x.shape[-1]), x.dtype)
    inner = multiply(tril(matmul(turned, ct)), half)
    left = matrix_transpose(apply("solve", turned, inner))
    both = apply("solve", turned, left)
    return multiply(add(both, matrix_transpose(both)), 0.5)


def _log_abs_det(ct, out, x):
    return multiply(reshape(ct, (*ct.shape, 1, 1)), matrix_transpose(inv(x)))


# Rows for vjps.vjp_rules.
vjp_rules = {
    "solve": (_solve_a, _solve_b),
    "cholesky": (_cholesky,),
    "log_abs_det": (_log_abs_det,),
    "sign_of_det": (None,),
}
