"""The table of node kinds against PyTorch: where the samples lie in what a node passes on.

A node's backward is run on cotangents that are zero but at one place of one axis. What arrives at
its inputs then says which numbers belong to that place, and the table may say nothing else. The
axis may hold more than the samples (outer * B * inner); every axis of every output is tried.
"""

from functools import cache
from math import prod

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.graph import GradientEdge

from persample.recorder.axes import RULES, Along, rule_of
from persample.recorder.graph import Graph

ATEN = torch.ops.aten
SIZES = (2, 3, 6)  # of the batch; with 6 another axis is as long
X = (6, 4, 6)  # two axes of one length
V = (2, 6, 6)  # an axis of length 6 behind another one
IMAGE, VOLUME, LINE = (6, 4, 6, 6), (6, 2, 6, 6, 6), (6, 4, 12)

# What a CPU cannot run, or does with other nodes; FusedRmsNorm and Linear: CUDA and Metal.
NOT_HERE = {
    "CudnnBatchNorm": ("training",),
    "CudnnRnn": ("batch_first",),
    "FusedRmsNorm": ("normalized_shape",),
    "Linear": (),
    "ScaledDotProductCudnnAttention": (),
    "ScaledDotProductEfficientAttention": (),
    "ScaledDotProductFlashAttention": (),
}


def twice(function):
    """Return the gradient of a function by its input, as a function of both and the cotangent."""
    return lambda x, ct: torch.autograd.grad(function(x), x, ct, create_graph=True)[0]


def whole(*shape):
    return torch.arange(prod(shape)).view(shape)


def indices(high, *shape):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(1))


