"""Closed forms of convolutions and lookups, with the methods that `forms` states."""

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import torch
from torch import Tensor

from .buffers import part_of, slices
from .forms import Form, Outer, OuterSum, copied_rows


@dataclass(frozen=True, eq=False)
class Convolution(Form):
    """Rows of a convolution's weight: a sum of delta times the window of x, over positions.

    delta (B k, p, *positions), x (B k, c, ...), already padded: k images for each sample.
    """

    kind: ClassVar[str] = "convolution"
    delta: Tensor
    x: Tensor
    k: int
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    shape: tuple[int, ...]  # of the parameter, (p, c / groups, *kernel)

    def _parts(self, samples: slice) -> Any:
        """Yield (part of ``samples``, delta, windows), in parts by `slices` of the windows' bytes.

        The part, n samples, is a slice counted from ``samples.start``; T is k times the positions.
        delta (n groups, p / groups, T), windows (n groups, c / groups * entries of the kernel, T).
        """
        (_, p, *places), c, g = self.delta.shape, self.x.shape[1], self.groups
        kernel, (of_image, of_channel, *steps) = self.shape[2:], self.x.stride()
        moves = [a * b for a, b in zip(steps * 2, self.dilation + self.stride, strict=True)]
        moves.insert(len(kernel), of_image)
        windows = self.x.new_empty(0)
        for part in slices(
            samples.stop - samples.start, self.k * c * prod([*kernel, *places]) * self.x.itemsize
        ):
            mine, n = part_of(samples, part), part.stop - part.start
            images = slice(mine.start * self.k, mine.stop * self.k)
            seen = self.x[images].as_strided(
                (n, c, *kernel, self.k, *places), (of_image * self.k, of_channel, *moves)
            )
            windows = windows[:n] if windows.numel() else seen.new_empty(seen.shape)
            windows.copy_(seen)
            delta = self.delta[images].unflatten(0, (n, self.k)).transpose(1, 2)
            flat = windows.view(n * g, c // g * prod(kernel), -1)
            yield part, delta.reshape(n * g, p // g, -1), flat

    def _all(self) -> Any:
        return self._parts(slice(0, len(self.x) // self.k))

    def rows(self, samples: slice, out: Tensor) -> None:
        if not out.is_contiguous():
            return copied_rows(self, samples, out)
        for part, delta, windows in self._parts(samples):
            flat = out[part].view(-1, delta.shape[1], windows.shape[1])
            torch.bmm(delta, windows.mT, out=flat)

    def squared_norms(self) -> Tensor:
        norms = [
            OuterSum(delta.mT, windows.mT).squared_norms().view(-1, self.groups).sum(1)
            for _, delta, windows in self._all()
        ]
        return torch.cat(norms)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        axes, of_images = len(self.stride), weights.repeat_interleave(self.k)
        weighted = self.delta * of_images.view(-1, *(1,) * (axes + 1))
        weight = self.x.new_empty(1).expand(self.shape)  # only the shape matters
        options = self.stride, (0,) * axes, self.dilation, False, (0,) * axes, self.groups
        return torch.ops.aten.convolution_backward(
            weighted, self.x, weight, None, *options, [False, True, False]
        )[1]

    def project(self, vectors: list) -> Tensor:
        lines, columns = vectors
        numbers = []
        for _, delta, windows in self._all():
            of_groups = [x.unflatten(0, (-1, self.groups)).unbind(1) for x in (delta, windows)]
            parts = zip(*of_groups, lines.chunk(self.groups), strict=True)
            numbers.append(
                sum(OuterSum(d.mT, w.mT).project([mine, columns]) for d, w, mine in parts)
            )
        return torch.cat(numbers)


@dataclass(frozen=True, eq=False)
class Lookup(Form):
    """g_i of a table (count, d): delta_it is added at index_it, for every t; the rest is 0.

    delta (B, T, d), index (B, T).
    """

    kind: ClassVar[str] = "lookup"
    delta: Tensor
    index: Tensor
    count: int
    needs_rows: ClassVar[bool] = False

    def rows(self, samples: slice, out: Tensor) -> None:
        if not out.is_contiguous():
            return copied_rows(self, samples, out)
        delta = self.delta[samples]
        out.zero_()
        flat = out.view(-1, delta.shape[2])
        flat.index_add_(0, self._table_rows(samples), delta.flatten(0, 1))

    def _table_rows(self, samples):
        """Return (n T,): index_it + i count, the places of n samples in n tables end to end."""
        index = self.index[samples]
        first = torch.arange(index.shape[0], device=index.device) * self.count
        return (first[:, None] + index).flatten()

    def _looked_up(self):
        """Return (n,) and (n, d): the distinct `_table_rows`, and the sum of delta at each."""
        rows, inverse = self._table_rows(slice(None)).unique(return_inverse=True)
        sums = self.delta.new_zeros(len(rows), self.delta.shape[2])
        return rows, sums.index_add_(0, inverse, self.delta.flatten(0, 1))

    def squared_norms(self) -> Tensor:
        rows, sums = self._looked_up()
        norms = sums.new_zeros(len(self.delta))
        return norms.index_add_(0, rows // self.count, sums.square_().sum(1))

    def weighted_sum(self, weights: Tensor) -> Tensor:
        weighted = (self.delta * weights[:, None, None]).flatten(0, 1)
        return self._table().index_add_(0, self.index.flatten(), weighted)

    def squared_sum(self) -> Tensor:
        rows, sums = self._looked_up()
        return self._table().index_add_(0, rows % self.count, sums.square_())

    def project(self, vectors: list) -> Tensor:
        lines, columns = vectors
        parts = []
        for samples in slices(len(self.delta), 2 * self.index.shape[1] * columns[0].nbytes):
            numbers = lines[self.index[samples]] * (self.delta[samples] @ columns)
            parts.append(numbers.sum(1))
        return torch.cat(parts)

    def inner(self, other: Any) -> Tensor | None:
        """Return (B,): g_i . g'_i for a table that is also the weight of a layer, ``other``.

        It is sum_ts (delta_it . h_is) delta'_is[index_it], with delta' (B, S, count), h (B, S, d).
        """
        if isinstance(other, Outer):
            other = OuterSum(other.delta[:, None], other.h[:, None])
        if not isinstance(other, OuterSum):
            return None
        chosen = self.index[:, None].long().expand(-1, other.delta.shape[1], -1)
        return ((other.h @ self.delta.mT) * other.delta.gather(2, chosen)).sum((1, 2))

    def _table(self):
        return self.delta.new_zeros(self.count, self.delta.shape[2])
