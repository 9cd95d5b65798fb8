"""Where the samples lie in a cotangent, and how each operation of PyTorch hands that on.

A cotangent has its samples along one axis, if number i of that axis is a derivative of sample
i's loss alone. The losses, shape (B,), begin so. The table `RULES` says for each kind of node of
the autograd graph where the samples lie in the cotangent that it passes to one of its inputs;
None where they no longer lie along one axis: there they were summed (a weight, a bias: rows are
made at this place), or moved in a way that nobody has proved. Only shapes, axes and, along the
samples' own axis, indices count: no rule looks at a number that was computed.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

Shape = tuple[int, ...]


class Along(NamedTuple):
    """The samples lie along ``axis``, whose length is outer * B * inner (outer and inner: 1)."""

    axis: int
    outer: int = 1

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x with the samples first, (B, ...); the rest of their axis keeps its place."""
        axis, outer = self
        if outer == 1:
            return x.unflatten(axis, (size, -1)).movedim(axis, 0)
        x = x.unflatten(axis, (outer, size, -1)).movedim(axis + 1, 0)
        return x.flatten(axis + 1, axis + 2)

    def only(self, x: Tensor, sample: int, size: int) -> Tensor:
        """Return x with zeros for all samples but one."""
        kept = torch.zeros_like(x, memory_format=torch.contiguous_format)
        part = (slice(None),) * self.axis + (slice(None), sample)
        kept.unflatten(self.axis, (self.outer, size, -1))[part] = x.unflatten(
            self.axis, (self.outer, size, -1)
        )[part]
        return kept


class Passed(NamedTuple):
    """One cotangent on its way: from a node's output, shape ``out``, to one of its inputs."""

    node: Any  # torch.autograd.graph.Node
    slot: int  # which of the node's next_functions
    along: Along  # in the cotangent of the output
    out: Shape
    into: Shape
    size: int  # B

    def saved(self, name: str, default: Any = None) -> Any:
        """Return what autograd saved under a name; an axis may be saved as 2^64 less a number."""
        value = getattr(self.node, f"_saved_{name}", default)
        if isinstance(value, tuple | list):
            return tuple([_signed(x) for x in value])
        return _signed(value)

    def axes(self, *names: str) -> set[int]:
        """Return the saved axes of these names, counted from the first axis of the input."""
        found: set[int] = set()
        for name in names:
            value = self.saved(name)
            if value is None:
                continue
            values = value if isinstance(value, tuple) else (value,)
            found.update([x % max(len(self.into), 1) for x in values])
        return found


def _signed(x):
    return x - 2**64 if isinstance(x, int) and x >= 2**63 else x


Rule = Callable[[Passed], Along | None]


# Operations that work on each number, on each of an axis, or on axes that are not the samples'.
def elementwise(p: Passed) -> Along | None:
    """An input of the output's shape, or one that was broadcast to it along other axes."""
    axis = p.along.axis - (len(p.out) - len(p.into))
    same = axis >= 0 and p.into[axis] == p.out[p.along.axis]
    return Along(axis, p.along.outer) if same else None


def unreduced(p: Passed) -> Along | None:
    """A loss of PyTorch with ``reduction="none"``."""
    return elementwise(p) if p.saved("reduction", 0) == 0 else None


def within(*names: str) -> Rule:
    """An operation along the saved axes, which must not be the samples'; shapes stay."""

    def rule(p: Passed) -> Along | None:
        return None if p.along.axis in p.axes(*names) else elementwise(p)

    return rule


def reduced(p: Passed) -> Along | None:
    """A sum, a mean, a maximum over the saved axes: the others stay in their order."""
    gone = p.axes("dim")
    kept = [axis for axis in range(len(p.into)) if axis not in gone]
    if len(p.out) == len(p.into):  # keepdim
        return p.along if p.along.axis in kept else None
    return Along(kept[p.along.axis], p.along.outer) if len(kept) == len(p.out) else None


def per_class(p: Passed) -> Along | None:
    """A negative log-likelihood: the input has the classes in axis 1, the losses have not."""
    if p.saved("reduction", 0) != 0 or len(p.into) != len(p.out) + 1:
        return None
    return Along(p.along.axis + (p.along.axis > 0), p.along.outer)


def of_batch(p: Passed) -> Along | None:
    """Images or sequences, one by one along axis 0; only the first input has them."""
    return None if p.slot or p.along.axis or p.into[:1] != p.out[:1] else p.along


