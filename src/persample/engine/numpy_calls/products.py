"""Products of arrays, numpy.linalg without what needs eigenvalues, differences."""

import numpy as np

from .. import namespace as xp
from ..functions.elementwise import real
from ..operations import axis_of
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


def vdot(a, b, /):
    return xp.vecdot(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))


def einsum(*operands):
    if not isinstance(operands[0], str):
        refuse(
            "einsum",
            "the axes were given as lists of numbers",
            'give them as letters: np.einsum("ij,jk->ik", x, y)',
        )
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


def trace(a, /, offset=0, axis1=0, axis2=1, dtype=None):
    return xp.sum(diagonal(a, offset, axis1, axis2), -1, dtype=dtype)


def norm(x, /, ord=None, axis=None, keepdims=False):
    x = real(x)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple([axis_of(x.ndim, i) for i in axes])
    if ord is None or (len(axes) == 2 and ord in ("fro", "f")):
        return xp.linalg.vector_norm(x, axis=axes, keepdims=keepdims)
    if len(axes) == 1 and not isinstance(ord, str):
        return xp.linalg.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=ord)
    if len(axes) != 2 or ord not in (1, -1, np.inf, -np.inf):
        refuse(
            "linalg.norm",
            f"ord={ord!r} over {len(axes)} axes, for which the engine has no derivative",
            'give one axis, or two with ord "fro", 1, -1, inf or -inf',
        )
    size = xp.linalg.matrix_norm(xp.moveaxis(x, axes, (-2, -1)), ord=ord)
    return xp.expand_dims(size, axes) if keepdims else size


def diff(a, /, n=1, axis=-1, prepend=None, append=None):
    axis = axis_of(a.ndim, axis)
    one = a.shape[:axis] + (1,) + a.shape[axis + 1 :]
    ends = [x if x is None or np.ndim(x) else xp.broadcast_to(x, one) for x in (prepend, append)]
    return xp.diff(a, axis=axis, n=n, prepend=ends[0], append=ends[1])


# Rows for numpy_functions.ANSWERS: those of the engine under the same name, and those made here.
SAME = "det slogdet inv solve cholesky matrix_power outer cross diagonal trace matrix_norm"
SAME += " vector_norm matmul tensordot vecdot matrix_transpose"
ANSWERS = {
    **{f"linalg.{name}": getattr(xp.linalg, name) for name in SAME.split()},
    **{name: getattr(xp, name) for name in ("tensordot", "tril", "triu")},
    **{f.__name__: f for f in (dot, inner, outer, vdot, einsum, diag, diagonal, trace, diff)},
    "linalg.norm": norm,
    "cross": xp.linalg.cross,
}
