"""The table of node kinds against PyTorch: where the samples lie in what a node passes on.

A node's backward is run on cotangents that are zero but at one place of one axis. What arrives at
its inputs then says which numbers belong to that place, and the table may say nothing else. The
axis may hold more than the samples (outer * B * inner); every axis of every output is tried.
"""

from functools import cache, partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.autograd.graph import GradientEdge

from persample.recorder.along import Along, OneSample
from persample.recorder.axes import AXES, PER_OUTPUT
from persample.recorder.graph import Graph, kind_of

ATEN = torch.ops.aten
SIZES = (2, 3, 6)  # of the batch; with 6 another axis is as long
X = (6, 4, 6)  # two axes of one length
V = (2, 6, 6)  # an axis of length 6 behind another one
IMAGE, VOLUME, LINE = (6, 4, 6, 6), (6, 2, 6, 6, 6), (6, 4, 12)

# Whose the steps of six texts are, of the lengths 3, 3, 2, 2, 1, 1.
PACKED = (*range(6), *range(4), *range(2))

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
NEWER = {"Aminmax"}  # older versions of PyTorch cannot differentiate it
ABSENT = {kind for kind in NEWER if not hasattr(torch._C._functions, f"{kind}Backward0")}


# Words of the calls below.
i = torch.arange


def twice(function, x, ct):
    """Return the gradient of a function by its input, from the cotangent."""
    return torch.autograd.grad(function(x), x, ct, create_graph=True)[0]


def indices(high, *shape):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(1))


def lstm(x, h, c, n):
    """The output, or the last state, of one layer of 6 samples and 3 steps, in one operation."""
    torch.manual_seed(0)
    weights = [torch.rand(24, 4), torch.rand(24, 6), torch.rand(24), torch.rand(24)]
    states = h.float(), c.float()
    return torch.lstm(x.float(), states, weights, True, 1, 0.0, True, False, False)[n]


def mean_of_channels_last(x):
    return F.adaptive_avg_pool2d(x.to(memory_format=torch.channels_last), 1)


def written(x, y, where):
    """Write into a part of an array, in place."""
    x = x.clone()
    x[where] = y
    return x


def scaled(x, y):
    x = x.clone()
    x[:, 1] *= y
    return x


def pack(x, lengths):
    """Return texts of several lengths as one line."""
    return torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths)).data


def ctc(x):
    lengths = torch.full((6,), 6), torch.full((6,), 2)
    return F.ctc_loss(x.log_softmax(-1), indices(3, 6, 2) + 1, *lengths, reduction="none")


def batch_norm(x, w, b, training):
    kept = torch.zeros(x.shape[1]).double(), torch.ones(x.shape[1]).double()
    return F.batch_norm(x, *kept, w, b, training)


def spots(*shape):
    pool = F.max_pool2d if len(shape) == 4 else F.max_pool3d
    return pool(torch.rand(shape), 2, return_indices=True)[1]


# Functions of one array; of an array and a cotangent, their gradient; of two arrays; of an array,
# an axis, and perhaps keepdim. The numbers are between 0.1 and 0.9.
ONE = """abs acos angle asin asinh atan atanh ceil celu clone cos cosh digamma elu erf erfc erfinv
exp exp2 expm1 floor frac gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu lgamma log
log10 log1p log2 logsigmoid logit mish nan_to_num neg reciprocal relu round rsqrt sgn sigmoid sign
silu sin sinc sinh softplus sqrt tan tanh tril triu trunc"""
TWICE = "elu gelu hardswish hardtanh leaky_relu logsigmoid sigmoid softplus tanh relu"
TWO = """add atan2 copysign div fmax fmin fmod hypot logaddexp logaddexp2 maximum minimum mul pow
remainder special.xlog1py sub xlogy"""
ALONG = "cummax cummin cumprod cumsum glu log_softmax logcumsumexp softmax sort unbind"
REDUCED = "amax amin logsumexp max mean median min mode nanmedian nansum prod sum std var"