UNARY = {  # of numbers between 0.1 and 0.9
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": lambda x: (x + 1).acosh(),
    "Alias": ATEN.alias, "Angle": torch.angle, "Asin": torch.asin, "Asinh": torch.asinh,
    "Atan": torch.atan, "Atanh": torch.atanh, "Ceil": torch.ceil, "Celu": F.celu,
    "Clamp": lambda x: x.clamp(0.2, 0.8), "ClampMax": lambda x: x.clamp_max(0.8),
    "ClampMin": lambda x: x.clamp_min(0.2), "Clone": torch.clone, "Cos": torch.cos,
    "Cosh": torch.cosh, "Digamma": torch.digamma, "Elu": F.elu, "Erf": torch.erf,
    "Erfc": torch.erfc, "Erfinv": torch.erfinv, "Exp": torch.exp, "Exp2": torch.exp2,
    "Expm1": torch.expm1, "Fill": lambda x: torch.fill(x, 2.0), "Floor": torch.floor,
    "Frac": torch.frac, "Gelu": F.gelu, "Hardshrink": F.hardshrink,
    "Hardsigmoid": F.hardsigmoid, "Hardswish": F.hardswish, "Hardtanh": F.hardtanh,
    "LeakyRelu": F.leaky_relu, "Lgamma": torch.lgamma, "Log": torch.log, "Log10": torch.log10,
    "Log1P": torch.log1p, "Log2": torch.log2, "LogSigmoid": F.logsigmoid, "Logit": torch.logit,
    "MaskedFill": lambda x: x.masked_fill(x.detach() > 0.5, 0.0), "Mish": F.mish,
    "NanToNum": torch.nan_to_num, "NativeDropout": lambda x: ATEN.native_dropout(x, 0.5, True)[0],
    "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Relu": torch.relu, "Round": torch.round,
    "RreluWithNoise": lambda x: F.rrelu(x, training=True), "Rsqrt": torch.rsqrt,
    "Rsub": lambda x: 1 - x, "Sgn": torch.sgn, "Sigmoid": torch.sigmoid, "Sign": torch.sign,
    "Silu": F.silu, "Sin": torch.sin, "Sinc": torch.sinc, "Sinh": torch.sinh,
    "Softplus": F.softplus, "Softshrink": lambda x: F.softshrink(x, 0.3),
    "SpecialEntr": torch.special.entr, "Sqrt": torch.sqrt, "Tan": torch.tan, "Tanh": torch.tanh,
    "Threshold": lambda x: F.threshold(x, 0.5, 0), "ToCopy": lambda x: x.float(),
    "Tril": torch.tril, "Triu": torch.triu, "Trunc": torch.trunc,
    "Zero": lambda x: x.clone().zero_(),
}  # fmt: skip
BINARY = {
    "Add": torch.add, "Atan2": torch.atan2, "Copysign": torch.copysign, "Div": torch.div,
    "Fmax": torch.fmax, "Fmin": torch.fmin, "Fmod": torch.fmod, "Hypot": torch.hypot,
    "Lerp": lambda x, y: torch.lerp(x, y, 0.3), "Logaddexp": torch.logaddexp,
    "Logaddexp2": torch.logaddexp2, "Maximum": torch.maximum, "Minimum": torch.minimum,
    "Mul": torch.mul, "Pow": torch.pow, "Remainder": torch.remainder, "Sub": torch.sub,
    "SpecialXlog1Py": torch.special.xlog1py, "Xlogy": torch.xlogy,
    "Where": lambda x, y: torch.where(torch.ones(6, 1, 6) > 0, x, y),
}  # fmt: skip
LOSSES = {
    "BinaryCrossEntropy": F.binary_cross_entropy,
    "BinaryCrossEntropyWithLogits": F.binary_cross_entropy_with_logits,
    "HuberLoss": F.huber_loss, "MseLoss": F.mse_loss, "SmoothL1Loss": F.smooth_l1_loss,
}  # fmt: skip
TWICE = {
    "EluBackward": F.elu, "GeluBackward": F.gelu, "HardswishBackward": F.hardswish,
    "HardtanhBackward": F.hardtanh, "LeakyReluBackward": F.leaky_relu,
    "LogSigmoidBackward": F.logsigmoid, "SigmoidBackward": torch.sigmoid,
    "SoftplusBackward": F.softplus, "TanhBackward": torch.tanh, "ThresholdBackward": torch.relu,
}  # fmt: skip
REDUCED = {
    "Amax": torch.amax, "Amin": torch.amin, "Aminmax": lambda x, n, keepdim: torch.aminmax(
        x, dim=n, keepdim=keepdim), "Kthvalue": lambda x, n, keepdim: x.kthvalue(2, n, keepdim),
    "LinalgVectorNorm": lambda x, n, keepdim: torch.linalg.vector_norm(x, 2, n, keepdim),
    "Logsumexp": torch.logsumexp, "Max": torch.max, "Mean": torch.mean, "Median": torch.median,
    "Min": torch.min, "Mode": torch.mode, "Nanmedian": torch.nanmedian, "Nansum": torch.nansum,
    "Norm": lambda x, n, keepdim: ATEN.norm(x, 2, [n], keepdim), "Prod": torch.prod,
    "Std": lambda x, n, keepdim: x.std(n, keepdim=keepdim),
    "StdMean": lambda x, n, keepdim: torch.std_mean(x, n, keepdim=keepdim), "Sum": torch.sum,
    "Var": lambda x, n, keepdim: x.var(n, keepdim=keepdim),
    "VarMean": lambda x, n, keepdim: torch.var_mean(x, n, keepdim=keepdim),
}  # fmt: skip
ALONG = {  # along an axis of one input
    "Cummax": torch.cummax, "Cummin": torch.cummin, "Cumprod": torch.cumprod,
    "Cumsum": torch.cumsum, "FftC2C": lambda x, n: torch.fft.fft(torch.fft.fft(x, dim=n), dim=n),
    "FftR2C": lambda x, n: torch.fft.rfft(x, dim=n),
    "FftC2R": lambda x, n: torch.fft.irfft(torch.fft.rfft(x, dim=n), dim=n),
    "Gather": lambda x, n: x.gather(n, indices(4, 6, 4, 6)),
    "Glu": F.glu, "IndexFill": lambda x, n: x.index_fill(n, torch.tensor([0, 2]), 0.0),
    "IndexSelect": lambda x, n: x.index_select(n, torch.tensor([3, 0, 1, 1, 2, 0])),
    "LogSoftmax": torch.log_softmax, "Logcumsumexp": torch.logcumsumexp,
    "SafeSoftmax": ATEN._safe_softmax, "Softmax": torch.softmax, "Sort": torch.sort,
    "Split": lambda x, n: x.split(2, n), "Topk": lambda x, n: x.topk(2, n),
    "SplitWithSizes": lambda x, n: x.split([1, x.shape[n] - 1], n),
    "UnsafeSplit": lambda x, n: torch.unsafe_split(x, 2, n), "Flip": lambda x, n: x.flip(n),
    "Rot90": lambda x, n: x.rot90(1, (n, (n + 1) % 3)), "Roll": lambda x, n: x.roll(1, n),
    "Select": lambda x, n: x.select(n, -1), "Unbind": torch.unbind,
    "Slice": lambda x, n: x.narrow(n, 1, 2), "Unfold": lambda x, n: x.unfold(n, 2, 1),
}  # fmt: skip
TWICE_ALONG = {
    "LogSoftmaxBackwardData": torch.log_softmax, "SoftmaxBackwardData": torch.softmax,
    "SelectBackward": lambda x, n: x.select(n, 1), "SliceBackward": lambda x, n: x.narrow(n, 1, 2),
}  # fmt: skip
SOURCES = {  # (x, axis, source): numbers put in, along an axis
    "IndexAdd": lambda x, n, y: x.index_add(n, indices(4, y.shape[n]), y),
    "IndexCopy": lambda x, n, y: x.index_copy(n, torch.tensor([3, 0, 1, 2]), y),
    "Scatter": lambda x, n, y: x.scatter(n, indices(4, *y.shape), y),
    "ScatterAdd": lambda x, n, y: x.scatter_add(n, indices(4, *y.shape), y),
    "ScatterReduce": lambda x, n, y: x.scatter_reduce(n, indices(4, *y.shape), y, "amax"),
}
UPSAMPLED = {
    "UpsampleLinear1D": ("linear", 1), "UpsampleNearest1D": ("nearest", 1),
    "UpsampleNearest2D": ("nearest", 2), "UpsampleNearest3D": ("nearest", 3),
    "UpsampleNearestExact1D": ("nearest-exact", 1), "UpsampleBicubic2D": ("bicubic", 2),
    "UpsampleNearestExact2D": ("nearest-exact", 2), "UpsampleBilinear2D": ("bilinear", 2),
    "UpsampleNearestExact3D": ("nearest-exact", 3), "UpsampleTrilinear3D": ("trilinear", 3),
}  # fmt: skip
PADDED = {"ReflectionPad": "reflect", "ReplicationPad": "replicate"}
SHAPES = {1: LINE, 2: IMAGE, 3: VOLUME}


