"""Forms that need PyTorch: convolutions, lookups, and rows that autograd itself works out.

They answer the questions that `closed` states; None where only the rows tell.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from .closed import Formed, Outer, OuterSum, slices
from .torch_owners import Along


@dataclass(frozen=True, eq=False)
class Convolution:
    """g_i = sum over output positions of delta_i times the window of x it saw; x is padded.

    delta (B, p, l, m), x (B, c, ., .): a linear layer over positions whose input is the windows.
    """

    delta: Tensor
    x: Tensor
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    shape: tuple[int, ...]  # the parameter's, with one or two window axes

    def _parts(self) -> Any:
        """Yield (samples, delta, windows), few samples at a time: the windows stay in the cache.

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

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        chosen = Convolution(self.delta[samples], self.x[samples], *self._geometry())
        for part, delta, windows in chosen._parts():
            flat = out[part].view(-1, delta.shape[1], windows.shape[1])
            torch.baddbmm(flat, delta, windows.mT, beta=0, alpha=scale, out=flat)

    def _geometry(self) -> tuple:
        return self.kernel, self.stride, self.dilation, self.groups, self.shape

    def squared_norms(self, squares: Callable) -> Tensor:
        norms = [
            OuterSum(delta.mT, windows.mT).squared_norms(squares).view(-1, self.groups).sum(1)
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

    def squared_sum(self) -> None:
        return None

    def products(self, other: Any) -> None:
        return None


@dataclass(frozen=True, eq=False)
class Lookup:
    """g_i is 0 but where sample i looked: row index_it of the table gets delta_it.

    delta (B, T, d), index (B, T), a table of ``count`` rows.
    """

    delta: Tensor
    index: Tensor
    count: int

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        delta = self.delta[samples]
        out.zero_()
        flat = out.view(-1, delta.shape[2])
        flat.index_add_(0, self._places(samples), delta.flatten(0, 1), alpha=scale)

    def _places(self, samples):
        index = self.index[samples]
        first = torch.arange(index.shape[0], device=index.device) * self.count
        return (first[:, None] + index).flatten()

    def _looked_up(self):
        """Return (place, sum of cotangents there), one for each row some sample looked at."""
        places, inverse = self._places(slice(None)).unique(return_inverse=True)
        sums = self.delta.new_zeros(len(places), self.delta.shape[2])
        return places, sums.index_add_(0, inverse, self.delta.flatten(0, 1))

    def squared_norms(self, squares: Callable) -> Tensor:
        places, sums = self._looked_up()
        norms = sums.new_zeros(len(self.delta))
        return norms.index_add_(0, places // self.count, sums.square_().sum(1))

    def weighted_sum(self, weights: Tensor) -> Tensor:
        weighted = (self.delta * weights[:, None, None]).flatten(0, 1)
        return self._table().index_add_(0, self.index.flatten(), weighted)

    def squared_sum(self) -> Tensor:
        places, sums = self._looked_up()
        return self._table().index_add_(0, places % self.count, sums.square_())

    def products(self, other: Any) -> None:
        return None

    def _table(self):
        return self.delta.new_zeros(self.count, self.delta.shape[2])


@contextmanager
def second_run(name: str) -> Iterator[None]:
    """Say whose rows need autograd again, if a tensor of the graph is no longer what it was."""
    try:
        yield
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        raise RuntimeError(
            f"layerwise: the rows of {name} need autograd a second time, and a tensor it needs "
            "was changed in place after the backward pass; read the record before the "
            "optimiser's step."
        ) from error


class RowsOnly:
    """A form that has nothing cheaper than its rows."""

    def squared_norms(self, squares: Callable) -> None:
        return None

    def weighted_sum(self, weights: Tensor) -> Any:
        return None

    def squared_sum(self) -> None:
        return None

    def products(self, other: Any) -> None:
        return None


@dataclass(frozen=True, eq=False)
class ConvolutionLoop(RowsOnly):
    """A transposed or three-dimensional convolution: PyTorch's own rule, sample by sample."""

    delta: Tensor
    x: Tensor
    options: tuple  # stride, padding, dilation, transposed, output_padding, groups
    shape: tuple[int, ...]

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        for n, i in enumerate(range(samples.start, samples.stop)):
            torch.mul(self._gradient(self.delta[i : i + 1], self.x[i : i + 1]), scale, out=out[n])

    def _gradient(self, delta, x):
        weight = x.new_empty(1).expand(self.shape)  # only its shape is read
        return torch.ops.aten.convolution_backward(
            delta, x, weight, None, *self.options, [False, True, False]
        )[1]

    def weighted_sum(self, weights: Tensor) -> Tensor:
        shape = (-1,) + (1,) * (self.delta.ndim - 1)
        return self._gradient(self.delta * weights.view(shape), self.x)


@dataclass(frozen=True, eq=False)
class Groups(RowsOnly):
    """A sample has k consecutive entries of another form's batch; their rows add up."""

    form: Any
    k: int

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        for part in slices(len(out), self.k * out[0].nbytes):
            start, count = samples.start + part.start, part.stop - part.start
            each = out.new_empty(count * self.k, *out.shape[1:])
            self.form.rows(slice(start * self.k, (start + count) * self.k), each, scale)
            torch.sum(each.unflatten(0, (count, self.k)), 1, out=out[part])

    def weighted_sum(self, weights: Tensor) -> Any:
        return self.form.weighted_sum(weights.repeat_interleave(self.k))


@dataclass(frozen=True, eq=False)
class Pulled(RowsOnly):
    """What a parameter's rows are once they have passed what was made of the parameter alone.

    ``form`` has the rows of an array made from the parameter (a part of it, a normalised weight);
    autograd takes them from there, ``edge``, to the parameter.
    """

    form: Any
    edge: GradientEdge
    shape: tuple[int, ...]
    dtype: torch.dtype  # of the array
    name: str  # of the parameter
    parameter: Tensor

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        for part in slices(len(out), out[0].nbytes):
            start, count = samples.start + part.start, part.stop - part.start
            rows = out.new_empty(count, *self.shape)
            self.form.rows(slice(start, start + count), rows, scale)
            out[part] = self._pull(rows)

    def _pull(self, rows):
        rows = rows.to(self.dtype)
        try:
            return self._grad(rows, is_grads_batched=True)
        except RuntimeError:  # an operation that vmap does not know
            return torch.stack([self._grad(row) for row in rows])

    def _grad(self, rows, **options):
        with second_run(self.name):
            return torch.autograd.grad(
                [self.edge], [self.parameter], [rows], retain_graph=True, **options
            )[0]

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
        key = samples.start, samples.stop
        if (*key, name) not in self._kept:
            self._kept.clear()
            each = [self._one(i) for i in range(*key)]
            for n, other in enumerate(self.parameters):
                self._kept[*key, other] = torch.stack([gradients[n] for gradients in each])
        return self._kept.pop((*key, name))

    def _one(self, sample):
        cotangents = [
            along.only(ct, sample, self.size)
            for along, ct in zip(self.along, self.cotangents, strict=True)
        ]
        parameters = list(self.parameters.values())
        with second_run(", ".join(self.parameters)):
            return torch.autograd.grad(
                self.edges, parameters, cotangents, retain_graph=True, materialize_grads=True
            )


@dataclass(frozen=True, eq=False)
class Replayed(RowsOnly):
    """The form of one parameter of a `Replay`."""

    run: Replay
    name: str

    def rows(self, samples: slice, out: Tensor, scale: float) -> None:
        torch.mul(self.run.rows_of(self.name, samples), scale, out=out)


def turned(form: Any, way: str, shape: tuple[int, ...]) -> Any:
    """Return the form of a parameter whose transpose, or whose view, has the given form."""
    if isinstance(form, Formed):
        g = form.g.mT if way == "turn" else form.g.reshape(len(form.g), *shape)
        return Formed(g)
    if way == "turn" and isinstance(form, Outer | OuterSum):
        return type(form)(form.h, form.delta)
    return None


def merged(uses: list) -> list:
    """Return fewer forms of the same sum: products at T places become one with T terms."""
    products = [use for use in uses if isinstance(use, Outer | OuterSum)]
    if len(products) < 2:
        return uses
    delta, h = (
        torch.cat([x if x.ndim == 3 else x[:, None] for x in parts], 1)
        for parts in ([use.delta for use in products], [use.h for use in products])
    )
    return [use for use in uses if use not in products] + [OuterSum(delta, h)]