def leading(p: Passed) -> Along | None:
    """A normalisation of the last axes: the input's other axes stay, the scale is shared."""
    count = len(p.saved("normalized_shape"))
    return p.along if p.slot == 0 and p.along.axis < len(p.out) - count else None


def batch_norm(p: Passed) -> Along | None:
    """Statistics of each channel: kept ones tell the samples apart, those of the batch do not.

    InstanceNorm has the samples among the channels, axis 1, and repeats the scale for each.
    """
    if p.along.axis == 1:
        return p.along if p.slot == 0 else Along(0, p.along.outer)
    return p.along if p.slot == 0 and not p.saved("training", True) else None


def attention(p: Passed) -> Along | None:
    """Query, key, value (or a bias) (B, heads, T, d): each sample and each head by itself."""
    is_apart = p.along.axis < 2 and len(p.into) == 4
    return p.along if is_apart and p.into[p.along.axis] == p.out[p.along.axis] else None


def recurrent(p: Passed) -> Along | None:
    """A layer of T steps, (T, B, d): its input; weights are shared by steps and samples."""
    return p.along if p.slot == 0 and p.along.axis == 1 and p.into[1] == p.out[1] else None


def scan(p: Passed) -> Along | None:
    """The last axis is worked along, all others stay (a linear layer as one operation)."""
    is_apart = p.slot == 0 and p.along.axis < len(p.out) - 1
    return p.along if is_apart and p.into[p.along.axis] == p.out[p.along.axis] else None


# Products. The factor that lacks the samples' axis is shared by them: its rows are made there.
def product(first: int, batch: int = 0) -> Rule:
    """(.., n, d) @ (.., d, p) of inputs ``first`` and ``first + 1``, with ``batch`` axes ahead."""

    def rule(p: Passed) -> Along | None:
        if p.slot < first:  # what is added to the product
            return elementwise(p)
        axis = p.along.axis
        own = axis < batch or axis == batch + (p.slot - first)
        return p.along if own else None

    return rule


def matrix_vector(p: Passed) -> Along | None:
    """(n, d) @ (d,): the matrix may have the samples along axis 0."""
    return p.along if p.slot == 0 else None


def trilinear(p: Passed) -> Along | None:
    """A product of three arrays, each repeated along some axes, summed over some."""
    expanded = p.saved(f"expand{p.slot + 1}")
    count = len(p.into) + len(expanded)
    kept = [axis for axis in range(count) if axis not in p.saved("sumdim")]
    axis = kept[p.along.axis]
    if axis in expanded:
        return None
    return Along(axis - sum(e < axis for e in expanded), p.along.outer)