# The shapes of x, y, z, and calls of them, with n for several axes and k for keepdim both ways.
# A kind is named where it is not that of the node of what the call returns.
CALLS = {
    (X,): """
(x + 1).acosh(); ATEN.alias(x); x.clamp(0.2, 0.8); x.clamp_max(0.8); x.clamp_min(0.2)
torch.fill(x, 2.0); x.masked_fill(x.detach() > 0.5, 0.0); ATEN.native_dropout(x, 0.5, True)[0]
F.rrelu(x, training=True); 1 - x; F.softshrink(x, 0.3); torch.special.entr(x)
F.threshold(x, 0.5, 0); x.float(); x.clone().zero_(); x.unsqueeze(-2)
F.soft_margin_loss(x, torch.ones(X), reduction="none"); x.roll(2); x.roll((1, 2), (0, -1))
torch.aminmax(x, dim=n, keepdim=k); x.kthvalue(2, n, k); torch.linalg.vector_norm(x, 2, n, k)
ATEN.norm(x, 2, [n], k); torch.std_mean(x, n, keepdim=k); torch.var_mean(x, n, keepdim=k)
torch.fft.rfft(x, dim=n); torch.fft.irfft(torch.fft.rfft(x, dim=n), dim=n)
torch.fft.fft(torch.fft.fft(x, dim=n), dim=n); x.gather(n, indices(4, 6, 4, 6))
x.index_fill(n, torch.tensor([0, 2]), 0.0); x.index_select(n, torch.tensor([3, 0, 1, 1, 2, 0]))
ATEN._safe_softmax(x, n); x.split(2, n); x.topk(2, n); x.split([1, x.shape[n] - 1], n)
torch.unsafe_split(x, 2, n); x.rot90(1, (n, (n + 1) % 3)); x.roll(1, n); x.select(n, -1)
x.narrow(n, 1, 2); x.unfold(n, 2, 1); ATEN.slice(x, 0, 0, 99)
ATEN._unsafe_view(x, (24, 6)); ATEN._reshape_alias(x, (6, 24), (24, 1))
x.view(24, 6); x.view(6, 24); x.view(144); x.transpose(0, 2); x.transpose(1, -1)
x.transpose(-3, 1); x.permute(2, 0, 1); x.permute(1, 2, 0); x.permute(0, 2, 1)
x.permute(-1, 0, -2); x.flip(n)
x.repeat(1, 2, 1); x.repeat(2, 1, 1); x.repeat(3, 1, 1, 1)
F.pad(x, (1, 1)); F.pad(x, (0, 0, 1, 0)); F.pad(x, (0, 0, 0, 0, 3, 3)); F.pad(x, (-1, 1))
""",
    (V,): """
x.sum((0, -1), keepdim=k); x.mean((0, -1), keepdim=k); x.amax((0, -1), keepdim=k)
x.std((0, -1), keepdim=k); x.logsumexp((0, -1), keepdim=k); x.view(12, 6)
torch.linalg.vector_norm(x, 2, (0, -1), keepdim=k)
""",
    (X, X): """
F.binary_cross_entropy(x, y, reduction="none"); F.huber_loss(x, y, reduction="none")
F.binary_cross_entropy_with_logits(x, y, reduction="none"); F.mse_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y, reduction="none"); torch.cat([x, y], n); torch.stack([x, y], n)
twice(partial(F.log_softmax, dim=n), x, y); twice(partial(F.softmax, dim=n), x, y)
torch.where(torch.ones(6, 1, 6) > 0, x, y); torch.lerp(x, y, 0.3)
x.masked_scatter(x.detach() > 0.4, y); x.slice_scatter(y, 2, 0, 6)
x.index_copy(1, torch.tensor([3, 0, 1, 2]), y); x.index_add(1, indices(4, 4), y)
x.scatter(1, indices(4, 6, 4, 6), y); x.scatter_add(1, indices(4, 6, 4, 6), y)
x.scatter_reduce(1, indices(4, 6, 4, 6), y, "amax")
x.index_put((indices(4, 6),), y); x.index_put((i(6),), y)
""",
    (X, (4, 6)): """
torch.where(torch.ones(6, 1, 6) > 0, x, y); torch.lerp(x, y, 0.3)
twice(lambda x: x.select(0, 1), x, y)
""",
    ((6, 1, 6), X): "torch.where(torch.ones(6, 1, 6) > 0, x, y); torch.lerp(x, y, 0.3)",
    (X, (4, 6), (6, 1, 1)): "torch.addcdiv(x, y, z); torch.addcmul(x, y, z)",
    (X, (4, 4, 6)): """
x.index_copy(0, torch.tensor([3, 0, 1, 2]), y); x.index_add(0, indices(4, 4), y)
x.scatter(0, indices(4, 4, 4, 6), y); x.scatter_add(0, indices(4, 4, 4, 6), y)
x.scatter_reduce(0, indices(4, 4, 4, 6), y, "amax")
""",
    (X, (6, 6)): "x.select_scatter(y, 1, 2); twice(lambda x: x.select(1, 1), x, y)",
    (X, (6, 4)): "twice(lambda x: x.select(2, 1), x, y)",
    (X, (2, 4, 6)): "twice(lambda x: x.narrow(0, 1, 2), x, y)",
    (X, (6, 2, 6)): "twice(lambda x: x.narrow(1, 1, 2), x, y)",
    (X, (6, 4, 2)): "x.slice_scatter(y, 2, 1, 3); twice(lambda x: x.narrow(2, 1, 2), x, y)",
    ((6, 6, 4), (6,)): "F.prelu(x, y)",
    ((4, 1),): "x.expand(6, 4, 6)",
    ((6, 1, 6),): "x.expand(6, 4, 6); x.squeeze(1)",
    ((6, 1, 6, 1),): "x.squeeze()",
    ((6, 3, 6), (6, 3, 6)): "torch.linalg.cross(x, y, dim=1)",
    ((4, 12, 4),): "x[:, ::2]",
    ((4, 6, 2),): "x.unbind(-1)",
    # Index arrays that are 0, 1, ..., B - 1 along the samples, and such that are not.
    **dict.fromkeys(
        [((6, 6, 6),), ((6, 6, 6, 2),)],
        """
F.avg_pool2d(x, 2); F.unfold(x, 2)
x[i(6), indices(6, 6)]; x[indices(6, 6), i(6)]; x[i(6)[:, None], indices(6, 6, 2)]
x[i(6), i(6).flip(0)]; x[i(6)[:, None], i(6)]; x[:, indices(6, 6)]; x[:, i(6)]; x[i(6)]
x[:, indices(6, 2, 6), i(6)]; x[i(6)[None], indices(6, 3, 6)]; x[i(6)[[1, 0, 2, 3, 4, 5]], i(6)]
x[i(6), :, i(6)]; x[torch.ones(6) > 0]; x[i(3), i(3)]; x[i(2)[:, None], indices(6, 2, 3)]
""",
    ),
    ((3, 6, 3),): "x[i(3), indices(6, 3)]",
    ((2, 6, 2),): "x[i(2), indices(6, 2)]; x.view(4, 6)",
    # Moved
    ((24, 6),): "x.view(6, 4, 6)",
    ((36,),): "x.view(6, 6)",
    ((144,),): "x.view(2, 3, 4, 6)",
    ((12, 6),): "x.view(8, 9)",
    ((12, 2),): "x.view(3, 4, 2)",
    ((6, 1, 4),): "x.view(1, 6, 4)",
    ((4, 9),): "x.view(6, 6)",
    ((0, 6),): "x.view(6, 0)",
    ((6, 0),): "x.view(0, 6)",
    ((6, 6),): """
x.t(); x.view(36); AsStrided = x[None].mean(0).as_strided((6, 4), (6, 1))
AsStrided = x[None].mean(0).as_strided((4, 6), (6, 1), 6)
(x * 1).as_strided((6, 6), (6, 1)); (x * 1).as_strided((6, 6), (1, 6))
(x * 1).as_strided((6, 6), (1, 1)); (x * 1).as_strided((6, 6), (0, 1))
F.nll_loss(x, indices(6, 6), reduction="none")
F.multilabel_margin_loss(x, indices(2, 6, 6), reduction="none")
""",
    ((6, 6, 2),): "torch.view_as_complex(x); torch.view_as_real(torch.view_as_complex(x) + 0)",
    ((6, 6, 2, 2),): "AsStrided = mean_of_channels_last(x)",
    # Products
    ((6, 6), (6, 6)): "torch.mm(x, y)",
    ((6, 6), (6, 6), (6, 6)): "torch.addmm(x, y, z)",
    ((6,), (6, 4), (4, 6)): "torch.addmm(x, y, z)",
    ((6, 6, 4), (6, 4, 6)): "torch.bmm(x, y)",
    ((6, 6, 6), (6, 6, 4), (6, 4, 6)): "torch.baddbmm(x, y, z)",
    ((6, 1), (6, 6, 4), (6, 4, 6)): "torch.baddbmm(x, y, z)",
    ((6, 6), (6,)): "torch.mv(x, y)",
    ((6,), (6, 6), (6,)): "torch.addmv(x, y, z)",
    ((6, 3), (6, 4), (6, 3, 4)): "Trilinear = F.bilinear(x, y, z)",
    ((6, 6, 3), (6, 6, 4), (6, 3, 4)): "Trilinear = F.bilinear(x, y, z)",
    **dict.fromkeys(
        [
            ((6, 6, 6, 4), (6, 6, 6, 4), (6, 6, 6, 4)),
            ((6, 6, 6, 4), (6, 6, 4, 4), (6, 6, 4, 4)),
            ((6, 4, 6, 4), (6, 4, 6, 4), (6, 4, 6, 4)),
        ],
        "F.scaled_dot_product_attention(x, y, z)",
    ),
    # Layers
    (X, (6, 6), (6, 4)): """
written(x, y, (slice(None), 1)); written(x, y[:, None], (slice(None), slice(1, 2)))
(x * 1).masked_select(torch.arange(4)[:, None] == 1)
written(x, z, (slice(None), slice(None), 3)); written(x * 2, y[1:5], 2); scaled(x, y)
""",
    ((6,), (), ()): "written(x, y, 3); written(torch.zeros(6), y, 3); written(x, z, slice(3, 4))",
    ((6, 4),): """
F.nll_loss(x, indices(4, 6), reduction="none")
F.multi_margin_loss(x, indices(4, 6), reduction="none")
""",
    ((6, 6, 4),): "ctc(x)",
    ((3, 6, 4),): "PackPaddedSequence = pack(x * 1, [3, 3, 2, 2, 1, 1])",
    ((3, 6, 4), (1, 6, 6), (1, 6, 6)): """
MkldnnRnnLayer = lstm(x, y, z, 0); MkldnnRnnLayer = lstm(x, y, z, 1)
MkldnnRnnLayer = lstm(x, y, z, 0).sum() + lstm(x, y, z, 1).sum()
""",
    (LINE, (6, 4, 2), (6,)): "F.conv1d(x, y, z)",
    (IMAGE, (6, 4, 2, 2), (6,)): "F.conv2d(x, y, z)",
    (VOLUME, (6, 2, 2, 2, 2), (6,)): "F.conv3d(x, y, z)",
    (IMAGE, (4, 6, 2, 2), (6,)): "F.conv_transpose2d(x, y, z)",
    (IMAGE, (4, 1, 2, 2)): "F.conv2d(x, y, groups=4)",
    (LINE,): """
F.interpolate(x, scale_factor=2, mode="linear"); F.interpolate(x, scale_factor=2, mode="nearest")
F.interpolate(x, scale_factor=2, mode="nearest-exact")
F.pad(x, (1, 1), mode="reflect"); F.pad(x, (1, 1), mode="replicate")
""",
    (IMAGE,): """
F.nll_loss(x, indices(4, 6, 6, 6), reduction="none"); AsStrided = mean_of_channels_last(x)
F.interpolate(x, scale_factor=2, mode="bilinear"); F.interpolate(x, scale_factor=2, mode="bicubic")
F.interpolate(x, scale_factor=2, mode="nearest")
F.interpolate(x, scale_factor=2, mode="nearest-exact")
F.interpolate(x, (3, 3), mode="bilinear", antialias=True)
F.interpolate(x, (3, 3), mode="bicubic", antialias=True)
F.pad(x, (1, 1, 1, 1), mode="reflect"); F.pad(x, (1, 1, 1, 1), mode="replicate")
F.adaptive_avg_pool2d(x, 3); F.adaptive_max_pool2d(x, 3); F.avg_pool2d(x, 2); F.max_pool2d(x, 2)
F.fractional_max_pool2d(x, 2, 3); F.max_unpool2d(x, spots(6, 4, 12, 12), 2); F.unfold(x, 2)
F.pixel_shuffle(x, 2); F.pixel_unshuffle(x, 2); F.channel_shuffle(x, 2)
""",
    # Backward passes, differentiated
    (IMAGE, (6, 4, 3, 3)): """
twice(lambda x: F.avg_pool2d(x, 2), x, y); twice(lambda x: F.max_pool2d(x, 2), x, y)
AdaptiveAvgPool2DBackward = twice(lambda x: F.adaptive_avg_pool2d(x, 3), x, y)
AdaptiveMaxPool2DBackward = twice(lambda x: F.adaptive_max_pool2d(x, 3), x, y)
""",
    (IMAGE, (6, 6, 5, 5), (6, 4, 2, 2)): "twice(lambda x: F.conv2d(x, z), x, y)",
    (X, X, (6,), (6,)): "twice(lambda x: F.layer_norm(x, (6,), z, w), x, y)",
    (VOLUME,): """
F.interpolate(x, scale_factor=2, mode="trilinear")
F.interpolate(x, scale_factor=2, mode="nearest")
F.interpolate(x, scale_factor=2, mode="nearest-exact")
F.pad(x, (1,) * 6, mode="reflect"); F.pad(x, (1,) * 6, mode="replicate")
F.adaptive_avg_pool3d(x, 3); F.adaptive_max_pool3d(x, 3); F.avg_pool3d(x, 2); F.max_pool3d(x, 2)
F.fractional_max_pool3d(x, 2, 3); F.max_unpool3d(x, spots(6, 2, 12, 12, 12), 2)
""",
    ((6, 16, 9),): "F.fold(x, (4, 4), 2)",
    ((6, 2, 3),): "F.affine_grid(x, (6, 2, 4, 4), align_corners=False)",
    (IMAGE, (6, 4, 6, 2)): "F.grid_sample(x, y, align_corners=False)",
    (VOLUME, (6, 3, 4, 6, 3)): "F.grid_sample(x, y, align_corners=False)",
    (IMAGE, (4,), (4,)): """
F.group_norm(x, 2, y, z); batch_norm(x, y, z, False); batch_norm(x, y, z, True)
""",
    ((1, 6, 4), (6,), (6,)): "batch_norm(x, y, z, False); batch_norm(x, y, z, True)",
    ((6, 6), (6,), (6,)): "batch_norm(x, y, z, False); batch_norm(x, y, z, True)",
    (X, (6,), (6,)): "F.layer_norm(x, (6,), y, z)",
    (X, (4, 6), (4, 6)): "F.layer_norm(x, (4, 6), y, z)",
}


