"""Statistics of rows: norms, clipping, sums, products, mean, variance, noise scale, projections.

Rows are what ``per_sample_grad`` returns: a tree of arrays, each with the samples along axis 0,
without a factor 1/B. The *row* g_i of sample i is its part of all these arrays together.
"""

import math
from functools import reduce
from operator import add
from typing import Any

from .arrays import (
    array_namespace,
    backend_of,
    is_traced,
    leaves,
    stop_gradient,
    tree_map,
    widened,
)
from .backends import backend
from .checks import is_number, refuse_traced
from .projection import project

__all__ = [
    "clip",
    "clipped_sum",
    "cosines",
    "flatten",
    "gram",
    "mean",
    "noise_scale",
    "norms",
    "project",
    "signal_and_noise",
    "variance",
    "weighted_sum",
]


def norms(rows: Any) -> Any:
    """Return the norms of per-sample gradients, (B,): |g_i|, over all arrays of the tree.

    |g_i| is the square root of the sum of all squared entries. If a square would overflow or
    underflow, each row is first divided by its largest absolute value. The norms of 16-bit rows
    are float32.

    Example
    -------
    >>> import numpy as np
    >>> norms({"w": np.array([[3.0], [0.0]]), "b": np.array([4.0, 2.0])})
    array([5., 2.])
    """
    xp, arrays = array_namespace(rows), leaves(rows)
    flat = [widened(_flat(x)) for x in arrays if 0 not in x.shape]
    if not flat:
        return xp.zeros_like(widened(xp.sum(arrays[0], axis=tuple(range(1, arrays[0].ndim)))))

    def plain():
        squares = _sum_of_squares(flat)
        # In float32 squares below 1e-37 vanish: in a sum above 1e-24 they do not count.
        return _root(squares), xp.all((squares > 1e-24) & (squares < math.inf))

    return backend(backend_of(flat[0])).first_right(flat[0], plain, lambda: _scaled_norms(flat))


def _sum_of_squares(flat):
    """Return the sum of the squares of each row, (B,), from a list of arrays (B, P_k)."""
    return reduce(add, [array_namespace(x).sum(x**2, axis=1) for x in flat])


def _root(x):
    """Return the square root of x; where x is 0, its derivative is 0 instead of infinity."""
    xp = array_namespace(x)
    return xp.where(x == 0, xp.zeros_like(x), xp.sqrt(xp.where(x == 0, xp.ones_like(x), x)))


def _scaled_norms(flat):
    """Return the norms of the rows, (B,), with each row divided by its largest entry first."""
    xp = array_namespace(flat[0])
    scale = stop_gradient(reduce(xp.maximum, [xp.max(xp.abs(x), axis=1) for x in flat]))
    scale = xp.where((scale > 0) & (scale < math.inf), scale, xp.ones_like(scale))
    return scale * _root(_sum_of_squares([x / along(scale, x) for x in flat]))


def clip(rows: Any, max_norm: float) -> Any:
    """Return per-sample gradients clipped to the norm ``max_norm``: g_i min(1, max_norm / |g_i|).

    The norm is over all arrays of the tree, so a clipped row keeps its direction. The result is a
    tree like ``rows``, of the same dtypes. Raise ValueError if max_norm is not one number above 0.

    Example
    -------
    >>> import numpy as np
    >>> clip(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])

    Source: Abadi et al. (2016), algorithm 1.
    """
    factors = clipping_factors(norms(rows), checked_bound("clip", max_norm, rows))

    def clipped(x):
        product = widened(x) * along(factors, x)
        return product if product.dtype == x.dtype else array_namespace(x).astype(product, x.dtype)

    return tree_map(clipped, rows)


def clipping_factors(sizes: Any, max_norm: Any) -> Any:
    """Return min(1, max_norm / |g_i|), (B,), from the norms, (B,), and a `checked_bound`."""
    ratios = sizes / max_norm  # 0 for a bound that is infinite
    xp = array_namespace(ratios)
    return 1.0 / xp.maximum(ratios, xp.ones_like(ratios))


def checked_bound(where: str, max_norm: Any, rows: Any) -> Any:
    """Return max_norm converted by `like`; raise ValueError unless it is one number above 0."""
    one = is_number(max_norm) or getattr(max_norm, "ndim", None) == 0
    if not one or (not is_traced(max_norm) and not max_norm > 0):
        raise ValueError(
            f"{where}: max_norm={max_norm!r}; give the largest norm of a row, a number above 0."
        )
    return like(max_norm if is_traced(max_norm) else float(stop_gradient(max_norm)), rows)


