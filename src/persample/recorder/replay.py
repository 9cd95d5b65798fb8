"""Rows that autograd works out: below a closed form, or where there is none.

`Pulled` takes a form's rows on to the parameter; `Replay` runs an operation backward sample by
sample. Both need the graph of the pass, and `merged` saves them work where uses can be joined.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from .along import Along, OneSample
from .buffers import CACHE_BYTES, part_of, slices
from .forms import Form


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
            self.form.rows(part_of(samples, part), rows)
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


class Start(NamedTuple):
    """Where autograd begins again: an operation's output, and its cotangent in the batch."""

    edge: GradientEdge
    cotangent: Tensor
    along: Along | OneSample


@dataclass(frozen=True, eq=False)
class Replay:
    """Autograd, run again from some operations for one sample at a time: slow and always right.

    From where all is one sample's, only for this sample. All ``parameters`` come from one run, and
    those not yet asked for are kept.
    """

    starts: list[Start]  # where the samples lie along an axis
    own: dict[int, list[Start]]  # sample -> where all is its own
    size: int
    parameters: dict[str, Tensor]
    _kept: dict = field(default_factory=dict)

    def rows_of(self, name: str, samples: slice) -> Tensor:
        rows, nbytes = [], sum(p.nbytes for p in self.parameters.values())
        for i in range(samples.start, samples.stop):
            if name not in self._kept.get(i, ()):
                if len(self._kept) * nbytes > CACHE_BYTES:
                    self._kept.clear()
                self._kept[i] = dict(zip(self.parameters, self._one(i), strict=True))
            rows.append(self._kept[i].pop(name))
        return torch.stack(rows)

    def _one(self, sample):
        found = [(x.edge, x.along.only(x.cotangent, sample, self.size)) for x in self.starts]
        found += [(x.edge, x.cotangent) for x in self.own.get(sample, ())]
        parameters = list(self.parameters.values())
        if not found:
            return [torch.zeros_like(p) for p in parameters]
        edges, cotangents = zip(*found, strict=True)
        with second_run(", ".join(self.parameters)):
            gradients = torch.autograd.grad(
                edges, parameters, cotangents, retain_graph=True, materialize_grads=True
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