def lstm(n):
    """The output, or the last state, of one layer of 6 samples and 3 steps, in one operation."""
    weights = [torch.rand(24, 4), torch.rand(24, 6), torch.rand(24), torch.rand(24)]
    states = torch.zeros(1, 6, 6), torch.zeros(1, 6, 6)

    def run(x):
        return torch.lstm(x, states, weights, True, 1, 0.0, True, False, False)[n]

    return lambda x: run(x.float())


def cases():
    """Yield (kind, function, shapes of its inputs)."""
    for kind, f in UNARY.items():
        yield kind, f, (X,)
    for kind, f in BINARY.items():
        yield from ((kind, f, shapes) for shapes in ((X, X), (X, (4, 6)), ((6, 1, 6), X)))
    for kind, f in LOSSES.items():
        yield kind, lambda x, y, f=f: f(x, y, reduction="none"), (X, X)
    yield "SoftMarginLoss", lambda x: F.soft_margin_loss(x, torch.ones(X), reduction="none"), (X,)
    for kind, f in TWICE.items():
        yield kind, twice(f), (X, X)
    for kind, f in (("Addcdiv", torch.addcdiv), ("Addcmul", torch.addcmul)):
        yield kind, f, (X, (4, 6), (6, 1, 1))
    yield "PreluKernel", F.prelu, ((6, 6, 4), (6,))
    yield "Expand", lambda x: x.expand(6, 4, 6), ((4, 1),)
    yield "Expand", lambda x: x.expand(6, 4, 6), ((6, 1, 6),)
    for kind, f in REDUCED.items():
        for n in (0, 1, -1):
            for keepdim in (False, True):
                yield kind, lambda x, f=f, n=n, k=keepdim: f(x, n, keepdim=k), (X,)
    for kind in ("Sum", "Mean", "Amax", "Std", "Logsumexp", "LinalgVectorNorm"):
        f = REDUCED[kind]
        yield kind, lambda x, f=f: f(x, (0, -1), keepdim=False), (V,)
        yield kind, lambda x, f=f: f(x, (0, -1), keepdim=True), (V,)
    for n in (0, 1, -1):
        for kind, f in ALONG.items():
            yield kind, lambda x, f=f, n=n: f(x, n), (X,)
        for kind, f in TWICE_ALONG.items():
            small = f(torch.rand(X), n).shape
            yield kind, twice(lambda x, f=f, n=n: f(x, n)), (X, tuple(small))
        part = tuple([4 if axis == n % 3 else length for axis, length in enumerate(X)])
        for kind, f in SOURCES.items():
            yield kind, lambda x, y, f=f, n=n: f(x, n, y), (X, part)
        for kind in ("Scatter", "ScatterAdd", "ScatterReduce"):
            yield kind, lambda x, y, f=SOURCES[kind], n=n: f(x, n, y), (X, (4, 4, 4))
        yield "Cat", lambda x, y, n=n: torch.cat([x, y], n), (X, X)
        yield "Stack", lambda x, y, n=n: torch.stack([x, y], n), (X, X)
    yield "LinalgCross", lambda x, y: torch.linalg.cross(x, y, dim=1), ((6, 3, 6), (6, 3, 6))
    yield "Slice", lambda x: ATEN.slice(x, 0, 0, 99), (X,)
    yield "Slice", lambda x: x[:, ::2], ((4, 12, 4),)
    yield "Roll", lambda x: x.roll(2), (X,)
    yield "Roll", lambda x: x.roll((1, 2), (0, -1)), (X,)
    yield "Unbind", lambda x: x.unbind(-1), ((4, 6, 2),)
    yield from indexed_cases()
    yield from overwritten_cases()
    yield from moving_cases()
    yield from product_cases()
    yield from layer_cases()