def clipped_sum(rows: Any, max_norm: float) -> Any:
    """Return the sum of the clipped rows, sum_i g_i min(1, max_norm / |g_i|): a tree like one row.

    Adding or removing one sample changes the sum by a vector of norm at most ``max_norm``. The
    sum is not private without noise, which `privacy.noisy_mean` adds. The sum of 16-bit rows is
    float32. Raise ValueError if max_norm is not one number above 0.

    Example
    -------
    >>> import numpy as np
    >>> clipped_sum(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    array([0.9, 1.2])
    """
    factors = clipping_factors(norms(rows), checked_bound("clipped_sum", max_norm, rows))
    return tree_map(lambda x: weighted(x, factors), rows)


def weighted_sum(rows: Any, weights: Any) -> Any:
    """Return the weighted sum of the rows, sum_i w_i g_i for weights (B,): a tree like one row.

    A sample of weight 0 is left out, even if its row holds inf or nan. Weights of 1 and 0 select
    samples; weights of 1/B give the mean. The sum of 16-bit rows is float32. Raise ValueError for
    weights of another shape, TypeError for complex weights.

    Example
    -------
    >>> import numpy as np
    >>> weighted_sum(np.array([[3.0, 4.0], [0.3, np.nan]]), np.array([2.0, 0.0]))
    array([6., 8.])
    """
    size = _size("weighted_sum", rows, 0)
    weights = real_weights("weighted_sum", weights, rows)
    if tuple(weights.shape) != (size,):
        raise ValueError(
            f"weighted_sum: the weights have shape {tuple(weights.shape)}; give one number for "
            f"each sample, ({size},)."
        )
    zero = weights == 0
    if is_traced(zero) or bool(array_namespace(zero).any(zero)):
        finite = lambda x: array_namespace(x).isfinite(x)  # noqa: E731
        rows = tree_map(lambda x: without(x, along(zero, x) & ~finite(x)), rows)
    return tree_map(lambda x: weighted(x, weights), rows)


def flatten(rows: Any) -> Any:
    """Return per-sample gradients as one array (B, P): each row as one vector of P numbers.

    The arrays are flattened and joined in the order of the tree; 16-bit rows become float32.

    Example
    -------
    >>> import numpy as np
    >>> flatten({"b": np.array([5.0, 6.0]), "w": np.array([[1.0, 2.0], [3.0, 4.0]])})
    array([[5., 1., 2.],
           [6., 3., 4.]])
    """
    flat = [widened(_flat(x)) for x in _ordered("flatten", rows)]
    return flat[0] if len(flat) == 1 else array_namespace(flat[0]).concat(flat, axis=1)


def gram(rows: Any, other: Any = None) -> Any:
    """Return the inner products of rows, (B, B'): g_i . g'_j, with g'_j the rows of ``other``.

    By default ``other`` is ``rows``, and the diagonal holds the squared norms. The products are
    summed over all arrays of the tree; those of 16-bit rows are float32. Raise ValueError if the
    arrays of the two trees differ in a shape other than the number of samples.

    Example
    -------
    >>> import numpy as np
    >>> gram(np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  3.],
           [ 3.,  1.]])
    """
    mine = _ordered("gram", rows)
    theirs = mine if other is None else _ordered("gram", other)
    if [x.shape[1:] for x in mine] != [x.shape[1:] for x in theirs]:
        raise ValueError("gram: the rows have different shapes; give rows of the same parameters.")
    pairs = zip(mine, theirs, strict=True)
    return reduce(add, [widened(_flat(x)) @ widened(_flat(y)).T for x, y in pairs])


def cosines(rows: Any, other: Any = None) -> Any:
    """Return the cosines of the angles between rows, (B, B'): g_i . g'_j / (|g_i| |g'_j|).

    The cosine of a row of zeros with any row is 0. ``other`` is as in `gram`.

    Example
    -------
    >>> import numpy as np
    >>> cosines(np.array([[3.0, 4.0], [2.0, 0.0]])).round(3)
    array([[1. , 0.6],
           [0.6, 1. ]])
    """
    mine = _units(rows)
    return gram(mine, mine if other is None else _units(other))


def _units(rows):
    """Return the rows divided by their norms, in float32 if 16-bit; rows of zeros stay zeros."""
    sizes = norms(rows)
    xp = array_namespace(sizes)
    sizes = xp.where(sizes > 0, sizes, xp.ones_like(sizes))
    return tree_map(lambda x: widened(x) / along(sizes, x), rows)


def weighted(x: Any, weights: Any, dropped: Any = None) -> Any:
    """Return sum_i w_i x_i over axis 0 of an array x, for weights (B,); float32 for 16-bit x.

    Samples where the mask ``dropped``, (B,), is true are left out even if x is not finite there.
    """
    x = widened(x)
    if dropped is not None:
        x = without(x, along(dropped, x))
    weights = array_namespace(weights).astype(weights, x.dtype)
    return backend(backend_of(x)).weighted_sum(weights, x)


