"""Norms and clipped sums of per-sample gradients, without the rows of the whole batch in memory.

The rows of a parameter that is factored (see `factored`) are never formed; those of any other
parameter are formed for a chunk of samples at a time.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from .arrays import array_namespace, widened
from .factored import Formed
from .per_sample import BatchFunction, refuse_batched_parameters
from .statistics import (
    along,
    checked_bound,
    clipping_factors,
    like,
    norms,
    real_weights,
    weighted,
    without,
)

# chunk_size="auto": the largest count of numbers, of rows and factors together, in one chunk.
NUMBERS = 2**22


def per_sample_norms(
    loss: Callable,
    in_axes: Any = None,
    *,
    jit: bool = False,
    chunk_size: int | str | None = "auto",
) -> Callable:
    """Return the function of a batch that computes the norms of the per-sample gradients, (B,).

    |g_i| is the square root of the sum of all squares, over the whole tree, of the row g_i =
    d loss(params, sample_i) / d params. In NumPy and JAX no rows are formed for a *factored*
    parameter, one that the loss uses once, by one matrix product with one vector of each sample
    or by one lookup (one row or entry of a table per sample); ``forms`` says which are. In PyTorch
    all rows are formed, a chunk at a time; for a whole model use `record`, which avoids forming
    them for the layers and operations it has closed forms for.

    Parameters
    ----------
    loss, in_axes, jit : as in `per_sample_grad`.
    chunk_size : number of samples computed at a time; memory holds the rows and factors of one
        chunk. "auto": the largest chunk whose rows and factors hold at most 2**22 numbers in
        total, but at least one sample; it does not depend on the machine. None: all. In a compiled
        call of JAX the chunks are a loop within the program, elsewhere a loop of Python.

    Returns
    -------
    callable ``(params, *batch)`` that returns an array (B,) in the dtype of the parameters, or in
    float32 if they are 16-bit; an empty batch gives shape (0,). Its method
    ``forms(params, *batch)`` returns a dict that maps the path of each parameter, such as
    ``"['w']"``, to "outer product" or "lookup" (factored), or to "rows".

    Raises
    ------
    As `per_sample_grad`, except that a batch may be empty and chunk_size "auto".

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> norms_of = ps.per_sample_norms(ps.squared_loss)
    >>> norms_of(theta, x, y)
    array([2.23606798, 6.        ])
    >>> norms_of.forms(theta, x, y)
    {'': 'outer product'}

    Source: Goodfellow (2015) for the norm of an outer product.
    """

    def of_batch(backend, loss, in_axes):
        factors = backend.factors(loss, in_axes)

        def run(*arguments):
            return (), _norms(factors(*arguments)[0])

        return run

    return WithoutRows("per_sample_norms", of_batch, loss, in_axes, jit, chunk_size)


def clipped_grad_sum(
    loss: Callable,
    in_axes: Any = None,
    *,
    jit: bool = False,
    chunk_size: int | str | None = "auto",
    has_aux: bool = False,
) -> Callable:
    """Return the function of a batch that computes the sum of the clipped per-sample gradients.

    It is called as ``(params, *batch, max_norm=C, weights=None)`` and returns

        sum_i w_i min(1, C / |g_i|) g_i

    for the rows g_i = d loss(params, sample_i) / d params, with the norm over the whole tree.
    There is no factor 1/B, and no noise: `privacy.noisy_mean` adds it (``total=``). Norms and
    sum come from one pass, and rows are formed for the same parameters as in `per_sample_norms`.

    Parameters
    ----------
    loss, in_axes, jit, chunk_size : as in `per_sample_norms`.
    has_aux : the loss returns a pair (0-d array, aux), aux being a tree of arrays; to get the
        losses as well, return them there.

    The call also takes, by name:

    max_norm : the bound C, one number above 0. A new value causes no new compilation.
    weights : (B,) real w_i; None means 1 for all. A weight of 0 removes a sample, even if its row
        is not finite: use it to pad a batch to a fixed size, or to drop a sample.

    Returns
    -------
    callable that returns a tree like ``params``, in float32 for 16-bit parameters. With
    ``has_aux`` it returns (sum, aux), each array of aux with the samples along axis 0. A row that
    is not finite makes the sum nan, unless its weight is 0. An empty batch gives zeros. The
    callable can itself be used in ``jax.jit``, ``lax.scan``, ``jax.vmap`` and ``jax.grad``; at a
    row of zeros the derivative of the norm is taken to be 0.

    Raises
    ------
    ValueError : max_norm is not one number above 0 (the value of a traced one is not checked),
        weights that are not (B,), in_axes that batch the parameters.
    TypeError : no max_norm, complex weights. All other errors are those of `per_sample_norms`.

    Example
    -------
    >>> import numpy as np
    >>> import persample as ps
    >>> theta, x, y = np.array([1.0, -1.0]), np.array([[1.0, 2], [3, 0]]), np.array([0.0, 1])
    >>> clipped = ps.clipped_grad_sum(ps.squared_loss)
    >>> clipped(theta, x, y, max_norm=3.0)
    array([ 2., -2.])
    >>> clipped(theta, x, y, max_norm=3.0, weights=np.array([0.0, 1.0]))
    array([3., 0.])

    Source: Abadi et al. (2016), algorithm 1; Lee & Kifer (2020) and Bu et al. (2023) for sums
    without rows.
    """

    def of_batch(backend, loss, in_axes):
        factors = backend.factors(loss, in_axes, has_aux)

        def run(*given):
            *arguments, max_norm, weights = given
            parts, aux = factors(*arguments)
            sizes, dropped = _norms(parts), None
            xp = array_namespace(sizes)
            finite = xp.isfinite(sizes)
            # A row may overflow though its factors are finite; then the sum must show it.
            scales = xp.where(finite, clipping_factors(sizes, max_norm), xp.nan)
            if weights is not None:
                dropped = (weights == 0) & ~finite
                scales = xp.where(dropped, 0.0, scales * weights)
            leaves, structure = backend.flatten(arguments[0])
            pairs = zip(parts, leaves, strict=True)
            sums = [_weighted_sum(*pair, scales, dropped) for pair in pairs]
            return backend.unflatten(structure, sums), aux

        return run

    where = "clipped_grad_sum"
    return ClippedSum(where, of_batch, loss, in_axes, jit, chunk_size, has_aux)


class WithoutRows(BatchFunction):
    """A `BatchFunction` that computes in chunks, without storing the rows of the whole batch.

    Its ``transform`` makes a function that returns (tree of sums over the samples, tree of arrays
    with the samples along axis 0); a call returns the second.
    """

    sums = True

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return super().__call__(*arguments, **keywords)[1]

    def forms(self, *arguments: Any) -> dict[str, str]:
        """Return {path of a parameter: "outer product", "lookup" or "rows"} for this call."""
        own, loss, axes, _ = self._checks(arguments)
        parts = self._parts(own, loss, axes, loss.traced(arguments))
        return dict(zip(own.paths(arguments[0]), [part.kind for part in parts], strict=True))

    def _parts(self, own, loss, axes, arguments):
        """Return a `Formed` or `Product` per parameter, for a batch of the first sample alone."""
        one = own.samples(arguments, axes, slice(0, 1))
        return own.factors(loss, axes, self.has_aux)(*one)[0]

    def _chunk(self, own, loss, axes, arguments):
        if self.chunk_size != "auto":
            return self.chunk_size
        numbers = 0
        for part in self._parts(own, loss, axes, arguments):
            arrays = [part.rows] if isinstance(part, Formed) else [part.left, part.delta]
            numbers += sum(prod(x.shape) for x in arrays)
        return max(1, NUMBERS // max(1, numbers))

    def _of_none(self, own, run, axes):
        """Return the function for an empty batch: it runs one sample of zeros and drops it."""

        def of_none(*given):
            arguments, more = own.zeros_for_none(given[: len(axes)], axes), ()
            if self.more_axes:
                more = like(1.0, arguments[0]), like([0.0], arguments[0])
            total, samples = run(*arguments, *more)
            return total, own.tree_map(lambda x: x[:0], samples)

        return of_none


class ClippedSum(WithoutRows):
    """The callable that `clipped_grad_sum` returns; it takes ``max_norm`` and ``weights``."""

    more_axes = None, 0  # of max_norm and weights

    def __call__(
        self, *arguments: Any, max_norm: Any = None, weights: Any = None, **keywords: Any
    ) -> Any:
        if max_norm is None:
            raise TypeError(
                "clipped_grad_sum: the call has no max_norm; give the largest norm of a row, "
                "max_norm=1.0, by its name."
            )
        max_norm = checked_bound(self.where, max_norm, arguments)
        weights = None if weights is None else real_weights(self.where, weights, arguments)
        total, aux = BatchFunction.__call__(self, *arguments, max_norm, weights, **keywords)
        return (total, aux) if self.has_aux else total

    def _checks(self, arguments, max_norm=1.0, weights=None):
        own, loss, axes, size = super()._checks(arguments)
        refuse_batched_parameters(self.where, own, axes)
        if weights is not None and tuple(weights.shape) != (size,):
            raise ValueError(
                f"{self.where}: the weights have shape {tuple(weights.shape)}; give one number "
                f"for each sample, ({size},)."
            )
        return own, loss, axes, size


def _norms(parts):
    """Return the norms of the rows, (B,), from the `Formed` or `Product` of each parameter."""
    rows = [
        part.rows if isinstance(part, Formed) else (norms(part.left) * norms(part.delta))[:, None]
        for part in parts
    ]
    return norms(rows)


def _weighted_sum(part, parameter, weights, dropped):
    """Return sum_i w_i g_i of a parameter, from its `Formed` or `Product` and ``weights``, (B,).

    The mask ``dropped``, (B,) or None, marks samples to leave out even if they are not finite.
    """
    if isinstance(part, Formed):
        return weighted(part.rows, weights, dropped)
    delta, beside = widened(part.delta), part.left if part.where is None else part.where
    xp = array_namespace(delta)
    if dropped is not None:
        delta = without(delta, along(dropped, delta))
        beside = without(beside, along(dropped, beside)) if part.where is None else beside
    total = part.total(beside, delta * along(xp.astype(weights, delta.dtype), delta))
    return xp.astype(total, widened(parameter).dtype)
