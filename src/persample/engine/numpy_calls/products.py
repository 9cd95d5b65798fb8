"""Products of vectors, matrices and arrays of any number of axes."""

from string import ascii_letters

import numpy as np

from .. import namespace as xp
from . import Fixed, refuse
from .matrices import diag


def dot(a, b, out: Fixed = None):
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


def outer(a, b, out: Fixed = None):
    return xp.linalg.outer(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))


def vdot(a, b, /):
    return xp.vecdot(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))


def tensordot(a, b, axes=2):
    if np.iterable(axes):
        axes = [list(named) if np.iterable(named) else [named] for named in axes]
    return xp.tensordot(a, b, axes=axes)


def kron(a, b):
    a, b = xp.asarray(a), xp.asarray(b)
    most = max(a.ndim, b.ndim)
    a, b = [xp.reshape(x, (1,) * (most - x.ndim) + x.shape) for x in (a, b)]
    rows = xp.reshape(a, [m for n in a.shape for m in (n, 1)])
    columns = xp.reshape(b, [m for n in b.shape for m in (1, n)])
    whole = [n * m for n, m in zip(a.shape, b.shape, strict=True)]
    return xp.reshape(xp.multiply(rows, columns), whole)


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = xp.moveaxis(a, axisa, -1), xp.moveaxis(b, axisb, -1)
    return xp.moveaxis(xp.linalg.cross(a, b), -1, axisc)


def einsum(*operands, out: Fixed = None, optimize=False, **kwargs):
    """``optimize`` may be anything: it says in which order to multiply, and changes no value."""
    if kwargs:
        refuse("einsum", f"{', '.join(kwargs)} was given", "leave it out")
    subscripts, *arrays = operands
    if not isinstance(subscripts, str):
        refuse(
            "einsum",
            "the axes were given as lists of numbers",
            'give them as letters: np.einsum("ij,jk->ik", x, y)',
        )
    return xp.einsum(_without_dots(subscripts.replace(" ", ""), arrays), *arrays)


def _without_dots(subscripts, arrays):
    """Return the subscripts with a letter for each axis that an ellipsis stands for."""
    if "..." not in subscripts:
        return subscripts
    inputs, arrow, out = subscripts.partition("->")
    inputs = inputs.split(",")
    free = "".join(a for a in ascii_letters if a not in subscripts)
    many = [
        xp.asarray(x).ndim - len(letters.replace("...", "")) if "..." in letters else 0
        for letters, x in zip(inputs, arrays, strict=True)
    ]
    spread = free[: max(many)]
    named = [
        letters.replace("...", spread[len(spread) - n :])
        for letters, n in zip(inputs, many, strict=True)
    ]
    if not arrow:
        own = "".join(inputs).replace("...", "")
        out = "..." + "".join(sorted(a for a in set(own) if own.count(a) == 1))
    return f"{','.join(named)}->{out.replace('...', spread)}"


def convolve(a, v, mode="full"):
    a, v = xp.reshape(a, (-1,)), xp.reshape(v, (-1,))
    a, v = (v, a) if v.shape[0] > a.shape[0] else (a, v)
    n, m = a.shape[0], v.shape[0]
    margin = np.zeros(m - 1, a.dtype)
    windows = np.arange(n + m - 1)[:, None] + np.arange(m)
    full = xp.matmul(xp.take(xp.concat([margin, a, margin]), windows), xp.flip(v))
    parts = {
        "full": slice(None),
        "same": slice((m - 1) // 2, (m - 1) // 2 + n),
        "valid": slice(m - 1, n),
    }
    if mode not in parts:
        refuse("convolve", f"mode={mode!r}", 'choose "full", "same" or "valid"')
    return full[parts[mode]]


def correlate(a, v, mode="valid"):
    a, v = xp.reshape(a, (-1,)), xp.reshape(v, (-1,))
    if v.shape[0] > a.shape[0]:
        return xp.flip(convolve(v, xp.flip(a), mode))
    return convolve(a, xp.flip(v), mode)


def cov(
    m,
    y=None,
    rowvar=True,
    bias=False,
    ddof=None,
    fweights: Fixed = None,
    aweights: Fixed = None,
    *,
    dtype: Fixed = None,
):
    parts = [xp.astype(x, xp.float64) for x in (m, y) if x is not None]  # as NumPy does
    parts = [x.T if not rowvar and x.ndim > 1 else xp.reshape(x, (-1, x.shape[-1])) for x in parts]
    x = xp.concat(parts)
    ddof = (0 if bias else 1) if ddof is None else ddof
    off = xp.subtract(x, xp.mean(x, 1, keepdims=True))
    products = xp.divide(xp.matmul(off, xp.matrix_transpose(off)), float(x.shape[1] - ddof))
    return xp.reshape(products, ()) if x.shape[0] == 1 else products


def corrcoef(x, y=None, rowvar=True, *, dtype: Fixed = None):
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return xp.divide(c, c)
    size = xp.sqrt(diag(c))
    return xp.clip(xp.divide(xp.divide(c, xp.reshape(size, (-1, 1))), size), -1.0, 1.0)


def multi_dot(arrays, *, out: Fixed = None):
    """The product is taken from the left."""
    first, *rest = arrays
    for x in rest:
        first = dot(first, x)
    return first


# Products of the last axes, as NumPy's ufuncs of these names.


def vecdot(x1, x2):
    return xp.vecdot(x1, x2)


def matvec(x1, x2):
    return xp.matmul(x1, xp.asarray(x2)[..., None])[..., 0]


def vecmat(x1, x2):
    return xp.matmul(xp.asarray(x1)[..., None, :], x2)[..., 0, :]


# Rows for numpy_functions.ANSWERS.
ANSWERS = {
    **{"dot": dot, "inner": inner, "outer": outer, "vdot": vdot, "kron": kron, "cross": cross},
    **{"tensordot": tensordot, "einsum": einsum, "linalg.multi_dot": multi_dot},
    **{"convolve": convolve, "correlate": correlate, "cov": cov, "corrcoef": corrcoef},
}
# Rows for numpy_functions.UFUNCS.
UFUNCS = {"matmul": xp.matmul, "vecdot": vecdot, "matvec": matvec, "vecmat": vecmat}
