"""How each operation of PyTorch hands on where the samples lie in a cotangent.

The losses, shape (B,), begin with sample i at place i. The table `AXES` says for each kind of node
of the autograd graph where the samples lie in the cotangent that it passes to one of its inputs;
None where they no longer lie along one axis: there they were summed (a weight, a bias: rows are
made at this place), or moved in a way that nobody has proved. Only shapes, axes and, along the
samples' own axis, indices count: no rule looks at a number that was computed.
"""

from collections.abc import Callable
from math import prod

import numpy as np
import torch

from .along import NOBODY, Along, OneSample, Passed, Piece, layout_of

AxisRule = Callable[[Passed], Along | OneSample | Piece | None]


# Operations that work on each number, on each of an axis, or on axes that are not the samples'.
def elementwise(p: Passed) -> Along | None:
    """An input of the output's shape, or one that was broadcast to it along other axes."""
    axis = p.along.axis - (len(p.out) - len(p.into))
    same = axis >= 0 and p.into[axis] == p.out[p.along.axis]
    return p.along.at(axis) if same else None


def within(name: str) -> AxisRule:
    """An operation along the saved axes, which must not be the samples'; the others stay."""

    def rule(p: Passed) -> Along | None:
        return None if p.along.axis in p.axes(name) else elementwise(p)

    return rule


def reduced(p: Passed) -> Along | None:
    """A sum, a mean, a maximum over the saved axes: the others stay in their order."""
    gone = p.axes("dim")
    kept = [axis for axis in range(len(p.into)) if axis not in gone]
    if len(p.out) == len(p.into):  # keepdim
        return p.along if p.along.axis in kept else None
    return p.along.at(kept[p.along.axis]) if len(kept) == len(p.out) else None


def per_class(p: Passed) -> Along | None:
    """A loss for each sample or place: its input has the classes in axis 1."""
    return p.along.at(p.along.axis + (p.along.axis > 0))


def of_texts(p: Passed) -> Along | None:
    """A loss for each text: the input, (T, B, classes), has them in axis 1."""
    return p.along.at(1)


def of_batch(p: Passed) -> Along | None:
    """Images or sequences, one by one along axis 0; only the first input has them."""
    return None if p.slot else each_of_batch(p)


def group_norm(p: Passed) -> Along | None:
    """Groups of channels of each of N images; the operation itself may be told another N."""
    return of_batch(p) if p.saved("N") == p.into[0] else None


def each_of_batch(p: Passed) -> Along | None:
    """Images, one by one along axis 0, and what each is sampled at, or was pooled from."""
    return None if p.along.axis or p.into[:1] != p.out[:1] else p.along


def ahead(p: Passed) -> Along | None:
    """A complex number is made of the last axis, (re, im), or becomes one: the others stay."""
    return p.along if p.along.axis < min(len(p.into), len(p.out)) else None


def leading(p: Passed) -> Along | None:
    """A normalisation of the last axes: the input's other axes stay, the scale is shared."""
    count = len(p.saved("normalized_shape"))
    return p.along if p.slot == 0 and p.along.axis < len(p.out) - count else None


def layer_norm_again(p: Passed) -> Along | None:
    """The backward pass of a normalisation, differentiated by its cotangent and its input."""
    count = len(p.saved("normalized_shape"))
    is_apart = p.output == 0 and p.slot < 2 and p.along.axis < len(p.out) - count
    return p.along if is_apart else None


def convolution_again(p: Passed) -> Along | None:
    """The backward pass of a convolution, differentiated by its cotangent and its input."""
    return p.along if p.output == 0 and p.slot < 2 and p.along.axis == 0 else None


def batch_norm(p: Passed) -> Along | None:
    """Statistics of each channel: kept ones tell the samples apart, those of the batch do not.

    InstanceNorm has the samples among the channels, axis 1, and repeats the scale for each.
    """
    if p.along.axis == 1:
        return p.along if p.slot == 0 else p.along.at(0)
    return p.along if p.slot == 0 and not p.saved("training", True) else None


def attention(p: Passed) -> Along | None:
    """Query, key, value (or a bias) (B, heads, T, d): each sample and each head by itself."""
    is_apart = p.along.axis < 2 and len(p.into) == 4
    return p.along if is_apart and p.into[p.along.axis] == p.out[p.along.axis] else None


def recurrent(p: Passed) -> Along | None:
    """A layer of T steps, (T, B, d): its input, and the first states, (B, d), inputs 5 and 6."""
    axis = {0: 1, 5: 0, 6: 0}.get(p.slot)
    return None if axis is None else p.along.at(axis)