def indexed_cases():
    """Index arrays that are 0, 1, ..., B - 1 along the samples, and such that are not."""
    i = torch.arange
    for index in (
        (i(6), indices(6, 6)),
        (indices(6, 6), i(6)),
        (i(6)[:, None], indices(6, 6, 2)),
        (i(6), i(6).flip(0)),
        (i(6)[:, None], i(6)),
        (slice(None), indices(6, 6)),
        (slice(None), indices(6, 2, 6), i(6)),
        (slice(None), i(6)),
        (i(6),),
        (i(6)[None], indices(6, 3, 6)),
        (i(6)[[1, 0, 2, 3, 4, 5]], i(6)),
        (i(6), slice(None), i(6)),
        (torch.ones(6) > 0,),
        (i(3), i(3)),
        (i(2)[:, None], indices(6, 2, 3)),
    ):
        yield "Index", lambda x, index=index: x[index], ((6, 6, 6),)
        yield "Index", lambda x, index=index: x[index], ((6, 6, 6, 2),)
    yield "Index", lambda x: x[i(3), indices(6, 3)], ((3, 6, 3),)
    yield "Index", lambda x: x[i(2), indices(6, 2)], ((2, 6, 2),)


def overwritten_cases():
    yield "IndexPut", lambda x, y: x.index_put((indices(4, 6),), y), (X, (6, 4, 6))
    yield "IndexPut", lambda x, y: x.index_put((torch.arange(6),), y), (X, (6, 4, 6))
    masked = lambda x, y: x.masked_scatter(x.detach() > 0.4, y)  # noqa: E731
    yield "MaskedScatter", masked, (X, X)
    yield "SelectScatter", lambda x, y: x.select_scatter(y, 1, 2), (X, (6, 6))
    yield "SliceScatter", lambda x, y: x.slice_scatter(y, 2, 0, 6), (X, X)
    yield "SliceScatter", lambda x, y: x.slice_scatter(y, 2, 1, 3), (X, (6, 4, 2))