def without(x: Any, dropped: Any) -> Any:
    """Return x with 0 where the mask ``dropped``, which broadcasts against x, is true."""
    xp = array_namespace(x)
    return xp.where(dropped, xp.zeros_like(x), x)


def like(x: Any, rows: Any) -> Any:
    """Return x as an array with the backend, device and dtype of the first leaf of ``rows``.

    A 16-bit dtype becomes float32. A traced x is only converted to the dtype.
    """
    first = widened(leaves(rows)[0])
    if is_traced(x):
        return array_namespace(x).astype(x, first.dtype)
    return backend(backend_of(first)).like(x, first)


def real_weights(where: str, weights: Any, rows: Any) -> Any:
    """Return weights as an array with the backend, device and dtype of the first leaf of ``rows``.

    A 16-bit dtype becomes float32. Raise TypeError, prefixed with ``where``, if the weights are
    complex.
    """
    if "complex" in str(getattr(weights, "dtype", "")):
        raise TypeError(f"{where}: the weights are complex; give one real number for each sample.")
    return like(weights, rows)


def mean(rows: Any) -> Any:
    """Return the mean row, (1/B) sum_i g_i: a tree like one row, of the same dtypes.

    It is the gradient of the mean loss.
    """
    xp = array_namespace(rows)
    return tree_map(lambda x: xp.mean(x, axis=0), rows)


def variance(rows: Any, correction: int = 1) -> Any:
    """Return the variance of per-sample gradients, entry by entry: a tree like one row.

    sum_i (g_i - mean)^2 / (B - correction): with correction 1 the unbiased estimate of the
    variance of the distribution of the samples, with 0 the variance of these B rows. Raise
    ValueError if B <= correction, TypeError if ``correction`` is traced.

    Example
    -------
    >>> import numpy as np
    >>> rows = np.array([0.0, -2.0, -4.0, -6.0])
    >>> float(variance(rows, correction=0)), round(float(variance(rows)), 6)
    (5.0, 6.666667)
    """
    refuse_traced("variance", correction=correction)
    size = _size("variance", rows, correction + 1)
    xp = array_namespace(rows)
    return tree_map(
        lambda x: xp.sum((x - xp.mean(x, axis=0)) ** 2, axis=0) / (size - correction), rows
    )


def signal_and_noise(rows: Any) -> tuple[Any, Any]:
    """Return unbiased estimates of |G|^2 and tr(Sigma), two 0-d arrays.

    G is the expected row, Sigma the covariance of one row. The expected squared norm of the mean
    row is |G|^2 + tr(Sigma) / B, so |G|^2 is estimated by |mean|^2 - tr(Sigma) / B, which may be
    negative. To estimate their ratio, average both over many batches *before* you divide. Raise
    ValueError for fewer than two samples.

    Source: McCandlish et al. (2018), appendix A, with batches of size 1 and B.
    """
    size = _size("signal_and_noise", rows, 2)
    total = lambda tree: sum(x.sum() for x in leaves(tree))  # noqa: E731
    noise = total(variance(rows))
    square = total(tree_map(lambda x: x**2, mean(rows)))
    return square - noise / size, noise


def noise_scale(rows: Any, unbiased: bool = True) -> Any:
    """Return tr(Sigma) / |G|^2, a 0-d array: the batch size at which noise and signal are equal.

    By default it is the ratio of the two estimates of `signal_and_noise`. The ratio is not itself
    unbiased; a negative one means that the batch is too small. ``unbiased=False`` divides by
    |mean row|^2 instead of the estimate of |G|^2, and so underestimates the ratio in small
    batches. Raise ValueError for fewer than two samples.

    Example
    -------
    >>> import numpy as np
    >>> rows = np.array([0.0, -2.0, -4.0, -6.0])
    >>> round(float(noise_scale(rows, unbiased=False)), 6), round(float(noise_scale(rows)), 6)
    (0.740741, 0.909091)

    Source: McCandlish et al. (2018), section 2 and appendix A ("simple noise scale").
    """
    signal, noise = signal_and_noise(rows)
    if not unbiased:
        signal = signal + noise / _size("noise_scale", rows, 2)
    return noise / signal


def _flat(x):
    return array_namespace(x).reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def along(factors: Any, x: Any) -> Any:
    """Return the factors, (B,), reshaped to (B, 1, ..., 1), so that they broadcast against x."""
    return array_namespace(x).reshape(factors, (-1,) + (1,) * (x.ndim - 1))


def _ordered(where, rows):
    """Return the arrays in the tree's order, which `leaves` does not keep in torch.compile."""
    return backend(backend_of(rows, where=where)).flatten(rows)[0]


def _size(where, rows, least):
    size = leaves(rows)[0].shape[0]
    if size < least:
        raise ValueError(f"{where}: {size} samples; at least {least} are needed.")
    return size
