"""The table `AXES`: kind of autograd node -> rule that finds the sample axis of its inputs.

A rule gets the layout of an output's cotangent (see `layouts`) and returns the layout of what the
node adds to an input's cotangent. None: the samples are summed there (a weight, a bias), or the
rule cannot prove where they are. Rules read shapes, axes and, along the sample axis, indices; only
`observed` runs the node. Their docstrings name the forward operation, its inputs and its output.
"""

from collections.abc import Callable
from functools import lru_cache, reduce
from math import prod
from operator import add
from typing import Any

import numpy as np
import torch

from .layouts import NOBODY, Layout, OneSample, Piece, Propagation, SampleAxis, layout_of

AxisRule = Callable[[Propagation], SampleAxis | OneSample | Piece | None]


# Elementwise operations, and operations along axes other than the sample axis.
def elementwise(p: Propagation) -> SampleAxis | None:
    """Elementwise, with broadcasting; None if the input was broadcast along the sample axis."""
    axis = p.axis - (len(p.out) - len(p.into))
    same = axis >= 0 and p.into[axis] == p.out[p.axis]
    return p.layout.at(axis) if same else None


def within(name: str) -> AxisRule:
    """Return a rule for an operation along the axes saved as ``name``, such as softmax.

    It returns None if the sample axis is one of these axes, else what `elementwise` returns.
    """

    def rule(p: Propagation) -> SampleAxis | None:
        return None if p.axis in p.axes(name) else elementwise(p)

    return rule


def reduced(p: Propagation) -> SampleAxis | None:
    """A reduction over the saved axes ``dim``, with or without keepdim; None along these."""
    gone = p.axes("dim")
    kept = [axis for axis in range(len(p.into)) if axis not in gone]
    if len(p.out) == len(p.into):  # keepdim
        return p.layout if p.axis in kept else None
    return p.layout.at(kept[p.axis]) if len(kept) == len(p.out) else None


def per_class(p: Propagation) -> SampleAxis | None:
    """An unreduced classification loss: its input has one axis more, axis 1, of the classes."""
    return p.layout.at(p.axis + (p.axis > 0))


def of_texts(p: Propagation) -> SampleAxis | None:
    """CTC loss, unreduced, (B,): its input, the log-probabilities, is (T, B, classes)."""
    return p.layout.at(1)


def first_axes(p: Propagation, count: int) -> SampleAxis | None:
    """Return the layout if the sample axis is kept and among the first ``count`` axes, or None."""
    axis = slice(p.axis, p.axis + 1)
    return p.layout if p.axis < count and p.into[axis] == p.out[axis] else None


def each_of_batch(p: Propagation) -> SampleAxis | None:
    """An operation on each entry of axis 0 separately; all inputs have this axis."""
    return first_axes(p, 1)


def of_batch(p: Propagation) -> SampleAxis | None:
    """An operation on each entry of axis 0 of input 0; None for other inputs, the weights."""
    return None if p.input_index else first_axes(p, 1)


def convolution_again(p: Propagation) -> SampleAxis | None:
    """A convolution's backward, only its output 0, the images' gradient; None for the weight."""
    return first_axes(p, 1) if p.output_index == 0 and p.input_index < 2 else None


def group_norm(p: Propagation) -> SampleAxis | None:
    """Group normalisation; None if the saved batch size N is not the length of axis 0."""
    return of_batch(p) if p.saved("N") == p.into[0] else None


def layer_norm(p: Propagation) -> SampleAxis | None:
    """Normalisation over the last axes, as saved ``normalized_shape``; None for scale and bias."""
    return None if p.input_index else first_axes(p, len(p.out) - len(p.saved("normalized_shape")))


def layer_norm_again(p: Propagation) -> SampleAxis | None:
    """A layer normalisation's backward: its output 0 and inputs 0 and 1; None for all others."""
    count = len(p.out) - len(p.saved("normalized_shape"))
    return first_axes(p, count) if p.output_index == 0 and p.input_index < 2 else None


def linear(p: Propagation) -> SampleAxis | None:
    """A linear layer as one node: only the last axis changes; None for weight and bias."""
    return None if p.input_index else first_axes(p, len(p.out) - 1)


def as_complex(p: Propagation) -> SampleAxis | None:
    """view_as_complex, view_as_real: a last axis of length 2 is removed or added."""
    return first_axes(p, min(len(p.into), len(p.out)))