def moving_cases():
    for before, after in (
        ((6, 4, 6), (24, 6)), ((6, 4, 6), (6, 24)), ((24, 6), (6, 4, 6)), ((6, 6), (36,)),
        ((36,), (6, 6)), ((6, 4, 6), (144,)), ((144,), (2, 3, 4, 6)), ((12, 6), (8, 9)),
        ((2, 6, 6), (12, 6)), ((12, 2), (3, 4, 2)), ((6, 1, 4), (1, 6, 4)), ((4, 9), (6, 6)),
        ((2, 6, 2), (4, 6)), ((0, 6), (6, 0)), ((6, 0), (0, 6)),
    ):  # fmt: skip
        yield "View", lambda x, shape=after: x.view(shape), (before,)
    yield "UnsafeView", lambda x: ATEN._unsafe_view(x, (24, 6)), (X,)
    yield "ReshapeAlias", lambda x: ATEN._reshape_alias(x, (6, 24), (24, 1)), (X,)
    yield "Squeeze", torch.squeeze, ((6, 1, 6, 1),)
    yield "Squeeze", lambda x: x.squeeze(1), ((6, 1, 6),)
    yield "Unsqueeze", lambda x: x.unsqueeze(-2), (X,)
    yield "T", torch.t, ((6, 6),)
    for one, other in ((0, 2), (1, -1), (-3, 1)):
        yield "Transpose", lambda x, a=one, b=other: x.transpose(a, b), (X,)
    for order in ((2, 0, 1), (1, 2, 0), (0, 2, 1), (-1, 0, -2)):
        yield "Permute", lambda x, order=order: x.permute(order), (X,)
    for repeats in ((1, 2, 1), (2, 1, 1), (3, 1, 1, 1)):
        yield "Repeat", lambda x, repeats=repeats: x.repeat(repeats), (X,)
    for pad in ((1, 1), (0, 0, 1, 0), (0, 0, 0, 0, 3, 3), (-1, 1)):
        yield "ConstantPadNd", lambda x, pad=pad: F.pad(x, pad), (X,)
    pool = lambda x: F.adaptive_avg_pool2d(x.to(memory_format=torch.channels_last), 1)  # noqa: E731
    yield from (("AsStrided", pool, (shape,)) for shape in (IMAGE, (6, 6, 2, 2)))
    for strides in ((6, 1), (1, 6), (1, 1), (0, 1)):
        for first in (lambda x: x * 1, lambda x: x.t() * 1, lambda x: x.t()[:, None].mean(1)):
            yield "AsStrided", lambda x, f=first, s=strides: f(x).as_strided((6, 6), s), ((6, 6),)
    yield "AsStrided", lambda x: x[None].mean(0).as_strided((6, 4), (6, 1)), ((6, 6),)
    yield "AsStrided", lambda x: x[None].mean(0).as_strided((4, 6), (6, 1), 6), ((6, 6),)
    yield "ViewAsComplex", torch.view_as_complex, ((6, 6, 2),)
    yield "ViewAsReal", lambda x: torch.view_as_real(torch.view_as_complex(x) + 0), ((6, 6, 2),)


def product_cases():
    yield "Mm", torch.mm, ((6, 6), (6, 6))
    yield "Addmm", torch.addmm, ((6, 6), (6, 6), (6, 6))
    yield "Addmm", torch.addmm, ((6,), (6, 4), (4, 6))
    yield "Bmm", torch.bmm, ((6, 6, 4), (6, 4, 6))
    yield "Baddbmm", torch.baddbmm, ((6, 6, 6), (6, 6, 4), (6, 4, 6))
    yield "Baddbmm", torch.baddbmm, ((6, 1), (6, 6, 4), (6, 4, 6))
    yield "Mv", torch.mv, ((6, 6), (6,))
    yield "Addmv", torch.addmv, ((6,), (6, 6), (6,))
    yield "Trilinear", F.bilinear, ((6, 3), (6, 4), (6, 3, 4))
    yield "Trilinear", F.bilinear, ((6, 6, 3), (6, 6, 4), (6, 3, 4))
    attend = F.scaled_dot_product_attention
    for heads, keys in ((6, 6), (6, 4), (4, 6)):
        shapes = (6, heads, 6, 4), (6, heads, keys, 4), (6, heads, keys, 4)
        yield "ScaledDotProductFlashAttentionForCpu", attend, shapes


