"""Random projections of rows: their inner products estimate those of the rows.

A module of its own because `recorder` uses the same signs and contraction to project without
forming rows.
"""

import math
from numbers import Integral
from typing import Any

import numpy as np

from .arrays import backend_of, widened
from .backends import backend
from .checks import is_count, refuse_traced

SCRATCH = 2**20  # numbers in a work buffer


def project(rows: Any, dim: int, seed: int = 0) -> Any:
    """Return random projections z_i of the rows g_i, (B, dim), with E[z_i . z_j] = g_i . g_j.

    Entry k of z_i is a sum over the parameters. A parameter of shape (p, \\*rest) contributes
    a_k^T G c_k / sqrt(dim), where G is its part of g_i as a matrix p x d and d is the product of
    rest; a vector contributes a_k . G / sqrt(dim). The entries of a_k and c_k are independent
    random signs, 1 or -1, and the expectation is over these. The standard deviation of z_i . z_j
    is at most 3 |g_i| |g_j| / sqrt(dim), for any number of parameters.

    Two calls with the same ``seed`` and ``dim``, for rows of the same parameters, use the same
    signs, so products between their results are estimates too. 16-bit rows are projected in
    float32. ``record.project`` computes the same numbers without forming rows.

    Raises
    ------
    ValueError : ``dim`` is not an integer above 0, or ``seed`` not an integer, 0 or more.
    TypeError : ``dim`` or ``seed`` is traced, or ``rows`` holds no array.
    Example
    -------
    >>> import numpy as np
    >>> rows = {"w": np.array([[[1.0, 0.0], [2.0, 3.0]], [[0.0, 4.0], [0.0, 1.0]]])}
    >>> z = project(rows, dim=10_000)
    >>> exact = np.array([[14.0, 3.0], [3.0, 17.0]])
    >>> z.shape, bool(abs(z @ z.T - exact).max() < 1)
    ((2, 10000), True)

    Source: Achlioptas (2003) for signs; Sun et al. (2021) for products of two vectors;
    Park et al. (2023) for projected rows.
    """
    own = backend(backend_of(rows, where="project"))
    arrays = own.flatten(rows)[0]  # in the order of the tree, in a compiled function too
    xp, signs, total = own.namespace(arrays[0]), Signs("project", dim, seed), 0
    for x in arrays:
        x = widened(x)
        place = {"dtype": x.dtype, "device": getattr(x, "device", None)}  # None: inside jax.jit
        vectors = [xp.asarray(v, **place) for v in signs.vectors(x.shape[1:])]
        total = total + contracted(x, vectors, xp)
    return total / math.sqrt(dim)


class Signs:
    """The random signs of one projection; call `vectors` once per parameter, in order."""

    def __init__(self, where: str, dim: int, seed: int) -> None:
        refuse_traced(where, dim=dim, seed=seed)
        if not is_count(dim):
            raise ValueError(
                f"{where}: dim={dim!r}; give the number of values to keep of each row, 1 or more."
            )
        if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
            raise ValueError(f"{where}: seed={seed!r}; give an integer, 0 or more.")
        self._dim, self._rng = int(dim), np.random.default_rng(int(seed))

    def vectors(self, shape: tuple[int, ...]) -> list[np.ndarray]:
        """Return the random signs for the next parameter, of this shape (p, ...), as int8 arrays.

        Their shapes are [(p, dim)] for a vector or a number (p = 1), else [(p, dim), (d, dim)],
        where d is the product of the other lengths.
        """
        first, *rest = shape or (1,)
        sizes = [first, math.prod(rest)] if rest else [first]
        return [
            2 * self._rng.integers(0, 2, (size, self._dim), dtype=np.int8) - 1 for size in sizes
        ]


def contracted(rows: Any, vectors: list, xp: Any) -> Any:
    """Return the contraction of one parameter's rows, (B, dim): a_k^T G_i c_k, or a_k . g_i.

    ``vectors`` are those of `Signs.vectors` as arrays of the namespace xp. The longer axis is
    summed first, which leaves min(p, d) x dim numbers per sample. Samples are processed in groups
    with at most `SCRATCH` such numbers, but at least one sample.
    """
    size = rows.shape[0]
    if len(vectors) == 1:
        return xp.reshape(rows, (size, vectors[0].shape[0])) @ vectors[0]
    left, right = vectors
    matrices = xp.reshape(rows, (size, left.shape[0], right.shape[0]))
    if left.shape[0] > right.shape[0]:
        matrices, left, right = matrices.mT, right, left
    step = max(1, SCRATCH // max(1, math.prod(left.shape)))
    parts = [
        xp.sum((matrices[start : start + step] @ right) * left, axis=1)
        for start in range(0, size, step)
    ]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