# Operations that move axes.
def reshaped(p: Passed) -> Along | None:
    """The same numbers in the same order: count those ahead of the samples."""
    ahead = prod(p.out[: p.along.axis]) * p.along.outer
    passed = 1  # numbers ahead of an axis of the input
    for axis, length in enumerate(p.into):
        if ahead % passed == 0 and length % (ahead // passed * p.size) == 0:
            return Along(axis, ahead // passed)
        passed *= length
        if passed > ahead:
            return None
    return None


def transposed(p: Passed) -> Along | None:
    """Two axes exchanged; by default those of a matrix."""
    count = len(p.out)
    one, other = (p.saved(name, n) % count for n, name in enumerate(("dim0", "dim1")))
    axis = {one: other, other: one}.get(p.along.axis, p.along.axis)
    return Along(axis, p.along.outer)


def permuted(p: Passed) -> Along | None:
    """Axes in another order."""
    return Along(p.saved("dims")[p.along.axis] % len(p.into), p.along.outer)


def chosen(p: Passed) -> Along | None:
    """One entry of an axis, which the output lacks."""
    (dim,) = p.axes("dim")
    return Along(p.along.axis + (p.along.axis >= dim), p.along.outer)


def stacked(p: Passed) -> Along | None:
    """An axis that the inputs lack; it must not be the samples'."""
    dim = p.saved("dim") % len(p.out)
    return (
        None if p.along.axis == dim else Along(p.along.axis - (p.along.axis > dim), p.along.outer)
    )


def sliced(p: Passed) -> Along | None:
    """A part of an axis; of the samples' own all, in order."""
    if p.along.axis in p.axes("dim"):
        whole = p.into[p.along.axis] == p.out[p.along.axis] and p.saved("step", 1) == 1
        return p.along if whole else None
    return p.along


def tiled(p: Passed) -> Along | None:
    """Repeats of an array, along other axes than the samples'."""
    return elementwise(p) if p.saved("repeats")[p.along.axis] == 1 else None


def padded(p: Passed) -> Along | None:
    """Numbers put around an array: (left, right) of the last axis, of the one before, ..."""
    pad, n = p.saved("pad"), 2 * (len(p.out) - 1 - p.along.axis)
    return None if any(pad[n : n + 2]) else elementwise(p)


def rolled(p: Passed) -> Along | None:
    """Shifted along the saved axes; along none: all numbers as one line."""
    return None if not p.saved("dims") or p.along.axis in p.axes("dims") else elementwise(p)


def windows(p: Passed) -> Along | None:
    """Windows of one axis, which become the last axis."""
    if p.along.axis in p.axes("dimension") or p.along.axis == len(p.out) - 1:
        return None
    return p.along


def replaced(p: Passed) -> Along | None:
    """Numbers put in (input 1) at an index along one axis; input 0 has the output's shape."""
    return elementwise(p) if p.slot == 0 else within("dim")(p)


def overwritten(p: Passed) -> Along | None:
    """Numbers put in at places that an index or a mask chooses: what is left of input 0."""
    return elementwise(p) if p.slot == 0 else None


# Indexing: along the samples' own axis an index must be 0, 1, ..., B - 1.
def indexed(p: Passed) -> Along | None:
    """x[i, j, ...] with index arrays side by side; the axes they make are in their place."""
    indices = p.node._saved_indices
    if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
        return None  # a mask: how many numbers it chooses is no shape
    places = [n for n, index in enumerate(indices) if index is not None]
    first, count = places[0], len(places)
    if places != list(range(first, first + count)):
        return None
    width = max(indices[n].ndim for n in places)  # axes that the indices make
    axis = p.along.axis
    if axis < first:
        return p.along if p.into[axis] == p.out[axis] else None
    if axis >= first + width:
        return Along(axis - width + count, p.along.outer)
    if p.out[axis] != p.size:
        return None
    for n in places:
        if p.into[n] == p.size and _counts(indices[n], width - (axis - first), p.size):
            return Along(n)
    return None


def _counts(index, from_last, size):
    """Say whether an index is 0, 1, ..., B - 1 along one of its axes, the same along the others."""
    if index.ndim < from_last:
        return False
    axis = index.ndim - from_last
    if index.shape[axis] != size:
        return False
    shape = [1] * index.ndim
    shape[axis] = size
    return bool((index == torch.arange(size, device=index.device).view(shape)).all())


def shared(p: Passed) -> Along | None:
    """A table in which every sample looks up its lines."""
    return None


# Kind of node, without "Backward" and a number -> rule. A kind that is not here is unknown.
RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            *("Abs", "Acos", "Acosh", "Add", "Addcdiv", "Addcmul", "Alias", "Asin", "Asinh"),
            *("Atan", "Atan2", "Atanh", "Celu", "Clamp", "ClampMax", "ClampMin", "Clone"),
            *(
                "Copy",
                "Copysign",
                "Cos",
                "Cosh",
                "Div",
                "Elu",
                "Erf",
                "Erfc",
                "Exp",
                "Exp2",
                "Expand",
            ),
            *("Expm1", "Fmax", "Fmin", "Fmod", "Frac", "Gelu", "Hardshrink", "Hardsigmoid"),
            *("Hardswish", "Hardtanh", "Hypot", "LeakyRelu", "Lerp", "Lgamma", "Log", "Log10"),
            *("Log1P", "Log2", "LogSigmoid", "Logaddexp", "Logaddexp2", "Logit", "MaskedFill"),
            *("Maximum", "Minimum", "Mish", "Mul", "NanToNum", "NativeDropout", "Neg", "Pow"),
            *("PreluKernel", "Reciprocal", "Relu", "Remainder", "RreluWithNoise", "Rsqrt"),
            *("Rsub", "Sgn", "Sigmoid", "Sign", "Silu", "Sin", "Sinc", "Sinh", "Softplus"),
            *("Softshrink", "Sqrt", "Sub", "Tan", "Tanh", "Threshold", "ToCopy", "Tril"),
            *("Triu", "Where", "Xlogy", "Zero", "Fill", "Ceil", "Floor", "Round", "Trunc"),
        ),
        elementwise,
    ),
    **dict.fromkeys(
        (
            *("BinaryCrossEntropy", "BinaryCrossEntropyWithLogits", "HuberLoss", "KlDiv"),
            *("L1Loss", "MseLoss", "SmoothL1Loss", "SoftMarginLoss"),
        ),
        unreduced,
    ),
    **dict.fromkeys(("NllLoss", "NllLoss2D"), per_class),
    **dict.fromkeys(
        (
            *("Amax", "Amin", "Kthvalue", "LinalgVectorNorm", "Logsumexp", "Max", "Mean"),
            *("Median", "Min", "Mode", "Nanmedian", "Nansum", "Norm", "Prod", "Std", "StdMean"),
            *("Sum", "Var", "VarMean"),
        ),
        reduced,
    ),
    **dict.fromkeys(
        (
            *("Cat", "Cummax", "Cummin", "Cumprod", "Cumsum", "Gather", "Glu", "IndexFill"),
            *("IndexSelect", "LogSoftmax", "Logcumsumexp", "Softmax", "Sort", "Split"),
            *("SplitWithSizes", "Topk", "UnsafeSplit"),
        ),
        within("dim"),
    ),
    "Flip": within("dims"),
    "Roll": rolled,
    **dict.fromkeys(("IndexAdd", "IndexCopy", "Scatter", "ScatterAdd", "ScatterReduce"), replaced),
    "Index": indexed,
    **dict.fromkeys(("IndexPut", "MaskedScatter", "SelectScatter", "SliceScatter"), overwritten),
    **dict.fromkeys(("ReshapeAlias", "Squeeze", "UnsafeView", "Unsqueeze", "View"), reshaped),
    **dict.fromkeys(("T", "Transpose"), transposed),
    "Permute": permuted,
    **dict.fromkeys(("Select", "Unbind"), chosen),
    "Stack": stacked,
    "Slice": sliced,
    "Repeat": tiled,
    "ConstantPadNd": padded,
    "Unfold": windows,
    "Mm": product(0),
    "Addmm": product(1),
    "Bmm": product(0, batch=1),
    "Baddbmm": product(1, batch=1),
    "Mv": matrix_vector,
    "Trilinear": trilinear,
    **dict.fromkeys(("Linear", "MkldnnLinear"), scan),
    **dict.fromkeys(
        (
            *("AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D", "AvgPool2D"),
            *("AvgPool3D", "Col2Im", "Convolution", "ConvolutionOverrideable", "Im2Col"),
            *("MaxPool2DWithIndices", "MaxPool3DWithIndices", "MkldnnConvolution"),
            *("CudnnConvolution", "NativeGroupNorm", "PixelShuffle", "PixelUnshuffle"),
            *("ReflectionPad1D", "ReflectionPad2D", "ReplicationPad1D", "ReplicationPad2D"),
            *("UpsampleBicubic2D", "UpsampleBilinear2D", "UpsampleLinear1D"),
            *("UpsampleNearest1D", "UpsampleNearest2D", "UpsampleNearest3D"),
            *("UpsampleTrilinear3D", "UpsampleNearestExact2D"),
        ),
        of_batch,
    ),
    **dict.fromkeys(("NativeLayerNorm", "FusedRmsNorm"), leading),
    **dict.fromkeys(("NativeBatchNorm", "CudnnBatchNorm"), batch_norm),
    **dict.fromkeys(
        (
            "ScaledDotProductCudnnAttention",
            "ScaledDotProductEfficientAttention",
            "ScaledDotProductFlashAttention",
            "ScaledDotProductFlashAttentionForCpu",
            "ScaledDotProductFusedAttentionOverrideable",
        ),
        attention,
    ),
    **dict.fromkeys(("CudnnRnn", "MkldnnRnnLayer"), recurrent),
    **dict.fromkeys(("Embedding", "EmbeddingBag"), shared),
}


def rule_of(name: str) -> Rule | None:
    """Return the rule of a node by its name, such as "MulBackward0"; None where it is unknown.

    The number is part of it: "MulBackward" is a ``torch.autograd.Function`` that someone wrote.
    """
    kind, _, number = name.rpartition("Backward")
    return RULES.get(kind) if number.isdigit() else None