def layer_cases():
    classes = indices(4, 6, 6)
    yield "NllLoss", lambda x: F.nll_loss(x, classes[0], reduction="none"), ((6, 4),)
    yield "NllLoss", lambda x: F.nll_loss(x, indices(6, 6), reduction="none"), ((6, 6),)
    places = indices(4, 6, 6, 6)
    yield "NllLoss2D", lambda x: F.nll_loss(x, places, reduction="none"), ((6, 4, 6, 6),)
    yield (
        "MultiMarginLoss",
        lambda x: F.multi_margin_loss(x, classes[0], reduction="none"),
        ((6, 4),),
    )
    labels = indices(2, 6, 6)
    margin = F.multilabel_margin_loss
    yield "MultilabelMarginLoss", lambda x: margin(x, labels, reduction="none"), ((6, 6),)
    lengths = torch.full((6,), 6), torch.full((6,), 2)
    said = indices(3, 6, 2) + 1
    ctc = lambda x: F.ctc_loss(x.log_softmax(-1), said, *lengths, reduction="none")  # noqa: E731
    yield "CtcLoss", ctc, ((6, 6, 4),)
    for count, conv in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d)):
        c = SHAPES[count][1]
        yield "Convolution", conv, (SHAPES[count], (6, c, *(2,) * count), (6,))
    yield "Convolution", F.conv_transpose2d, (IMAGE, (4, 6, 2, 2), (6,))
    yield "Convolution", lambda x, w: F.conv2d(x, w, groups=4), (IMAGE, (4, 1, 2, 2))
    for kind, (mode, count) in UPSAMPLED.items():
        yield (
            kind,
            lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
            (SHAPES[count],),
        )
    for kind in ("bilinear", "bicubic"):
        fine = lambda x, k=kind: F.interpolate(x, (3, 3), mode=k, antialias=True)  # noqa: E731
        yield f"Upsample{kind.capitalize()}2DAa", fine, (IMAGE,)
    for name, mode in PADDED.items():
        for count, shape in SHAPES.items():
            pad = lambda x, m=mode, k=count: F.pad(x, (1, 1) * k, mode=m)  # noqa: E731
            yield f"{name}{count}D", pad, (shape,)
    yield "AdaptiveAvgPool2D", lambda x: F.adaptive_avg_pool2d(x, 3), (IMAGE,)
    yield "AdaptiveAvgPool3D", lambda x: F.adaptive_avg_pool3d(x, 3), (VOLUME,)
    yield "AdaptiveMaxPool2D", lambda x: F.adaptive_max_pool2d(x, 3), (IMAGE,)
    yield "AdaptiveMaxPool3D", lambda x: F.adaptive_max_pool3d(x, 3), (VOLUME,)
    yield "AvgPool2D", lambda x: F.avg_pool2d(x, 2), (IMAGE,)
    yield "AvgPool2D", lambda x: F.avg_pool2d(x, 2), ((6, 6, 6),)  # one image of 6 channels
    yield "AvgPool3D", lambda x: F.avg_pool3d(x, 2), (VOLUME,)
    yield "MaxPool2DWithIndices", lambda x: F.max_pool2d(x, 2), (IMAGE,)
    yield "MaxPool3DWithIndices", lambda x: F.max_pool3d(x, 2), (VOLUME,)
    yield "FractionalMaxPool2D", lambda x: F.fractional_max_pool2d(x, 2, 3), (IMAGE,)
    yield "FractionalMaxPool3D", lambda x: F.fractional_max_pool3d(x, 2, 3), (VOLUME,)
    spots = F.max_pool2d(torch.rand(6, 4, 12, 12), 2, return_indices=True)[1]
    yield "MaxUnpool2D", lambda x: F.max_unpool2d(x, spots, 2), (IMAGE,)
    spots3 = F.max_pool3d(torch.rand(6, 2, 12, 12, 12), 2, return_indices=True)[1]
    yield "MaxUnpool3D", lambda x: F.max_unpool3d(x, spots3, 2), (VOLUME,)
    yield "Im2Col", lambda x: F.unfold(x, 2), (IMAGE,)
    yield "Im2Col", lambda x: F.unfold(x, 2), ((6, 6, 6),)
    yield "Col2Im", lambda x: F.fold(x, (4, 4), 2), ((6, 16, 9),)
    yield "PixelShuffle", lambda x: F.pixel_shuffle(x, 2), (IMAGE,)
    yield "PixelUnshuffle", lambda x: F.pixel_unshuffle(x, 2), (IMAGE,)
    yield "ChannelShuffle", lambda x: F.channel_shuffle(x, 2), (IMAGE,)
    grid = lambda x: F.affine_grid(x, (6, 2, 4, 4), align_corners=False)  # noqa: E731
    yield "AffineGridGenerator", grid, ((6, 2, 3),)
    sample = lambda x, y: F.grid_sample(x, y, align_corners=False)  # noqa: E731
    yield "GridSampler2D", sample, (IMAGE, (6, 4, 6, 2))
    yield "GridSampler3D", sample, (VOLUME, (6, 3, 4, 6, 3))
    yield "NativeGroupNorm", lambda x, w, b: F.group_norm(x, 2, w, b), (IMAGE, (4,), (4,))
    norm = lambda x, w, b: F.layer_norm(x, w.shape, w, b)  # noqa: E731
    yield "NativeLayerNorm", norm, (X, (6,), (6,))
    yield "NativeLayerNorm", norm, (X, (4, 6), (4, 6))
    for training in (False, True):
        for shape in (IMAGE, (1, 6, 4), (6, 6)):
            kept = torch.zeros(shape[1]).double(), torch.ones(shape[1]).double()
            norm = lambda x, w, b, k=kept, t=training: F.batch_norm(x, *k, w, b, t)  # noqa: E731
            yield "NativeBatchNorm", norm, (shape, shape[1:2], shape[1:2])
    yield "MkldnnRnnLayer", lstm(0), ((3, 6, 4),)
    yield "MkldnnRnnLayer", lstm(1), ((3, 6, 4),)
    yield "MkldnnRnnLayer", lambda x: lstm(0)(x).sum() + lstm(1)(x).sum(), ((3, 6, 4),)


