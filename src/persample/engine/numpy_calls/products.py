"""Products, ``numpy.linalg`` (what needs no eigenvalues), triangular parts, differences."""

import numpy as np

from .. import namespace as xp
from . import refuse


def dot(a, b, /):
    a, b = xp.asarray(a), xp.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return xp.multiply(a, b)
    if b.ndim < 3:
        return xp.matmul(a, b)
    return xp.tensordot(a, b, axes=((-1,), (-2,)))


def inner(a, b, /):
    a, b = xp.asarray(a), xp.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return xp.multiply(a, b)
    return xp.tensordot(a, b, axes=((-1,), (-1,)))


def outer(a, b, /):
    return xp.linalg.outer(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))


def einsum(*operands):
    return xp.einsum(*operands)


def diag(v, /, k=0):
    if v.ndim == 2:
        return xp.linalg.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"np.diag: an array of shape {v.shape}; give a vector or a matrix.")
    line = xp.concat([v, np.zeros(abs(k), v.dtype)])
    spread = line if k < 0 else xp.reshape(line, (-1, 1))
    return xp.where(np.eye(line.shape[0], k=k, dtype=np.bool), spread, xp.zeros((), dtype=v.dtype))


def diagonal(a, /, offset=0, axis1=0, axis2=1):
    return xp.linalg.diagonal(xp.moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def trace(a, /, offset=0, axis1=0, axis2=1):
    return xp.sum(diagonal(a, offset, axis1, axis2), -1)


def norm(x, /, ord=None, axis=None, keepdims=False):
    """Return a vector norm or, over several axes, the 2-norm of all elements; else TypeError."""
    count = x.ndim if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if ord is None or (ord == "fro" and count == 2):
        return xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims)
    if count != 1:
        refuse("linalg.norm", f"ord={ord!r} over {count} axes was given", 'use ord="fro"')
    return xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def diff(a, /, n=1, axis=-1):
    return xp.diff(a, axis=axis, n=n)


# Rows for numpy_functions.ANSWERS: those of the engine under the same name, and those made here.
SAME = "det slogdet inv solve cholesky matrix_power outer cross diagonal trace matrix_norm"
SAME += " vector_norm matmul tensordot vecdot matrix_transpose"
ANSWERS = {
    **{f"linalg.{name}": getattr(xp.linalg, name) for name in SAME.split()},
    **{name: getattr(xp, name) for name in ("tensordot", "tril", "triu")},
    **{f.__name__: f for f in (dot, inner, outer, einsum, diag, diagonal, trace, diff)},
    "linalg.norm": norm,
    "cross": xp.linalg.cross,
}