def attention(p: Propagation) -> SampleAxis | None:
    """Attention: query, key and value (B, heads, T, d), a mask (B, heads, T, T'); else None."""
    return first_axes(p, 2) if len(p.into) == 4 else None


def batch_norm(p: Propagation) -> SampleAxis | None:
    """Batch normalisation: None for batch statistics, which mix the samples of axis 0.

    InstanceNorm calls it with input (1, B C, ...), the samples on axis 1, and scale, bias (B C,).
    """
    if p.axis == 1:
        return p.layout if p.input_index == 0 else p.layout.at(0)
    return p.layout if p.input_index == 0 and not p.saved("training") else None


def recurrent(p: Propagation) -> SampleAxis | None:
    """An LSTM layer: input 0 is (T, B, d), inputs 5 and 6 are its initial states, (B, h)."""
    axis = {0: 1, 5: 0, 6: 0}.get(p.input_index)
    return None if axis is None else p.layout.at(axis)


def recurrent_on_cuda(p: Propagation) -> SampleAxis | None:
    """Recurrent layers of cuDNN: only from output 0, the sequence, to input 0; else None.

    Both are (T, B, d), or (B, T, d) with ``batch_first``; packed ones have no sample axis.
    """
    axis = 0 if p.saved("batch_first") else 1
    is_apart = p.input_index == 0 and p.output_index == 0 and p.axis == axis
    return p.layout if is_apart and len(p.into) == 3 else None


# Products. A factor without the sample axis is a weight.
def product(first: int, batch: int = 0) -> AxisRule:
    """Return the rule of (..., n, d) @ (..., d, p), or @ (d,), with ``batch`` axes before n.

    Its factors are inputs ``first`` and ``first + 1``; an input before them is a summand. The
    sample axis is a batch axis, n of the first factor or p of the second; else None.
    """

    def rule(p: Propagation) -> SampleAxis | None:
        if p.input_index < first:  # the summand of addmm
            return elementwise(p)
        axis = p.axis
        own = axis < batch or axis == batch + (p.input_index - first)
        return p.layout if own else None

    return rule


def distances(p: Propagation) -> SampleAxis | None:
    """cdist: n points (..., n, d) and m points (..., m, d) have the distances (..., n, m)."""
    own = len(p.out) - 2 + p.input_index  # the axis of the input's points
    if p.axis < len(p.out) - 2:
        return elementwise(p)
    return p.layout.at(len(p.into) - 2) if p.axis == own else None


def trilinear(p: Propagation) -> SampleAxis | None:
    """A bilinear layer: a product of three arrays with axes of length 1 inserted, then summed."""
    expanded = p.saved(f"expand{p.input_index + 1}")
    count = len(p.into) + len(expanded)
    kept = [axis for axis in range(count) if axis not in p.saved("sumdim")]
    axis = kept[p.axis]
    if axis in expanded:
        return None
    return p.layout.at(axis - sum(e < axis for e in expanded))