CASES = list(cases())
SEVERAL = {"Aminmax", "Split", "SplitWithSizes", "StdMean", "Unbind", "UnsafeSplit", "VarMean"}
ALL_ZERO = {"Ceil", "Fill", "Floor", "Round", "Sgn", "Sign", "Trunc", "Zero", "Angle"}


def node_of(kind, output):
    """Return the first node of a kind towards the inputs."""
    leaves = output if isinstance(output, tuple | list) else (output,)
    waiting = [x.grad_fn for x in leaves if isinstance(x, torch.Tensor) and x.grad_fn]
    for node in waiting:
        if node is not None:
            if node.name().rpartition("Backward")[0] == kind:
                return node
            waiting += [other for other, _ in node.next_functions]
    raise AssertionError(f"no node of kind {kind}")


@cache
def found(case):
    """Return the node of a case and its supports.

    (outputs, axis) -> for each input, and each place of that axis, where the numbers arrive.
    """
    kind, function, shapes = CASES[case]
    torch.manual_seed(0)
    inputs = [(0.1 + 0.8 * torch.rand(shape).double()).requires_grad_() for shape in shapes]
    node = node_of(kind, function(*inputs))
    number = {"MkldnnRnnLayer": case % 2}.get(kind, 0)
    several = range(len(node._input_metadata)) if kind in SEVERAL else [number]
    choices = [(n,) for n in several] + [tuple(several)] * (kind in SEVERAL)
    supports = {}
    for outputs in choices:
        for axis in range(len(node._input_metadata[outputs[0]].shape)):
            supports[outputs, axis] = supports_of(node, outputs, axis)
    return node, supports


def supports_of(node, outputs, axis):
    edges = [GradientEdge(node, n) for n in outputs]
    ends = [GradientEdge(*target) if target[0] else None for target in node.next_functions]
    places = node._input_metadata[outputs[0]].shape[axis]
    masks = [[] for _ in ends]
    for place in range(places):
        cotangents = []
        for n in outputs:
            metadata = node._input_metadata[n]
            ct = torch.zeros(tuple(metadata.shape), dtype=metadata.dtype)
            part = ct.select(axis, min(place, ct.shape[axis] - 1))
            part.copy_(torch.rand(part.shape) + 0.5)
            cotangents.append(ct)
        known = [end for end in ends if end is not None]
        gradients = torch.autograd.grad(
            edges, known, cotangents, retain_graph=True, allow_unused=True
        )
        gradients = iter(gradients)
        for slot, end in enumerate(ends):
            g = next(gradients) if end is not None else None
            masks[slot].append(None if g is None else (g != 0) | g.isnan())
    return masks