def every_call():
    """Yield (shapes of the inputs, a call of them)."""
    words = vars(torch) | vars(F) | vars(torch.special)
    module = {name: "torch" if hasattr(torch, name) else "F" for name in words}
    for name in ONE.split():
        yield (X,), f"{module[name]}.{name}(x)"
    for name in TWICE.split():
        yield (X, X), f"twice({module[name]}.{name}, x, y)"
    for shapes in ((X, X), (X, (4, 6)), ((6, 1, 6), X)):
        yield from ((shapes, f"torch.{name}(x, y)") for name in TWO.split())
    yield from (((X,), f"{module[name]}.{name}(x, n)") for name in ALONG.split())
    yield from (((X,), f"torch.{name}(x, n, keepdim=k)") for name in REDUCED.split())
    for shapes, text in CALLS.items():
        for line in text.strip().splitlines():
            yield from ((shapes, call) for call in line.split("; "))


def cases():
    """Yield (kind or nothing, function, shapes of its inputs)."""
    for shapes, text in every_call():
        kind, _, text = text.rpartition(" = ")
        code = compile(text, text, "eval")
        for n in (0, 1, -1) if "n" in code.co_names else (0,):
            for k in (False, True) if "k" in code.co_names else (False,):
                words = {**globals(), "n": n, "k": k}
                yield kind, partial(called, code, words), shapes


