"""The table: for each PyTorch layer and each of its parameters, the form its rows have.

A rule takes (module, x, delta), the layer, its input and the cotangent of its output, and returns
a form of `closed` or one of the two here, which need PyTorch: Convolution and Lookup.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .closed import Formed, Outer, OuterSum, slices


def rule_for(module: nn.Module) -> dict[str, Callable]:
    """Return the module's row of the table; empty if it has none or computes something else."""
    for base in type(module).__mro__:
        if base in RULES:
            return RULES[base] if type(module).forward is base.forward else {}
    return {}


def _batched(module, x, least, axes):
    """Say so if the input has no axis left that could count the samples."""
    if x.ndim < least:
        raise ValueError(
            f"layerwise: the input of {type(module).__name__} has shape {tuple(x.shape)}, without "
            f"an axis for the samples; it must be {axes}: add one with x[None]."
        )


def _linear_weight(module, x, delta):
    _batched(module, x, 2, "(B, ..., d)")
    if x.ndim == 2:
        return Outer(delta, x)
    return OuterSum(_positions(delta), _positions(x))


def _positions(x):
    """Return (B, ..., d) as (B, T, d)."""
    return x.flatten(1, -2)


def _linear_bias(module, x, delta):
    return Formed(delta if delta.ndim == 2 else _positions(delta).sum(1))


def _convolution(module, x, delta):
    _batched(module, x, 2 + len(module.kernel_size), "(B, channels, ...)")
    spread = module._reversed_padding_repeated_twice  # PyTorch's own form of every `padding`
    if any(spread):
        x = F.pad(x, spread, "constant" if module.padding_mode == "zeros" else module.padding_mode)
    sizes = module.kernel_size, module.stride, module.dilation
    if x.ndim == 3:  # one dimension is two, the first of length 1
        x, delta, sizes = x[:, :, None], delta[:, :, None], [(1, *size) for size in sizes]
    return Convolution(delta, x, *sizes, module.groups, module.weight.shape)


def _channels(module, x, delta):
    """The bias of channels at axis 1: each position adds its cotangent."""
    return Formed(delta.flatten(2).sum(2) if delta.ndim > 2 else delta)


def _layer_shift(module, x, delta):
    count = delta.ndim - 1 - len(module.normalized_shape)
    _batched(module, x, 1 + len(module.normalized_shape), "(B, ..., *normalized_shape)")
    return Formed(delta.sum(tuple(range(1, 1 + count))) if count else delta)


def _layer_scale(module, x, delta):
    if isinstance(module, nn.LayerNorm):
        normal = F.layer_norm(x, module.normalized_shape, eps=module.eps)
    else:
        normal = F.rms_norm(x, module.normalized_shape, eps=module.eps)
    return _layer_shift(module, x, delta * normal)


def _group_scale(module, x, delta):
    normal = F.group_norm(x, module.num_groups, eps=module.eps)
    return _channels(module, x, delta * normal)


def _lookup(module, x, delta):
    if module.scale_grad_by_freq:
        raise NotImplementedError(
            "layerwise: an Embedding has scale_grad_by_freq=True, which divides by counts over "
            "the whole batch, so a sample has no gradient of its own; build it without."
        )
    _batched(module, x, 1, "(B,) or (B, ...)")
    index = x.reshape(x.shape[0], -1)
    delta = delta.reshape(*index.shape, -1)
    if module.padding_idx is not None:
        delta = delta.masked_fill((index == module.padding_idx)[..., None], 0)
    return Lookup(delta, index, module.num_embeddings)


# Layer -> parameter -> rule(module, x, delta) -> form. Parameters not listed, and layers whose
# forward is not the one of the type listed here, fall back to `torch_fallback`.
RULES: dict[type, dict[str, Callable]] = {
    nn.Linear: {"weight": _linear_weight, "bias": _linear_bias},
    nn.Conv1d: {"weight": _convolution, "bias": _channels},
    nn.Conv2d: {"weight": _convolution, "bias": _channels},
    nn.Embedding: {"weight": _lookup},
    nn.LayerNorm: {"weight": _layer_scale, "bias": _layer_shift},
    nn.RMSNorm: {"weight": _layer_scale},
    nn.GroupNorm: {"weight": _group_scale, "bias": _channels},
}


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

    def _table(self):
        return self.delta.new_zeros(self.count, self.delta.shape[2])
