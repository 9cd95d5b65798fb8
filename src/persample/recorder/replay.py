"""Rows by running autograd again: below a closed form (`Pulled`) or without one (`Replay`).

Both need the graph of the recorded pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from .buffers import CACHE_BYTES, part_of, slices, wide
from .forms import Form, squares
from .layouts import OneSample, SampleAxis


@contextmanager
def second_run(name: str) -> Iterator[None]:
    """Replace autograd's error about an in-place change by one that names the parameter."""
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
    """Rows of a parameter that is transformed before use, as in weight norm.

    ``form`` has the rows of the transformed weight, at ``edge`` in the graph. Autograd pulls them
    back to the parameter.
    """

    form: Form
    edge: GradientEdge
    shape: tuple[int, ...]
    dtype: torch.dtype  # of the transformed weight, as its shape
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
        except RuntimeError:  # an operation without a batching rule
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
    """Where a replay starts: an output of a node, and its cotangent for the whole batch."""

    edge: GradientEdge
    cotangent: Tensor
    layout: SampleAxis | OneSample


@dataclass(frozen=True, eq=False)
class Replay:
    """One run of autograd for each sample, with the other samples' cotangents set to 0.

    It is slow, but holds for any graph. A run gives the rows of all ``parameters``, so norms and
    sums are computed for all of them, and rows are cached up to `CACHE_BYTES`.
    """

    starts: list[Start]  # with a sample axis
    own: dict[int, list[Start]]  # sample -> starts that belong to it alone
    size: int
    parameters: dict[str, Tensor]
    _kept: dict = field(default_factory=dict)  # sample -> parameter -> row
    _sums: dict = field(default_factory=dict)  # the last norms and weighted sums

    @property
    def at_once(self) -> int:
        """Return the number of samples whose rows fit into the cache, at least 1."""
        return max(1, CACHE_BYTES // sum(p.nbytes for p in self.parameters.values()))

    def squared_norms(self, name: str) -> Tensor:
        """Return (B,): |g_i|^2 of one parameter; the first call computes all parameters'."""
        if "squares" not in self._sums:
            each = [[squares(g[None]) for g in row] for row in self._rows()]
            columns = [torch.cat(column) for column in zip(*each, strict=True)]
            self._sums["squares"] = dict(zip(self.parameters, columns, strict=True))
        return self._sums["squares"][name]

    def weighted_sum(self, name: str, weights: Tensor) -> Tensor:
        """Return sum_i w_i g_i of one parameter; cache the others' sums with these ``weights``."""
        asked, totals = self._sums.get("totals", (None, {}))
        if asked is not weights or name not in totals:
            totals = dict.fromkeys(self.parameters, 0)
            for weight, row in zip(weights, self._rows(), strict=True):
                for other, g in zip(totals, row, strict=True):
                    totals[other] = totals[other] + weight * g
            self._sums["totals"] = weights, totals
        return totals.pop(name)

    def _rows(self):
        """Yield, for each sample, the list of its rows of all parameters, float32 at least."""
        for i in range(self.size):
            yield [g.to(wide(g.dtype)) for g in self._one(i)]

    def write_rows(self, name: str, samples: slice, out: Tensor) -> None:
        """Write one parameter's rows of ``samples`` into ``out``; cache those of the others."""
        for row, i in zip(out, range(samples.start, samples.stop), strict=True):
            if name not in self._kept.get(i, ()):
                if len(self._kept) >= self.at_once:
                    self._kept.clear()
                self._kept[i] = dict(zip(self.parameters, self._one(i), strict=True))
            row.copy_(self._kept[i].pop(name))

    def _one(self, sample):
        found = [(x.edge, x.layout.only(x.cotangent, sample, self.size)) for x in self.starts]
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
    """The rows of one parameter, computed by a `Replay`."""

    run: Replay
    name: str
    stop: str  # the operations without a rule

    @property
    def kind(self) -> str:
        return f"rows, sample by sample from {self.stop}"

    @property
    def at_once(self) -> int:
        """Return the number of samples whose rows of all parameters fit into the cache."""
        return self.run.at_once

    @property
    def needs_rows(self) -> bool:
        """Return whether all rows fit into the cache: norms by rows then save a second run."""
        return self.run.size <= self.run.at_once

    def rows(self, samples: slice, out: Tensor) -> None:
        self.run.write_rows(self.name, samples, out)

    def squared_norms(self) -> Tensor:
        return self.run.squared_norms(self.name)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        return self.run.weighted_sum(self.name, weights)
