"""Diagonals, triangles, and numpy.linalg without what needs eigenvalues or singular values."""

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real
from ..operations import axis_of
from . import Fixed, refuse
from .shapes import expand_dims


def diag(v, k=0):
    if v.ndim == 2:
        return xp.linalg.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"np.diag: an array of shape {v.shape}; give a vector or a matrix.")
    line = xp.concat([v, np.zeros(abs(k), v.dtype)])
    spread = line if k < 0 else xp.reshape(line, (-1, 1))
    return xp.where(np.eye(line.shape[0], k=k, dtype=np.bool), spread, xp.zeros((), dtype=v.dtype))


def diagflat(v, k=0):
    return diag(xp.reshape(v, (-1,)), k)


def diagonal(a, offset=0, axis1=0, axis2=1):
    return xp.linalg.diagonal(xp.moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out: Fixed = None):
    return xp.sum(diagonal(a, offset, axis1, axis2), -1, dtype=dtype)


def tril(m, k=0):
    lower = np.tri(*m.shape[-2:], k=k, dtype=np.bool)
    return xp.where(lower, m, np.zeros((), m.dtype))


def triu(m, k=0):
    lower = np.tri(*m.shape[-2:], k=k - 1, dtype=np.bool)
    return xp.where(lower, np.zeros((), m.dtype), m)


def norm(x, ord=None, axis=None, keepdims=False):
    x = real(x)
    if axis is None and (ord is None or x.ndim not in (1, 2)):
        if ord is not None:
            refuse("linalg.norm", f"ord={ord!r} for {x.ndim} axes", "say with axis= which to use")
        return xp.linalg.vector_norm(x, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple([axis_of(x.ndim, i) for i in axes])
    if len(axes) == 1 and not isinstance(ord, str):
        ord = 2 if ord is None else ord
        return xp.linalg.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=ord)
    if len(axes) != 2 or ord not in (None, "fro", "f", 1, -1, np.inf, -np.inf):
        refuse(
            "linalg.norm",
            f"ord={ord!r} over {len(axes)} axes, for which the engine has no derivative",
            'give one axis, or two with ord "fro", 1, -1, inf or -inf',
        )
    ord = "fro" if ord in (None, "f") else ord
    size = xp.linalg.matrix_norm(xp.moveaxis(x, axes, (-2, -1)), ord=ord)
    return expand_dims(size, axes) if keepdims else size


def det(a):
    return xp.linalg.det(a)


def slogdet(a):
    return xp.linalg.slogdet(a)


def inv(a):
    return xp.linalg.inv(a)


def solve(a, b):
    return xp.linalg.solve(a, b)


def matrix_power(a, n):
    return xp.linalg.matrix_power(a, n)


# Rows for numpy_functions.ANSWERS: some are the Array API's functions, which NumPy has as well.
ANSWERS = {
    **{"diag": diag, "diagflat": diagflat, "diagonal": diagonal, "trace": trace},
    **{"tril": tril, "triu": triu, "linalg.norm": norm},
    **{"linalg.det": det, "linalg.slogdet": slogdet, "linalg.inv": inv, "linalg.solve": solve},
    **{"linalg.matrix_power": matrix_power, "linalg.cholesky": xp.linalg.cholesky},
    **{"linalg.matmul": xp.matmul, "linalg.tensordot": xp.tensordot, "linalg.vecdot": xp.vecdot},
    **{"linalg.outer": xp.linalg.outer, "linalg.cross": xp.linalg.cross},
    **{"linalg.diagonal": xp.linalg.diagonal, "linalg.trace": xp.linalg.trace},
    **{"linalg.matrix_norm": xp.linalg.matrix_norm, "linalg.vector_norm": xp.linalg.vector_norm},
}