def claims(case):
    """Yield (slot, size, along, what the table says, supports of the samples' parts)."""
    node, supports = found(case)
    for (outputs, axis), masks in supports.items():
        length = len(masks[0]) if masks else 0
        for size in SIZES:
            for outer in range(1, length // size + 1):
                if not length or length % (outer * size):
                    continue
                along = Along(axis, outer)
                graph = Graph([(node, n, along) for n in outputs], {}, size)
                samples = (torch.arange(length) // (length // (outer * size))) % size
                for slot, target in enumerate(graph.targets[0]):
                    if target is None or masks[slot][0] is None:
                        continue
                    there, number = target
                    parts = [
                        torch.stack(
                            [m for m, i in zip(masks[slot], samples, strict=True) if i == n]
                        ).any(0)
                        for n in range(size)
                    ]
                    yield slot, size, along, graph.along[there].get(number), parts


def is_true(claim, parts):
    """Say whether each sample's numbers lie where the claim has them, and nowhere else."""
    size, shape = len(parts), parts[0].shape
    if claim.axis >= len(shape) or shape[claim.axis] % (claim.outer * size):
        return False
    for n, part in enumerate(parts):
        split = part.unflatten(claim.axis, (claim.outer, size, -1)).movedim(claim.axis + 1, 0)
        if split[[i for i in range(size) if i != n]].any():
            return False
    return True


def wrong(kind):
    """Return the claims about the cases of a kind, those that are made, and the wrong ones."""
    every = [c for n, (name, *_) in enumerate(CASES) if name == kind for c in claims(n)]
    made = [(*c, is_true(c[3], c[4])) for c in every if c[3] is not None]
    return every, made, [c[:4] for c in made if not c[-1]]


@pytest.mark.parametrize("kind", RULES)
def test_the_table_says_where_pytorch_puts_the_samples(kind):
    if kind in NOT_HERE:
        node = getattr(torch._C._functions, f"{kind}Backward0")
        assert all(hasattr(node, f"_saved_{name}") for name in NOT_HERE[kind])
        return
    _, made, wrong_ones = wrong(kind)
    assert wrong_ones == []
    assert made
    assert any(all(part.any() for part in c[4]) for c in made) != (kind in ALL_ZERO)


def moved(by):
    """Return a spoil: the axis before or after."""

    def spoil(claim, p):
        fits = claim is not None and 0 <= claim.axis + by < len(p.into)
        return Along(claim.axis + by, claim.outer) if fits else claim

    return spoil


def other_outer(claim, p):
    """The same axis, divided in another way."""
    if claim is None:
        return None
    length = p.into[claim.axis] // p.size
    others = [n for n in range(1, length + 1) if length % n == 0 and n != claim.outer]
    return Along(claim.axis, others[0]) if others else claim


def carried(claim, p):
    """What is unknown lies where it lay."""
    fits = p.along.axis < len(p.into) and not p.into[p.along.axis] % (p.along.outer * p.size)
    return p.along if claim is None and fits else claim


SPOILS = {
    "the axis after": moved(1),
    "another division": other_outer,
    "the unknown carried": carried,
}


def spoiled(kind, spoil, monkeypatch):
    """Return how many claims a spoil changes, and those that are seen to be wrong."""
    before = wrong(kind)[0]
    true = RULES[kind]
    monkeypatch.setitem(RULES, kind, lambda p: SPOILS[spoil](true(p), p))
    after, _, seen = wrong(kind)
    pairs = zip(before, after, strict=True)
    return sum(a[3] not in (None, b[3]) for b, a in pairs), seen


# One kind for each rule.
FAMILIES = list({RULES[kind]: kind for kind in reversed(RULES) if kind not in NOT_HERE}.values())
FAMILIES.append("Convolution")
# Spoils that say more than the table, and no more than is true: pools keep channels apart too.
HARMLESS = {("AdaptiveAvgPool2D", "the unknown carried")}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("kind", FAMILIES)
def test_a_spoiled_table_is_rejected(kind, spoil, monkeypatch):
    changed, seen = spoiled(kind, spoil, monkeypatch)
    assert bool(seen) == bool(changed and (kind, spoil) not in HARMLESS)


def test_outputs_that_hold_the_samples_elsewhere_are_not_proved():
    """As many samples as features: axis 1 of an LSTM's output, and of its last state."""
    (case,) = [n for n, c in enumerate(CASES) if c[0] == "MkldnnRnnLayer"][:1]
    node, along = found(case)[0], Along(1)
    together = Graph([(node, 0, along), (node, 1, along)], {}, 6)
    assert together.along[together.targets[0][0][0]] == {0: None}
    alone = Graph([(node, 0, along)], {}, 6)
    assert alone.along[alone.targets[0][0][0]] == {0: Along(1)}


@pytest.mark.parametrize("name", ["Mul", "Softmax", "Index"])
def test_a_function_of_ones_own_is_no_operation_of_the_table(name):
    class Flipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.flip(0)

        @staticmethod
        def backward(ctx, ct):
            return ct.flip(0)

    made = type(name, (Flipped,), {})
    node = made.apply(torch.ones(4, requires_grad=True)).grad_fn
    assert node.name() == f"{name}Backward"
    assert rule_of(node.name()) is None
    assert rule_of(f"{name}Backward0") is RULES[name]
    assert rule_of(f"{name}BackwardBackward0") is None