def recurrent_on_cuda(p: Passed) -> Along | None:
    """Layers of T steps, (T, B, d) or, batch first, (B, T, d); packed texts have no such axes."""
    axis = 0 if p.saved("batch_first") else 1
    is_apart = p.slot == 0 and p.output == 0 and p.along.axis == axis
    return p.along if is_apart and len(p.into) == 3 else None


def scan(p: Passed) -> Along | None:
    """The last axis is worked along, all others stay (a linear layer as one operation)."""
    is_apart = p.slot == 0 and p.along.axis < len(p.out) - 1
    return p.along if is_apart and p.into[p.along.axis] == p.out[p.along.axis] else None


# Products. The factor that lacks the samples' axis is shared by them: its rows are made there.
def product(first: int, batch: int = 0) -> AxisRule:
    """(.., n, d) @ (.., d, p) of inputs ``first`` and ``first + 1``, with ``batch`` axes ahead.

    Of a vector, (d,), the output lacks the last axis.
    """

    def rule(p: Passed) -> Along | None:
        if p.slot < first:  # what is added to the product
            return elementwise(p)
        axis = p.along.axis
        own = axis < batch or axis == batch + (p.slot - first)
        return p.along if own else None

    return rule


def trilinear(p: Passed) -> Along | None:
    """A product of three arrays, each repeated along some axes, summed over some."""
    expanded = p.saved(f"expand{p.slot + 1}")
    count = len(p.into) + len(expanded)
    kept = [axis for axis in range(count) if axis not in p.saved("sumdim")]
    axis = kept[p.along.axis]
    if axis in expanded:
        return None
    return p.along.at(axis - sum(e < axis for e in expanded))


