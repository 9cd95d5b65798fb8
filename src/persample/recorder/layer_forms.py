"""Closed forms of convolutions and lookups, with the methods that `forms` states."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from .buffers import part_of, slices
from .forms import Form, Outer, OuterSum, copied_rows


@dataclass(frozen=True, eq=False)
class Convolution(Form):
    """A linear layer at every output position, whose input is the window of x there.

    delta (B, p, l, m), x (B, c, ., .), padded.
    """

    kind: ClassVar[str] = "convolution"
    delta: Tensor
    x: Tensor
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    shape: tuple[int, ...]  # of the parameter, for one or two dimensions

    def _parts(self) -> Any:
        """Yield (samples, delta, windows), for few samples: the windows stay in the cache.

        delta (n groups, p / groups, T), windows (n groups, c / groups k l, T).
        """
        (size, p, *places), (_, c, *_), g = self.delta.shape, self.x.shape, self.groups
        windows = self.x.new_empty(0)
        for samples in slices(size, c * places[0] * places[1] * self._taps() * self.x.itemsize):
            x, n = self.x[samples], samples.stop - samples.start
            s = x.stride()
            steps = [a * b for a, b in zip(s[2:] * 2, self.dilation + self.stride, strict=True)]
            seen = x.as_strided((n, c, *self.kernel, *places), (*s[:2], *steps))
            windows = windows[:n] if windows.numel() else seen.new_empty(seen.shape)
            windows.copy_(seen)
            flat = windows.view(n * g, c // g * self._taps(), -1)
            yield samples, self.delta[samples].reshape(n * g, p // g, -1), flat

    def _taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    def rows(self, samples: slice, out: Tensor) -> None:
        if not out.is_contiguous():
            return copied_rows(self, samples, out)
        chosen = Convolution(self.delta[samples], self.x[samples], *self._geometry())
        for part, delta, windows in chosen._parts():
            flat = out[part].view(-1, delta.shape[1], windows.shape[1])
            torch.bmm(delta, windows.mT, out=flat)

    def _geometry(self) -> tuple:
        return self.kernel, self.stride, self.dilation, self.groups, self.shape

    def squared_norms(self) -> Tensor:
        norms = [
            OuterSum(delta.mT, windows.mT).squared_norms().view(-1, self.groups).sum(1)
            for _, delta, windows in self._parts()
        ]
        return torch.cat(norms)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        shape = (self.delta.shape[1], self.x.shape[1] // self.groups, *self.kernel)
        weighted = self.delta * weights[:, None, None, None]
        total = torch.nn.grad.conv2d_weight(
            self.x, shape, weighted, self.stride, 0, self.dilation, self.groups
        )
        return total.reshape(self.shape)

    def project(self, vectors: list) -> Tensor:
        lines, columns = vectors
        numbers = []
        for _, delta, windows in self._parts():
            of_groups = [x.unflatten(0, (-1, self.groups)).unbind(1) for x in (delta, windows)]
            parts = zip(*of_groups, lines.chunk(self.groups), strict=True)
            numbers.append(
                sum(OuterSum(d.mT, w.mT).project([mine, columns]) for d, w, mine in parts)
            )
        return torch.cat(numbers)


@dataclass(frozen=True, eq=False)
class Lookup(Form):
    """Row index_it of a table gets delta_it, summed over t; the rest of g_i is 0.

    delta (B, T, d), index (B, T), a table of ``count`` rows.
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
        """Return (B T,): row numbers in one table of B count rows, sample by sample."""
        index = self.index[samples]
        first = torch.arange(index.shape[0], device=index.device) * self.count
        return (first[:, None] + index).flatten()

    def _looked_up(self):
        """Return the different `_table_rows`, and for each the sum of its cotangents."""
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
        """For a table tied to the weight of a layer, delta' (B, S, count), h (B, S, d):

        g_i . g'_i = sum_ts (delta_it . h_is) delta'_is[index_it].
        """
        if isinstance(other, Outer):
            other = OuterSum(other.delta[:, None], other.h[:, None])
        if not isinstance(other, OuterSum):
            return None
        chosen = self.index[:, None].long().expand(-1, other.delta.shape[1], -1)
        return ((other.h @ self.delta.mT) * other.delta.gather(2, chosen)).sum((1, 2))

    def _table(self):
        return self.delta.new_zeros(self.count, self.delta.shape[2])


@dataclass(frozen=True, eq=False)
class ConvolutionLoop(Form):
    """A transposed or three-dimensional convolution: PyTorch's backward, sample by sample."""

    delta: Tensor
    x: Tensor
    options: tuple  # stride, padding, dilation, transposed, output_padding, groups
    shape: tuple[int, ...]

    def rows(self, samples: slice, out: Tensor) -> None:
        for n, i in enumerate(range(samples.start, samples.stop)):
            out[n] = self._gradient(self.delta[i : i + 1], self.x[i : i + 1])

    def _gradient(self, delta, x):
        weight = x.new_empty(1).expand(self.shape)  # only the shape matters
        return torch.ops.aten.convolution_backward(
            delta, x, weight, None, *self.options, [False, True, False]
        )[1]

    def weighted_sum(self, weights: Tensor) -> Tensor:
        shape = (-1,) + (1,) * (self.delta.ndim - 1)
        return self._gradient(self.delta * weights.view(shape), self.x)


@dataclass(frozen=True, eq=False)
class Groups(Form):
    """Each sample has k consecutive entries of another form's batch, whose rows add up."""

    form: Form
    k: int

    def rows(self, samples: slice, out: Tensor) -> None:
        for part in slices(len(out), self.k * out[0].nbytes):
            mine = part_of(samples, part)
            each = out.new_empty((part.stop - part.start) * self.k, *out.shape[1:])
            self.form.rows(slice(mine.start * self.k, mine.stop * self.k), each)
            torch.sum(each.unflatten(0, (-1, self.k)), 1, out=out[part])

    def weighted_sum(self, weights: Tensor) -> Any:
        return self.form.weighted_sum(weights.repeat_interleave(self.k))

    def project(self, vectors: list) -> Any:
        numbers = self.form.project(vectors)
        return None if numbers is None else numbers.unflatten(0, (-1, self.k)).sum(1)