def called(code, words, *arrays):
    return eval(code, words | dict(zip("xyzw", arrays, strict=False)))


CASES = list(cases())
SEVERAL = {"Aminmax", "Split", "SplitWithSizes", "StdMean", "Unbind", "UnsafeSplit", "VarMean"}
ALL_ZERO = {"Ceil", "Fill", "Floor", "Round", "Sgn", "Sign", "Trunc", "Zero", "Angle"}


def node_of(kind, output):
    """Return the first node of a kind towards the inputs; without one, the output's own."""
    leaves = output if isinstance(output, tuple | list) else (output,)
    waiting = [x.grad_fn for x in leaves if isinstance(x, torch.Tensor) and x.grad_fn]
    for node in waiting:
        if node is not None:
            if kind in ("", kind_of(node.name())):
                return node
            waiting += [other for other, _ in node.next_functions]
    raise AssertionError(f"no node of kind {kind}")


@cache
def nodes():
    """Return kind -> its nodes, each with the number of its output."""
    found = {}
    for kind, function, shapes in CASES:
        torch.manual_seed(0)
        inputs = [(0.1 + 0.8 * torch.rand(shape).double()).requires_grad_() for shape in shapes]
        node = node_of(kind, function(*inputs))
        same = found.setdefault(kind_of(node.name()), [])
        same.append((node, len(same) % 2 if kind == "MkldnnRnnLayer" else 0))
    return found


