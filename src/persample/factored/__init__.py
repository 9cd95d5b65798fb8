"""Rows as factors: norms and weighted sums without rows, where a sample uses a weight once.

Let a loss use a weight W in one matrix product, ``h @ W``, with one vector h of each sample. Then
the sample's row for W is the outer product of two vectors,

    g = outer(h, delta),  delta = d loss / d (h @ W),

and need not be formed: |g| = |h| |delta|, and sum_i w_i g_i is one matrix product of all h_i and
all w_i delta_i. If a sample looks up one entry or one line of a table, its row is delta there
and zero elsewhere.

A parameter is *factored* if the whole program of the loss uses it once, by one such product or
lookup, at one position, after reshapes and casts at most. Every other parameter (used twice, at
several positions, in arithmetic, inside ``cond`` or ``scan``, by a custom derivative rule, or
returned) is differentiated by the framework as in ``vmap(grad)``, and its rows are formed.

`in_engine` finds the uses on the tape of the NumPy engine's ``grad``, `in_jax` in the result of
``jax.make_jaxpr``. Both return, for each parameter, a `Formed` or a `Product`, with the samples
along axis 0, and the aux of the loss.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Formed(NamedTuple):
    """The rows of one parameter, (B, \\*shape)."""

    rows: Any
    kind = "rows"


class Product(NamedTuple):
    """The factors of one parameter's rows: ``left`` is h, ``where`` the indices of a lookup.

    |g_i| = |left_i| |delta_i|; for a lookup ``left`` is 1, or 0 if the index is outside of the
    table. ``total(left, delta)``, for a lookup ``total(where, delta)``, returns sum_i g_i; it is
    linear in delta, so weights may multiply delta. ``where`` is None for a product.
    """

    left: Any
    delta: Any
    where: Any
    total: Callable
    kind: str


def mapped(vmap: Callable, of_sample: Callable, in_axes: Any) -> Callable:
    """Return a function of (params, *batch): ([`Formed` or `Product` of each parameter], aux).

    ``of_sample(params, *sample)`` returns (arrays of each parameter, aux, makers). A maker
    builds the `Formed` or `Product` of the batch from the arrays, batched by ``vmap``.
    """

    def of_batch(*arguments):
        makers: list = []

        def arrays_of_sample(*sample):
            arrays, aux, makers[:] = of_sample(*sample)
            return arrays, aux

        found, aux = vmap(arrays_of_sample, in_axes)(*arguments)
        return [make(*arrays) for make, arrays in zip(makers, found, strict=True)], aux

    return of_batch