# Operations that move axes.
def reshaped(p: Passed) -> Along | OneSample | None:
    """The same numbers in the same order: count those before the first sample."""
    if p.along.owner is not None:
        return _reshaped_owners(p)
    before = prod(p.out[: p.along.axis]) * p.along.outer
    passed = 1  # numbers before an axis of the input
    for axis, length in enumerate(p.into):
        if not 0 < passed <= before or before % passed:
            return None
        if length % (before // passed * p.size) == 0:
            return Along(axis, before // passed)
        passed *= length
    return None


def _reshaped_owners(p):
    """Find the axis of the input along which the owners differ, and along no other."""
    axis = p.along.axis
    before, length = prod(p.out[:axis]), p.out[axis]
    for n, count in enumerate(p.into):  # an axis that stayed as it was
        if count == length and prod(p.into[:n]) == before:
            return p.along.at(n)
    shape = [length if n == axis else 1 for n in range(len(p.out))]
    whose = np.array(p.along.owner).reshape(shape)
    return _of_array(np.broadcast_to(whose, p.out).reshape(p.into), p.size)


def transposed(p: Passed) -> Along | None:
    """Two axes exchanged."""
    one, other = p.saved("dim0"), p.saved("dim1")
    if one is None or other is None:
        return None
    one, other = one % len(p.out), other % len(p.out)
    axis = {one: other, other: one}.get(p.along.axis, p.along.axis)
    return p.along.at(axis)


def matrix_transposed(p: Passed) -> Along | None:
    """The two axes of a matrix exchanged; of a vector nothing is."""
    return p.along.at(1 - p.along.axis) if len(p.out) == 2 else p.along


def permuted(p: Passed) -> Along | None:
    """Axes in another order."""
    return p.along.at(p.saved("dims")[p.along.axis] % len(p.into))


# Cuts, and what puts pieces together: a sample's own numbers, or whole samples.
def chosen(p: Passed) -> Along | Piece:
    """One entry of an axis, which the output lacks."""
    (dim,) = p.axes("dim")
    if isinstance(p.along, OneSample):
        place = p.output if (index := p.saved("index")) is None else index % p.into[dim]
        return Piece(dim, (place,), (p.along.sample,))
    return p.along.at(p.along.axis + (p.along.axis >= dim))


def stacked(p: Passed) -> Along | OneSample | None:
    """An axis that the inputs lack; if it is the samples', each input is one sample's."""
    axis, dim = p.along.axis, p.saved("dim") % len(p.out)
    if axis != dim:
        return p.along.at(axis - (axis > dim))
    index = p.saved("index", p.slot)  # of a cut undone there is one input
    owner = p.owners(dim)[index]
    return None if owner == NOBODY else OneSample(owner)


def joined_along(p: Passed) -> Along | OneSample | None:
    """Arrays one behind the other along an axis."""
    (dim,) = p.axes("dim")
    if p.along.axis != dim:
        return elementwise(p)
    if p.start is None:
        return None
    owners = p.owners(dim)[p.start : p.start + p.into[dim]]
    return layout_of(dim, np.array(owners), p.size)


def sliced(p: Passed) -> Along | Piece:
    """A part of an axis, or one of several parts."""
    (dim,) = p.axes("dim")
    if isinstance(p.along, Along) and p.along.axis != dim:
        return p.along
    start, step = p.start_of_part(dim), p.saved("step", 1)
    if p.into[dim] == p.out[dim] and step == 1:
        return p.along
    return Piece(dim, range(start, start + step * p.out[dim], step), p.owners(dim))


def slice_undone(p: Passed) -> Along | OneSample | None:
    """A part of an axis among zeros: what reaches the part."""
    (dim,) = p.axes("dim")
    if p.along.axis != dim:
        return p.along
    part = slice(*(p.saved(name) for name in ("start", "end", "step")))
    return layout_of(dim, np.array(p.owners(dim)[part]), p.size)


def selected(p: Passed) -> Along | Piece:
    """Entries of an axis by their numbers."""
    (dim,) = p.axes("dim")
    if isinstance(p.along, Along) and p.along.axis != dim:
        return p.along
    return Piece(dim, p.saved("index").flatten().tolist(), p.owners(dim))


def shown(p: Passed) -> Along | OneSample | None:
    """What a node does not say, it shows: numbers that tell their places are sent through it.

    Each entry of the cotangent is its own number n, and then a number made of n. If what arrives
    is again some n and the number made of it, everywhere, the node did nothing but move. A node
    that adds or scales fails, for all but a vanishing part of all sums.
    """
    if hasattr(p.node.next_functions[p.slot][0], "variable"):
        return None  # of a parameter rows are wanted
    like = p.node._input_metadata[p.output or 0]
    if p.memory.get("sent_to") != (key := (p.out, like.dtype, like.device)):
        options = {"dtype": torch.float64, "device": like.device}
        numbers = torch.arange(1.0, prod(p.out) + 1, **options).view(p.out)
        sent = [_digits(x, like.dtype) for x in (numbers, _made_of(numbers))]
        p.memory.update(sent_to=key, sent=sent, by=None)
    sent = p.memory["sent"]
    if p.memory["by"] is not p.node:  # it has other inputs
        p.memory.update(by=p.node, got=[[_tuple(p.node(x)) for x in digits] for digits in sent])
    got = [[passed[p.slot] for passed in digits] for digits in p.memory["got"]]
    if got[0][0] is None:
        return None
    if p.into == p.out and _stays(sent, got):
        return p.along
    arrived, made_arrived = map(_number, got)
    if not torch.equal(_made_of(arrived), made_arrived):
        return None
    arrived = arrived.cpu().numpy().astype(np.int64)
    if isinstance(p.along, OneSample):
        return p.along
    axis = p.along.axis
    owners = np.append(p.owners(axis), NOBODY)
    places = np.where(arrived > 0, (arrived - 1) // prod(p.out[axis + 1 :]) % p.out[axis], -1)
    return _of_array(owners[places], p.size)


def _made_of(numbers):
    return torch.remainder(numbers * numbers, 1000003)


def _base(dtype):
    return 2 / torch.finfo(dtype).eps


def _digits(numbers, dtype):
    """Return whole numbers as digits that a type has exactly: in float32 those below 2^24."""
    found = []
    while not found or numbers.any():
        digits = torch.remainder(numbers, _base(dtype))
        found.append(digits.to(dtype))
        numbers = (numbers - digits) / _base(dtype)
    return found


def _number(digits):
    total = digits[0].real.double()
    for n, x in enumerate(digits[1:], 1):
        total = total + x.real.double() * _base(x.dtype) ** n
    return total


def _stays(sent, got):
    """Say whether some numbers stay where they are, and all others are overwritten."""
    gone = got[0][0] == 0
    for x in got[0][1:]:
        gone = gone & (x == 0)
    pairs = [pair for each in zip(sent, got, strict=True) for pair in zip(*each, strict=True)]
    return all(torch.equal(x.masked_fill(gone, 0), arrived) for x, arrived in pairs)


def _tuple(passed):
    return passed if isinstance(passed, tuple) else (passed,)


def _of_array(whose, size):
    """Return the axis along which the owners of an array differ; of zeros nobody asks."""
    for axis in range(whose.ndim) if whose.size else ():
        first = whose.max(tuple([n for n in range(whose.ndim) if n != axis]), keepdims=True)
        if ((whose == first) | (whose == NOBODY)).all():
            return layout_of(axis, first.flatten(), size)
    return OneSample(int(whose)) if whose.ndim == 0 and whose != NOBODY else None


def or_shown(rule: AxisRule) -> AxisRule:
    """A rule, and where it does not know, what the node shows."""
    return lambda p: rule(p) or shown(p)


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


def replaced(p: Passed) -> Along | OneSample | None:
    """Numbers put in (input 1) at an index along one axis; input 0 has the output's shape."""
    (dim,) = p.axes("dim")
    if p.slot == 0 or p.along.axis != dim:
        return elementwise(p)
    index = p.saved("index").view(1) if p.saved("index").ndim == 0 else p.saved("index")
    if index.ndim > 1:  # as long as the numbers: along the other axes it must not change
        index = index.movedim(dim, 0).flatten(1)
        if not index.numel() or not (index == index[:, :1]).all():
            return None
        index = index[:, 0]
    owners = np.array(p.owners(dim))[index.cpu().numpy()]
    return layout_of(dim, owners, p.size) if len(owners) == p.into[dim] else None


def overwritten(p: Passed) -> Along | OneSample | None:
    """Numbers put in at places that an index or a mask chooses: what is left of input 0."""
    if p.slot == 0:
        return elementwise(p)
    places = _places(p.saved("indices", ()), p.out)
    if places is None or p.along.axis != 0:
        return None
    lies = layout_of(0, np.array(p.owners(0))[places], p.size)
    same = p.into == (len(places), *p.out[1:]) or isinstance(lies, OneSample)
    return lies if same else None  # or one number was written to several samples


def _places(indices, shape):
    """Return which entries of axis 0 an index, or a mask, chooses; None if it is another one."""
    if len(indices) != 1 or indices[0] is None or indices[0].ndim != 1:
        return None
    index = indices[0].cpu()
    if index.dtype in (torch.bool, torch.uint8):
        return index.nonzero().flatten().numpy() if len(index) == shape[0] else None
    return (index % shape[0]).numpy()


# Indexing: along the samples' own axis an index must be 0, 1, ..., B - 1.
def indexed(p: Passed) -> Along | Piece | None:
    """x[i, j, ...] with index arrays side by side; the axes they make are in their place."""
    indices = p.saved("indices")
    places = _places(indices, p.into)
    if places is not None and (isinstance(p.along, OneSample) or p.along.axis == 0):
        return Piece(0, places, p.owners(0))
    if isinstance(p.along, OneSample):
        return p.along
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
        return p.along.at(axis - width + count)
    if p.out[axis] != p.size:
        return None
    for n in places:
        if p.into[n] == p.size and _counts(indices[n], width - (axis - first), p.size):
            return p.along.at(n)
    return None


def _counts(index, from_last, size):
    """Say whether an index is 0, 1, ..., B - 1 along one axis, the same along the others."""
    if index.ndim < from_last:
        return False
    shape = [1] * index.ndim
    shape[index.ndim - from_last] = size
    return bool((index == torch.arange(size, device=index.device).view(shape)).all())


# Kinds of nodes: without "Backward" and a number.
ELEMENTWISE = """
    Abs Acos Acosh Add Addcdiv Addcmul Alias Angle Asin Asinh Atan Atan2 Atanh BinaryCrossEntropy
    BinaryCrossEntropyWithLogits Ceil Celu Clamp ClampMax ClampMin Clone Copysign Cos Cosh Digamma
    Div Elu EluBackward Erf Erfc Erfinv Exp Exp2 Expand Expm1 Fill Floor Fmax Fmin Fmod Frac Gelu
    GeluBackward Hardshrink Hardsigmoid Hardswish HardswishBackward Hardtanh HardtanhBackward
    HuberLoss Hypot LeakyRelu LeakyReluBackward Lerp Lgamma Log Log10 Log1P Log2 LogSigmoid
    LogSigmoidBackward Logaddexp Logaddexp2 Logit MaskedFill Maximum Minimum Mish MseLoss Mul
    NanToNum NativeDropout Neg Pow PreluKernel Reciprocal Relu Remainder Round RreluWithNoise
    Rsqrt Rsub Sgn Sigmoid SigmoidBackward Sign Silu Sin Sinc Sinh SmoothL1Loss SoftMarginLoss
    Softplus SoftplusBackward Softshrink SpecialEntr SpecialXlog1Py Sqrt Sub Tan Tanh TanhBackward
    Threshold ThresholdBackward ToCopy Tril Triu Trunc Where Xlogy Zero
"""
REDUCED = """
    Amax Amin Aminmax Kthvalue LinalgVectorNorm Logsumexp Max Mean Median Min Mode Nanmedian Nansum
    Norm Prod Std StdMean Sum Var VarMean
"""
WITHIN = """
    Cummax Cummin Cumprod Cumsum FftC2C FftC2R FftR2C Gather Glu IndexFill
    LinalgCross LogSoftmax LogSoftmaxBackwardData Logcumsumexp SafeSoftmax Softmax
    SoftmaxBackwardData Sort Topk
"""
OF_BATCH = """
    AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D AffineGridGenerator
    AvgPool2D AvgPool3D ChannelShuffle Col2Im Convolution FractionalMaxPool2D FractionalMaxPool3D
    Im2Col MaxPool2DWithIndices MaxPool3DWithIndices MaxUnpool2D MaxUnpool3D
    PixelShuffle PixelUnshuffle ReflectionPad1D ReflectionPad2D ReflectionPad3D ReplicationPad1D
    ReplicationPad2D ReplicationPad3D UpsampleBicubic2D UpsampleBicubic2DAa UpsampleBilinear2D
    UpsampleBilinear2DAa UpsampleLinear1D UpsampleNearest1D UpsampleNearest2D UpsampleNearest3D
    UpsampleNearestExact1D UpsampleNearestExact2D UpsampleNearestExact3D UpsampleTrilinear3D
"""
EACH_OF_BATCH = """
    AdaptiveAvgPool2DBackward AdaptiveMaxPool2DBackward AvgPool2DBackward GridSampler2D
    GridSampler3D MaxPool2DWithIndicesBackward
"""
ATTENTION = """
    ScaledDotProductCudnnAttention ScaledDotProductEfficientAttention
    ScaledDotProductFlashAttention ScaledDotProductFlashAttentionForCpu
"""


def _rows(kinds, rule):
    return dict.fromkeys(kinds.split(), rule)


SPLIT = "Split SplitWithSizes UnsafeSplit"
# Kinds that are asked for each output by itself, and those that cut: asked also of one sample's.
PER_OUTPUT = {*SPLIT.split(), "Unbind"}
SLICING = {*SPLIT.split(), "Index", "IndexSelect", "Select", "Slice", "Unbind"}
# Kinds whose outputs have the samples along different axes, if along any: of each output which.
# All T steps of a layer, (T, B, d), and its last states, (B, d).
SAMPLE_AXES: dict[str, tuple[int, ...]] = {"MkldnnRnnLayer": (1, 0, 0)}


# Kind of node -> rule. A kind that is not here is unknown, and so is a table that all share.
AXES: dict[str, AxisRule] = {
    **_rows(ELEMENTWISE, elementwise),
    **_rows(REDUCED, reduced),
    **_rows(WITHIN, within("dim")),
    **_rows("Flip Rot90", or_shown(within("dims"))),
    "Roll": or_shown(rolled),
    **_rows("NllLoss NllLoss2D MultiMarginLoss MultilabelMarginLoss", per_class),
    "CtcLoss": of_texts,
    **_rows("IndexAdd IndexCopy Scatter ScatterAdd ScatterReduce", replaced),
    "Index": or_shown(indexed),
    **_rows("IndexPut MaskedScatter SelectScatter SliceScatter", overwritten),
    **_rows("ReshapeAlias Squeeze UnsafeView Unsqueeze View", reshaped),
    "T": matrix_transposed,
    "Transpose": transposed,
    "Permute": permuted,
    **_rows("Select Unbind", chosen),
    **_rows("Stack SelectBackward", stacked),
    "Cat": joined_along,
    **_rows(f"Slice {SPLIT}", sliced),
    "SliceBackward": slice_undone,
    "IndexSelect": selected,
    **_rows("AsStrided CopySlices MaskedSelect PackPaddedSequence", shown),
    "Repeat": tiled,
    "ConstantPadNd": padded,
    "Unfold": windows,
    **_rows("ViewAsComplex ViewAsReal", ahead),
    "Mm": product(0),
    "Addmm": product(1),
    "Bmm": product(0, batch=1),
    "Baddbmm": product(1, batch=1),
    "Mv": product(0),
    "Addmv": product(1),
    "Trilinear": trilinear,
    "Linear": scan,
    **_rows(OF_BATCH, of_batch),
    **_rows(EACH_OF_BATCH, each_of_batch),
    "NativeGroupNorm": group_norm,
    **_rows("NativeLayerNorm FusedRmsNorm", leading),
    "NativeLayerNormBackward": layer_norm_again,
    "ConvolutionBackward": convolution_again,
    **_rows("NativeBatchNorm CudnnBatchNorm", batch_norm),
    **_rows(ATTENTION, attention),
    "MkldnnRnnLayer": recurrent,
    "CudnnRnn": recurrent_on_cuda,
}