def supports(node, number):
    """Yield (outputs, axis, for each input and each place of that axis where numbers arrive)."""
    several = range(len(node._input_metadata)) if kind_of(node.name()) in SEVERAL else [number]
    for outputs in [(n,) for n in several] + [tuple(several)] * (len(several) > 1):
        for axis in range(len(node._input_metadata[outputs[0]].shape)):
            yield outputs, axis, supports_of(node, outputs, axis)


def supports_of(node, outputs, axis):
    """Return input -> where its numbers come from, (places of the axis, *its shape)."""
    edges = [GradientEdge(node, n) for n in outputs]
    targets = enumerate(node.next_functions)
    ends = {slot: GradientEdge(*target) for slot, target in targets if target[0]}
    masks = {slot: [] for slot in ends}
    for place in range(node._input_metadata[outputs[0]].shape[axis]):
        cotangents = []
        for n in outputs:
            metadata = node._input_metadata[n]
            ct = torch.zeros(tuple(metadata.shape), dtype=metadata.dtype)
            part = ct.select(axis, min(place, ct.shape[axis] - 1))
            part.copy_(torch.rand(part.shape) + 0.5)
            cotangents.append(ct)
        gradients = torch.autograd.grad(
            edges, list(ends.values()), cotangents, retain_graph=True, allow_unused=True
        )
        for slot, g in zip(ends, gradients, strict=True):
            masks[slot] += [] if g is None else [(g != 0) | g.isnan()]
    return {slot: torch.stack(found) for slot, found in masks.items() if found}


