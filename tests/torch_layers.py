"""Every layer of torch.nn with parameters, run once: are its rows right?"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

import persample as ps

B, T = 4, 5  # samples, positions

# Layer -> (what makes it, shapes of its inputs for one sample; "i" before a shape: of indices).
_FIRST = {"batch_first": True}
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple]] = {
    "Linear": (lambda: nn.Linear(4, 3), ((4,),)),
    "Linear, at T positions": (lambda: nn.Linear(4, 3), ((T, 4),)),
    "Bilinear": (lambda: nn.Bilinear(4, 3, 2), ((4,), (3,))),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3), ((2, 8),)),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3), ((2, 6, 6),)),
    "Conv3d": (lambda: nn.Conv3d(2, 4, 2), ((2, 4, 4, 4),)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 4, 3), ((2, 8),)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 4, 3), ((2, 6, 6),)),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 4, 2), ((2, 4, 4, 4),)),
    "Embedding": (lambda: nn.Embedding(9, 4), (("i", T),)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(9, 4), (("i", T),)),
    "LayerNorm": (lambda: nn.LayerNorm(4), ((T, 4),)),
    "RMSNorm": (lambda: nn.RMSNorm(4), ((T, 4),)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), ((4, T),)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(4, affine=True), ((4, T),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True), ((4, 3, 3),)),
    "InstanceNorm3d": (lambda: nn.InstanceNorm3d(4, affine=True), ((4, 2, 3, 2),)),
    "BatchNorm1d, in eval()": (lambda: nn.BatchNorm1d(4).eval(), ((4,),)),
    "BatchNorm2d, in eval()": (lambda: nn.BatchNorm2d(4).eval(), ((4, 3, 3),)),
    "BatchNorm3d, in eval()": (lambda: nn.BatchNorm3d(4).eval(), ((4, 2, 3, 2),)),
    "SyncBatchNorm, in eval()": (lambda: nn.SyncBatchNorm(4).eval(), ((4, 3, 3),)),
    "PReLU": (lambda: nn.PReLU(4), ((4, 3),)),
    "RNN": (lambda: nn.RNN(4, 3, **_FIRST), ((T, 4),)),
    "LSTM": (lambda: nn.LSTM(4, 3, **_FIRST), ((T, 4),)),
    "GRU": (lambda: nn.GRU(4, 3, **_FIRST), ((T, 4),)),
    "RNNCell": (lambda: nn.RNNCell(4, 3), ((4,),)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 3), ((4,),)),
    "GRUCell": (lambda: nn.GRUCell(4, 3), ((4,),)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2, **_FIRST), ((T, 4),) * 3),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, **_FIRST),
        ((T, 4),),
    ),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, **_FIRST), 2),
        ((T, 4),),
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(4, 2, 8, **_FIRST),
        ((T, 4), (3, 4)),
    ),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, **_FIRST), 2),
        ((T, 4), (3, 4)),
    ),
    "Transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8, **_FIRST), ((T, 4), (3, 4))),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [3, 6], div_value=2.0),
        ((8,), ("i",)),
    ),
}
if hasattr(nn, "LinearCrossEntropyLoss"):  # of newer versions
    LAYERS["LinearCrossEntropyLoss"] = (
        lambda: nn.LinearCrossEntropyLoss(4, 9, reduction="none"),
        ((4,), ("i",)),
    )


class Entry(NamedTuple):
    layer: str
    kinds: dict[str, list[str]]  # how rows are had -> the parameters
    error: float  # largest difference from autograd, loss by loss, relative


def entry(name: str) -> Entry:
    """Run a layer in training mode, dropout and all, on a batch of 4 in float64.

    The rows and the norms are compared with ``torch.autograd.grad`` of each loss on the same
    graph; ``error`` is the largest difference, relative to the norm of the sample's gradient.
    """
    make, shapes = LAYERS[name]
    torch.manual_seed(0)
    layer = make().double()
    inputs = [
        torch.randint(0, 9, (B, *shape[1:]))
        if shape[:1] == ("i",)
        else torch.randn(B, *shape, dtype=torch.float64)
        for shape in shapes
    ]
    with warnings.catch_warnings(), ps.record(layer) as record:
        warnings.filterwarnings("ignore", "record: at")  # the table says it
        losses = _losses(layer(*inputs))
        record.backward(losses, retain_graph=True)
    kinds: dict[str, list[str]] = {}
    for parameter, kind in record.forms().items():
        kinds.setdefault(kind, []).append(parameter)
    return Entry(name, kinds, _largest_error(record, losses, list(layer.parameters())))


def _losses(output):
    while isinstance(output, tuple):
        output = output[0]
    flat = output.reshape(B, -1)
    return (flat.sin() * torch.arange(1.0, flat.shape[1] + 1)).sum(1)


def _largest_error(record, losses, parameters):
    rows, norms, errors = record.rows().values(), record.squared_norms(), []
    for i, loss in enumerate(losses):
        alone = torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True)
        square = float(sum(g.square().sum() for g in alone))
        apart = [(row[i] - g).norm() for row, g in zip(rows, alone, strict=True)]
        errors += [float(max(apart)) / square**0.5, abs(float(norms[i]) - square) / square]
    return max(errors)
