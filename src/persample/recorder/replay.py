"""Rows that autograd works out: below a closed form, or where there is none.

`Pulled` takes a form's rows on to the parameter; `Replay` runs an operation backward sample by
sample. Both need the graph of the pass, and `merged` saves them work where uses can be joined.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from .along import Along
from .buffers import KEPT, slices, within
from .forms import Form, Formed, Outer, OuterSum
from .layer_forms import Lookup


@contextmanager
def second_run(name: str) -> Iterator[None]:
    """Say whose rows need autograd again, if a tensor of the graph is no longer what it was."""
    try:
        yield
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        raise RuntimeError(
            f"record: the rows of {name} need autograd a second time, and a tensor it needs "
            "was changed in place after the backward pass; read the record before the "
            "optimiser's step."
        ) from error


@dataclass(frozen=True, eq=False)
class Pulled(Form):
    """Rows of a parameter that is transformed before use (weight norm): autograd pulls them back.

    ``form`` has the rows of what was made of the parameter, and ``edge`` is where that stands.
    """

    form: Form
    edge: GradientEdge
    shape: tuple[int, ...]
    dtype: torch.dtype  # of the array
    name: str  # of the parameter
    parameter: Tensor

    def rows(self, samples: slice, out: Tensor) -> None:
        for part in slices(len(out), out[0].nbytes):
            rows = out.new_empty(part.stop - part.start, *self.shape)
            self.form.rows(within(samples, part), rows)
            out[part] = self._pull(rows)

    def _pull(self, rows):
        rows = rows.to(self.dtype)
        try:
            return self._grad(rows, is_grads_batched=True)
        except RuntimeError:  # an operation that vmap does not know
            return torch.stack([self._grad(row) for row in rows])

    def _grad(self, rows, **options):
        with second_run(self.name):
            (gradient,) = torch.autograd.grad(
                [self.edge], [self.parameter], [rows], retain_graph=True, **options
            )
            return gradient.to_dense()  # of an embedding it may be sparse

    def weighted_sum(self, weights: Tensor) -> Tensor | None:
        total = self.form.weighted_sum(weights)
        return None if total is None else self._grad(total.to(self.dtype)).to(weights.dtype)


@dataclass(frozen=True, eq=False)
class Replay:
    """Autograd, run again from one operation for one sample at a time: slow and always right.

    ``edges`` are the operation's outputs, ``cotangents`` theirs; all parameters of the operation
    come from one run, and those not yet asked for are kept.
    """

    edges: list[GradientEdge]
    cotangents: list[Tensor]
    along: list[Along]
    size: int
    parameters: dict[str, Tensor]
    _kept: dict = field(default_factory=dict)

    def rows_of(self, name: str, samples: slice) -> Tensor:
        rows, nbytes = [], sum(p.nbytes for p in self.parameters.values())
        for i in range(samples.start, samples.stop):
            if name not in self._kept.get(i, ()):
                if len(self._kept) * nbytes > KEPT:
                    self._kept.clear()
                self._kept[i] = dict(zip(self.parameters, self._one(i), strict=True))
            rows.append(self._kept[i].pop(name))
        return torch.stack(rows)

    def _one(self, sample):
        cotangents = [
            along.only(ct, sample, self.size)
            for along, ct in zip(self.along, self.cotangents, strict=True)
        ]
        parameters = list(self.parameters.values())
        with second_run(", ".join(self.parameters)):
            gradients = torch.autograd.grad(
                self.edges, parameters, cotangents, retain_graph=True, materialize_grads=True
            )
            return [g.to_dense() for g in gradients]  # of an embedding it may be sparse


@dataclass(frozen=True, eq=False)
class Replayed(Form):
    """The form of one parameter of a `Replay`."""

    run: Replay
    name: str
    stop: str  # the operation that has no rule for it

    @property
    def kind(self) -> str:
        return f"rows, sample by sample from {self.stop}"

    def rows(self, samples: slice, out: Tensor) -> None:
        out.copy_(self.run.rows_of(self.name, samples))


def merged(uses: list) -> list:
    """Return fewer forms of the same sum: products at T places become one with T terms.

    So do lookups in the same table; what is formed is added.
    """
    products = [use for use in uses if isinstance(use, Outer | OuterSum)]
    lookups = [use for use in uses if isinstance(use, Lookup)]
    formed = [use for use in uses if isinstance(use, Formed)]
    others = [use for use in uses if use not in products + lookups + formed]
    if len(products) > 1:
        delta, h = (
            torch.cat([x if x.ndim == 3 else x[:, None] for x in parts], 1)
            for parts in ([use.delta for use in products], [use.h for use in products])
        )
        products = [OuterSum(delta, h)]
    if len(lookups) > 1:
        delta, index = (
            torch.cat([getattr(use, name) for use in lookups], 1) for name in ("delta", "index")
        )
        lookups = [Lookup(delta, index, lookups[0].count)]
    if len(formed) > 1:
        formed = [Formed(reduce(add, [use.g for use in formed]))]
    return others + formed + lookups + products