def layouts_along(length, axis):
    """Yield (size, where the samples lie along an axis): in order, as owners, all one sample's."""
    for size in SIZES:
        for outer in [n for n in range(1, length // size + 1) if not length % (n * size)]:
            yield size, Along(axis, outer)
        if length > 1:
            owner = np.random.default_rng(length).integers(-1, size, length)
            yield size, Along(axis, 1, tuple(owner.tolist()))
        yield size, OneSample(size - 1)
    if length == len(PACKED):
        yield 6, Along(axis, 1, PACKED)


def claims(node, number):
    """Yield (what the table says, supports of the samples' parts)."""
    for outputs, axis, masks in supports(node, number):
        length = node._input_metadata[outputs[0]].shape[axis]
        for size, lies in layouts_along(length, axis):
            graph = Graph([(node, n, lies) for n in outputs], {}, size)
            for slot, mask in masks.items():
                there, number = graph.targets[0][slot]
                yield graph.layouts[there].get(number), parts_of(mask, lies, size)


def parts_of(mask, lies, size):
    """Return (B, ...): where each sample's numbers arrive, from (places of the axis, ...)."""
    whose = (
        [lies.sample] * len(mask) if isinstance(lies, OneSample) else lies.owners(len(mask), size)
    )
    whose = torch.as_tensor(whose)
    return torch.stack([mask[whose == n].any(0) for n in range(size)])


def is_true(claim, parts):
    """Say whether each sample's numbers lie where the claim has them, and nowhere else."""
    size, shape = len(parts), parts[0].shape
    if isinstance(claim, OneSample):
        return not parts[[n for n in range(size) if n != claim.sample]].any()
    if (
        claim.axis >= len(shape)
        or claim.owner is None
        and shape[claim.axis] % (claim.outer * size)
    ):
        return False
    whose = torch.as_tensor(claim.owners(shape[claim.axis], size))
    return not any(part.movedim(claim.axis, 0)[whose != n].any() for n, part in enumerate(parts))


@cache
def found(kind):
    return [pair for node in nodes()[kind] for pair in claims(*node)]


@pytest.mark.parametrize("kind", AXES)
def test_the_table_says_where_pytorch_puts_the_samples(kind):
    if kind in NOT_HERE:
        node = getattr(torch._C._functions, f"{kind}Backward0")
        assert all(hasattr(node, f"_saved_{name}") for name in NOT_HERE[kind])
        return
    if kind in ABSENT:
        pytest.skip("this PyTorch has no such node")
    made = [(c, parts) for c, parts in found(kind) if c is not None]
    assert any(isinstance(c, Along) for c, _ in made)
    assert all(is_true(claim, parts) for claim, parts in made)
    assert any(all(part.any() for part in parts) for _, parts in made) != (kind in ALL_ZERO)


@pytest.mark.parametrize("kind", sorted(PER_OUTPUT))
def test_outputs_may_belong_to_several_samples(kind):
    """As where each piece of a batch has a loss of its own: output n is sample n's."""
    for node, _ in nodes()[kind]:
        size = max(2, len(node._input_metadata))
        roots = [(node, n, OneSample(n)) for n in range(len(node._input_metadata))]
        graph = Graph(roots, {}, size)
        ((there, number),) = graph.targets[0]
        masks = [supports_of(node, (n,), 0)[0].any(0) for n in range(len(roots))]
        parts = torch.stack(masks + [torch.zeros_like(masks[0])] * (size - len(masks)))
        assert is_true(graph.layouts[there][number], parts)


def test_the_table_seldom_refuses_what_is_true():
    """A rule that proves less than it did refuses models that it took."""
    kinds = AXES.keys() - NOT_HERE.keys() - ABSENT
    pairs = [pair for kind in kinds for pair in found(kind)]
    silent = [x for claim, x in pairs if claim is None and x.reshape(len(x), -1).any(1).all()]
    missed = sum(any(is_true(Along(n), x) for n in range(x.ndim - 1)) for x in silent)
    assert missed <= 360 < len(pairs) / 20


LIES = {  # along which axes of an LSTM's outputs: all h, the last h, the last c -> is it proved
    (1,): True,
    (1, 0): True,
    (1, 0, 0): True,
    (None, 0, 0): True,
    (1, 1): False,
    (1, 0, 1): False,
    (0, 0): False,
    (None, 1): False,
}


@pytest.mark.parametrize("axes", LIES, ids=str)
def test_outputs_that_hold_the_samples_elsewhere_are_not_proved(axes):
    """As many samples as features: axis 1 of an LSTM's output, axis 0 of its last states."""
    node, _ = nodes()["MkldnnRnnLayer"][0]
    roots = [(node, n, Along(axis)) for n, axis in enumerate(axes) if axis is not None]
    graph = Graph(roots, {}, 6)
    found = [graph.layouts[graph.targets[0][slot][0]] for slot in (0, 5, 6)]
    assert found == [{0: Along(axis) if LIES[axes] else None} for axis in (1, 0, 0)]


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
    y = made.apply(torch.ones(4, requires_grad=True))  # the node lives no longer than this
    node = y.grad_fn
    assert node.name() == f"{name}Backward"
    assert kind_of(node.name()) == ""
