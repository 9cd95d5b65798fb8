"""Rows as factors: what norms and weighted sums need where a sample meets a weight once.

Let a loss use a weight W in one matrix product, ``h @ W``, with one vector h of each sample. Then
the sample's row for W is the outer product of two vectors,

    g = outer(h, delta),  delta = d loss / d (h @ W),

and the row need not be formed: |g| = |h| |delta|, and sum_i w_i g_i is one matrix product of all h
and all w_i delta_i. The same holds where a sample looks up one entry or one line of a table: the
row is delta in one place and zeros elsewhere.

A parameter is *factored* if that is all that the loss does with it: everywhere in the program it
is used once, by one such product or lookup, at one position, and before that only seen in another
shape or dtype. Each other parameter (used twice, at several positions, in arithmetic, inside
``cond`` or ``scan``, by a rule of one's own, returned) is not examined further: the framework
differentiates the loss with respect to it, and its rows are formed. So nothing is guessed.

Who uses what is read from what a framework records anyway: `in_engine` from the tape of the NumPy
engine's ``grad``, `in_jax` from the program that ``jax.make_jaxpr`` returns. Both return, for each
parameter, a `Formed` or a `Product`, with the samples along axis 0, and what the loss returns
beside its value.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Formed(NamedTuple):
    """The rows of one parameter: (B, \\*shape)."""

    rows: Any
    kind = "rows"


class Product(NamedTuple):
    """The factors of one parameter's rows, h and delta; a lookup has ``where`` it was made.

    |g_i| is |delta_i| times the norm of ``left``, (B, \\*any): h, or 1 (0 where a lookup is
    outside of its table). ``total(left or where, delta)`` returns sum_i g_i, linear in delta.
    """

    left: Any
    delta: Any
    where: Any
    total: Callable
    kind: str


def mapped(vmap: Callable, of_sample: Callable, in_axes: Any) -> Callable:
    """Return the function of a batch: ([Formed or Product of each parameter], aux).

    ``of_sample(params, *sample)`` returns (arrays of each parameter, aux, makers); what is no
    array, and so cannot pass vmap, is in the makers: each takes its parameter's arrays.
    """

    def of_batch(*arguments):
        makers: list = []

        def arrays_of_sample(*sample):
            arrays, aux, makers[:] = of_sample(*sample)
            return arrays, aux

        found, aux = vmap(arrays_of_sample, in_axes)(*arguments)
        return [make(*arrays) for make, arrays in zip(makers, found, strict=True)], aux

    return of_batch