# Reshapes and permutations of axes.
def reshaped(p: Propagation) -> SampleAxis | OneSample | None:
    """A reshape: the sample axis is found by the number of entries before it; else None."""
    if p.layout.owner is not None:
        return _reshaped_owners(p)
    before = prod(p.out[: p.axis]) * p.layout.outer
    passed = 1  # entries before an axis of the input
    for axis, length in enumerate(p.into):
        if not 0 < passed <= before or before % passed:
            return None
        if length % (before // passed * p.size) == 0:
            return SampleAxis(axis, before // passed)
        passed *= length
    return None


def _reshaped_owners(p):
    """Return the layout along the only axis of the input on which owners differ, else None."""
    axis = p.axis
    before, length = prod(p.out[:axis]), p.out[axis]
    for n, count in enumerate(p.into):  # an axis that stayed as it was
        if count == length and prod(p.into[:n]) == before:
            return p.layout.at(n)
    shape = [length if n == axis else 1 for n in range(len(p.out))]
    whose = np.array(p.layout.owner).reshape(shape)
    return _of_array(np.broadcast_to(whose, p.out).reshape(p.into), p.size)


def permuted(p: Propagation) -> SampleAxis | None:
    """A transpose, or another permutation of the axes; None if the node does not save it."""
    order = p.order()
    return order and p.layout.at(order[p.axis])


# Slices and joins, within a sample or along the sample axis.
def chosen(p: Propagation) -> SampleAxis | Piece:
    """select, unbind: one entry of an axis, which the output lacks; a `Piece` if of one sample."""
    (dim,) = p.axes("dim")
    if isinstance(p.layout, OneSample):
        entry = p.output_index if (index := p.saved("index")) is None else index % p.into[dim]
        return Piece(dim, (entry,), (p.layout.sample,))
    return p.layout.at(p.axis + (p.axis >= dim))


def stacked(p: Propagation) -> SampleAxis | OneSample | None:
    """stack, or the backward of select: an input is one entry of axis ``dim`` of the output."""
    axis, dim = p.axis, p.saved("dim") % len(p.out)
    if axis != dim:
        return p.layout.at(axis - (axis > dim))
    index = p.saved("index", p.input_index)  # the backward of select has one input
    owner = p.owners(dim)[index]
    return None if owner == NOBODY else OneSample(owner)


def concatenated(p: Propagation) -> SampleAxis | OneSample | None:
    """cat: an input has the owners of its range of axis ``dim``; None if its start is unknown."""
    (dim,) = p.axes("dim")
    if p.axis != dim:
        return elementwise(p)
    if p.start is None:
        return None
    owners = p.owners(dim)[p.start : p.start + p.into[dim]]
    return layout_of(dim, np.array(owners), p.size)


def sliced(p: Propagation) -> SampleAxis | Piece:
    """slice, split: a `Piece` if ``dim`` is the sample axis or all is one sample's; else as is."""
    (dim,) = p.axes("dim")
    if isinstance(p.layout, SampleAxis) and p.axis != dim:
        return p.layout
    start, step = p.start_of_part(dim), p.saved("step", 1)
    if p.into[dim] == p.out[dim] and step == 1:
        return p.layout
    return Piece(dim, range(start, start + step * p.out[dim], step), p.owners(dim))


def slice_undone(p: Propagation) -> SampleAxis | OneSample | None:
    """The backward of a slice: the output is the input, with 0 around it along axis ``dim``."""
    (dim,) = p.axes("dim")
    if p.axis != dim:
        return p.layout
    part = slice(*(p.saved(name) for name in ("start", "end", "step")))
    return layout_of(dim, np.array(p.owners(dim)[part]), p.size)


def selected(p: Propagation) -> SampleAxis | Piece:
    """index_select: a `Piece` if ``dim`` is the sample axis or all is one sample's; else as is."""
    (dim,) = p.axes("dim")
    if isinstance(p.layout, SampleAxis) and p.axis != dim:
        return p.layout
    return Piece(dim, p.saved("index").flatten().tolist(), p.owners(dim))


def observed(p: Propagation) -> Layout:
    """Find the layout by calling the node's backward, for nodes that save too little.

    Every entry of the cotangent is the random integer code of its sample, passed digit by digit,
    one call each, since digits are exact in every dtype. If the result holds only codes and 0, the
    node only moves entries, and the codes give their owners; otherwise return None. (A sum or a
    multiple of codes equals another code with negligible probability.)
    """
    if hasattr(p.node.next_functions[p.input_index][0], "variable"):
        return None  # a parameter has no sample axis
    like = p.node._input_metadata[p.output_index or 0]
    base = int(2 / torch.finfo(like.dtype).eps)
    codes, digits = _codes(p.size, base)
    if p.memory.get("sent_to") != (key := (p.layout, p.out, like.dtype, like.device)):
        places = np.asarray(p.owners(p.axis)) - NOBODY
        shape = [-1 if n == p.axis else 1 for n in range(len(p.out))]
        sent = [torch.from_numpy(digit[places]).view(shape) for digit in digits]
        sent = [x.to(like.device, like.dtype).expand(p.out) for x in sent]
        expected = codes[places].reshape(shape)
        p.memory.update(sent_to=key, sent=sent, expected=expected)
    if p.memory.get("by") is not p.node:  # one call of each digit serves all inputs
        p.memory.update(by=p.node, got=[as_tuple(p.node(x)) for x in p.memory["sent"]])
    got = [(base**n, passed[p.input_index]) for n, passed in enumerate(p.memory["got"])]
    if got[0][1] is None:
        return None
    arrived = reduce(add, [unit * x.detach().real.cpu().double().numpy() for unit, x in got])
    fits = arrived.shape == p.into  # else autograd sums over broadcast axes
    if fits and p.into == p.out and ((arrived == p.memory["expected"]) | (arrived == 0)).all():
        return p.layout
    found = codes.searchsorted(arrived).clip(max=p.size)
    layout = _of_array(found + NOBODY, p.size) if (codes[found] == arrived).all() else None
    return layout if fits or isinstance(layout, OneSample) else None


@lru_cache(16)
def _codes(size, base):
    """Return (codes, digits), for `NOBODY` and each sample.

    ``codes``, float64 (size + 1,): 0, then a random integer for each sample, ascending.
    ``digits``: arrays of the same shape, their digits in ``base``, lowest first.
    """
    count = next(n for n in range(1, 9) if base**n >= 2**40)
    codes = np.random.default_rng(0).integers(1, base**count, size + 1)
    codes[0] = 0
    codes.sort()
    return codes.astype(float), [codes // base**n % base for n in range(count)]


def as_tuple(passed: Any) -> tuple:
    """Return the result of calling a node as a tuple, with one entry for each input."""
    return passed if isinstance(passed, tuple) else (passed,)


def _of_array(whose, size):
    """Return the layout, given each entry's owner; None if these differ along several axes."""
    for axis in range(whose.ndim) if whose.size else ():
        first = whose.max(tuple([n for n in range(whose.ndim) if n != axis]), keepdims=True)
        if ((whose == first) | (whose == NOBODY)).all():
            return layout_of(axis, first.flatten(), size)
    return OneSample(int(whose)) if whose.ndim == 0 and whose != NOBODY else None


def or_observed(rule: AxisRule) -> AxisRule:
    """Return a rule that tries ``rule`` first and, if that returns None, `observed`."""
    return lambda p: rule(p) or observed(p)


def tiled(p: Propagation) -> SampleAxis | None:
    """repeat; None if it repeats the sample axis."""
    return elementwise(p) if p.saved("repeats")[p.axis] == 1 else None


def padded(p: Propagation) -> SampleAxis | None:
    """Constant padding; None on the sample axis. Saved as (left, right) pairs, last axis first."""
    pad, n = p.saved("pad"), 2 * (len(p.out) - 1 - p.axis)
    return None if any(pad[n : n + 2]) else elementwise(p)


def rolled(p: Propagation) -> SampleAxis | None:
    """roll; None if it rolls the sample axis, or, without ``dims``, the flattened array."""
    return None if not p.saved("dims") or p.axis in p.axes("dims") else elementwise(p)


def windows(p: Propagation) -> SampleAxis | None:
    """unfold: windows of one axis become a new last axis; None if the samples lie on either."""
    if p.axis in p.axes("dimension") or p.axis == len(p.out) - 1:
        return None
    return p.layout


def replaced(p: Propagation) -> SampleAxis | OneSample | None:
    """scatter, index_add: input 1 is written into input 0 at an index along axis ``dim``."""
    (dim,) = p.axes("dim")
    if p.input_index == 0 or p.axis != dim:
        return elementwise(p)
    index = p.saved("index").view(1) if p.saved("index").ndim == 0 else p.saved("index")
    if index.ndim > 1:  # of input 1's shape: it must be constant along the other axes
        index = index.movedim(dim, 0).flatten(1)
        if not index.numel() or not (index == index[:, :1]).all():
            return None
        index = index[:, 0]
    owners = np.array(p.owners(dim))[index.cpu().numpy()]
    return layout_of(dim, owners, p.size) if len(owners) == p.into[dim] else None


def overwritten(p: Propagation) -> SampleAxis | OneSample | None:
    """index_put, masked_scatter, slice_scatter: input 1 is written into a part of input 0.

    None for input 1, unless one index or mask of axis 0, the sample axis, selects that part.
    """
    if p.input_index == 0:
        return elementwise(p)
    entries = _entries_of_axis_0(p.saved("indices", ()), p.out)
    if entries is None or p.axis != 0:
        return None
    layout = layout_of(0, np.array(p.owners(0))[entries], p.size)
    same = p.into == (len(entries), *p.out[1:]) or isinstance(layout, OneSample)
    return layout if same else None  # else input 1 was broadcast over samples


def _entries_of_axis_0(indices, shape):
    """Return the positions on axis 0 that one index, a vector or a mask, selects; else None."""
    if len(indices) != 1 or indices[0] is None or indices[0].ndim != 1:
        return None
    index = indices[0].cpu()
    if index.dtype in (torch.bool, torch.uint8):
        return index.nonzero().flatten().numpy() if len(index) == shape[0] else None
    return (index % shape[0]).numpy()


# Indexing.
def indexed(p: Propagation) -> SampleAxis | Piece | None:
    """x[:, i, j, ...] with adjacent index arrays, whose axes replace the indexed ones.

    A vector or mask on axis 0 gives a `Piece` if the samples lie there, or for one sample's
    array. Other indices along the sample axis must be 0, 1, ..., B - 1; None if they are not.
    """
    indices = p.saved("indices")
    entries = _entries_of_axis_0(indices, p.into)
    if entries is not None and (isinstance(p.layout, OneSample) or p.axis == 0):
        return Piece(0, entries, p.owners(0))
    if isinstance(p.layout, OneSample):
        return p.layout
    if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
        return None  # the length of a masked axis depends on values
    axes = [n for n, index in enumerate(indices) if index is not None]
    first, count = axes[0], len(axes)
    if axes != list(range(first, first + count)):
        return None
    width = max(indices[n].ndim for n in axes)  # axes that replace them
    axis = p.axis
    if axis < first:
        return p.layout if p.into[axis] == p.out[axis] else None
    if axis >= first + width:
        return p.layout.at(axis - width + count)
    if p.out[axis] != p.size:
        return None
    for n in axes:
        if p.into[n] == p.size and _counts(indices[n], width - (axis - first), p.size):
            return p.layout.at(n)
    return None


def _counts(index, from_last, size):
    """Return whether an index is 0, ..., size - 1 along axis -``from_last`` and else constant."""
    if index.ndim < from_last:
        return False
    shape = [1] * index.ndim
    shape[index.ndim - from_last] = size
    return bool((index == torch.arange(size, device=index.device).view(shape)).all())


# Kinds of nodes: names without "Backward0".
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
# Kinds whose rule is called for each output, and kinds that make a `Piece` of a `OneSample`.
PER_OUTPUT = {*SPLIT.split(), "Unbind"}
SLICING = {*SPLIT.split(), "Index", "IndexSelect", "Select", "Slice", "Unbind"}
# Kinds whose outputs have different sample axes: output index -> axis. An LSTM layer returns the
# sequence, (T, B, d), and its last states, (B, d).
SAMPLE_AXES: dict[str, tuple[int, ...]] = {"MkldnnRnnLayer": (1, 0, 0)}


# Kind of node -> rule. Nodes of other kinds are unproved. Embedding is left out deliberately: all
# samples share its table.
AXES: dict[str, AxisRule] = {
    **_rows(ELEMENTWISE, elementwise),
    **_rows(REDUCED, reduced),
    **_rows(WITHIN, within("dim")),
    **_rows("Flip Rot90", or_observed(within("dims"))),
    "Roll": or_observed(rolled),
    **_rows("NllLoss NllLoss2D MultiMarginLoss MultilabelMarginLoss", per_class),
    "CtcLoss": of_texts,
    **_rows("IndexAdd IndexCopy Scatter ScatterAdd ScatterReduce", replaced),
    "Index": or_observed(indexed),
    **_rows("IndexPut MaskedScatter SelectScatter SliceScatter", overwritten),
    **_rows("ReshapeAlias Squeeze UnsafeView Unsqueeze View", reshaped),
    **_rows("Permute T Transpose", permuted),
    **_rows("Select Unbind", chosen),
    **_rows("Stack SelectBackward", stacked),
    "Cat": or_observed(concatenated),
    **_rows(f"Slice {SPLIT}", sliced),
    "SliceBackward": slice_undone,
    "IndexSelect": selected,
    **_rows("AsStrided CopySlices MaskedSelect PackPaddedSequence", observed),
    "Repeat": tiled,
    "ConstantPadNd": padded,
    "Unfold": windows,
    **_rows("ViewAsComplex ViewAsReal", as_complex),
    "Mm": product(0),
    "Addmm": product(1),
    "Bmm": product(0, batch=1),
    "Baddbmm": product(1, batch=1),
    "Mv": product(0),
    "Addmv": product(1),
    **_rows("Cdist EuclideanDist", distances),
    "Trilinear": trilinear,
    "Linear": linear,
    **_rows(OF_BATCH, of_batch),
    **_rows(EACH_OF_BATCH, each_of_batch),
    "NativeGroupNorm": group_norm,
    **_rows("NativeLayerNorm FusedRmsNorm", layer_norm),
    "NativeLayerNormBackward": layer_norm_again,
    "ConvolutionBackward": convolution_again,
    **_rows("NativeBatchNorm CudnnBatchNorm", batch_norm),
    **_rows(ATTENTION, attention),
    "MkldnnRnnLayer": recurrent,
    "CudnnRnn": recurrent_on_cuda,
}
