"""Pieces of models, put together at random: each maps activations (B, ...) to activations.

A maker takes the generator and the shape of what comes in (without the samples) and returns a
module, or None where it does not fit.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

P = nn.Parameter


class Made(nn.Module):
    """A module from a function (self, *inputs) and its parts."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def _bare(shape):
    return P(torch.randn(shape) * 0.7)


ACTIVATIONS = [
    *(nn.ReLU, nn.Tanh, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Softplus, nn.ELU, nn.LeakyReLU),
    *(nn.Hardswish, nn.Mish, nn.SELU, nn.Identity, nn.Softsign, nn.LogSigmoid, nn.Hardtanh),
]


def activation(rng, shape):
    return ACTIVATIONS[int(rng.integers(len(ACTIVATIONS)))]()


def dropout(rng, shape):
    kinds = [nn.Dropout, nn.AlphaDropout, nn.FeatureAlphaDropout]
    return kinds[int(rng.integers(len(kinds)))](0.3)


def width(rng):
    return int(rng.choice([2, 3, 4, 6]))


def any_linear(rng, shape):
    return nn.Linear(shape[-1], width(rng), bias=bool(rng.random() < 0.7))


def residual(rng, shape):
    inner = nn.Sequential(nn.Linear(shape[-1], shape[-1]), activation(rng, shape))
    return Made(lambda m, x: x + 0.5 * m.inner(x), inner=inner)


def reused(rng, shape):
    layer, act = nn.Linear(shape[-1], shape[-1]), activation(rng, shape)
    return Made(lambda m, x: m.l(m.a(m.l(x))), l=layer, a=act)


def tied(rng, shape):
    d, h = shape[-1], width(rng)
    first, second = nn.Linear(d, h), nn.Linear(h, d)
    if rng.random() < 0.5 and d == h:
        second.weight = first.weight
        return nn.Sequential(first, nn.Tanh(), second)
    return Made(lambda m, x: torch.tanh(m.l(x)) @ m.l.weight, l=first)


def frozen(rng, shape):
    layer = nn.Linear(shape[-1], width(rng))
    which = [layer, layer.weight, layer.bias][int(rng.integers(3))]
    which.requires_grad_(False)
    return layer


def norm(rng, shape):
    kinds = [
        lambda: nn.LayerNorm(shape[-1]),
        lambda: nn.LayerNorm(shape),
        lambda: nn.RMSNorm(shape[-1]),
        lambda: nn.LayerNorm(shape[-1], elementwise_affine=False),
        lambda: nn.LayerNorm(shape[-1], bias=False),
        lambda: nn.RMSNorm(shape),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def weight_norm(rng, shape):
    layer = nn.Linear(shape[-1], width(rng))
    kinds = [parametrizations.weight_norm, parametrizations.spectral_norm]
    if layer.weight.shape[0] <= layer.weight.shape[1]:
        kinds.append(parametrizations.orthogonal)
    return kinds[int(rng.integers(len(kinds)))](layer)


def bare_scale(rng, shape):
    """A parameter of the model's own: an entry for each position, or fewer, or one number."""
    first = int(rng.integers(len(shape) + 1))
    own = tuple(n if rng.random() < 0.8 else 1 for n in shape[first:])
    functions: list[Callable] = [
        lambda m, x: x * m.g + m.h,
        lambda m, x: (x - m.h) / (1.5 + m.g * m.g),
        lambda m, x: x + (m.g.exp() * m.h)[None],
        lambda m, x: torch.where(x > 0, x * m.g, m.h * x),
        lambda m, x: torch.addcmul(x, x, (m.g + m.h).expand_as(x)),
        lambda m, x: torch.maximum(x, m.g) + m.h,
        lambda m, x: x.clone().mul_(m.g).add_(m.h),
        lambda m, x: torch.lerp(x, m.g.expand_as(x), 0.3) - m.h,
    ]
    function = functions[int(rng.integers(len(functions)))]
    return Made(function, g=_bare(own), h=_bare(own))


def matrices(rng, shape):
    d, h = shape[-1], width(rng)
    functions = [
        (lambda m, x: x @ m.w[0] + m.w[1], [(d, h), (h,)]),
        (lambda m, x: F.linear(x, m.w[0] @ m.w[1]), [(h, 2), (2, d)]),
        (lambda m, x: torch.einsum("b...d,dh->b...h", x, m.w[0]) * m.w[1], [(d, h), ()]),
        (lambda m, x: torch.tensordot(x, m.w[0], 1), [(d, h)]),
        (lambda m, x: torch.nan_to_num(x) @ m.w[0].softmax(0), [(d, h)]),
        (lambda m, x: x @ torch.stack(list(m.w)).sum(0), [(d, h), (d, h)]),
        (lambda m, x: x @ torch.cat(list(m.w), 1), [(d, 1), (d, h)]),
        (lambda m, x: F.linear(F.normalize(x, dim=-1), F.normalize(m.w[0], dim=-1)), [(h, d)]),
        (lambda m, x: x @ (m.w[0] / m.w[0].norm()), [(d, h)]),
    ]
    function, shapes = functions[int(rng.integers(len(functions)))]
    if rng.random() < 0.3:
        keyed = {str(k): _bare(s) for k, s in enumerate(shapes)}
        as_list = lambda m, x: function(_Named(list(m.w.values())), x)  # noqa: E731
        return Made(as_list, w=nn.ParameterDict(keyed))
    return Made(function, w=nn.ParameterList([_bare(s) for s in shapes]))


class _Named:
    def __init__(self, w):
        self.w = w


def checkpointed(rng, shape):
    d = shape[-1]
    inner = nn.Sequential(nn.Linear(d, d), nn.Dropout(0.2), nn.Tanh(), nn.Linear(d, d))
    return Made(lambda m, x: checkpoint(m.inner, x, use_reentrant=False), inner=inner)


def folded(rng, shape):
    """The samples and the first axis in one."""
    if len(shape) < 2:
        return None
    layer = nn.Linear(shape[-1], width(rng))
    if rng.random() < 0.5:
        return Made(lambda m, x: m.l(x.flatten(0, 1)).unflatten(0, x.shape[:2]), l=layer)
    return Made(
        lambda m, x: (
            m.l(x.transpose(0, 1).flatten(0, 1)).unflatten(0, x.shape[:2][::-1]).transpose(0, 1)
        ),
        l=layer,
    )


def prelu(rng, shape):
    return nn.PReLU(shape[0] if rng.random() < 0.5 else 1)


def coupled(rng, shape):
    layer = nn.Linear(shape[-1], shape[-1])
    kinds = [
        lambda m, x: m.l(x) - 0.1 * x.mean(0),
        lambda m, x: m.l(x - x.mean(0)),
        lambda m, x: m.l(x).flip(0),
        lambda m, x: m.l(x) / (1 + m.l(x).detach().abs().max()),
    ]
    return Made(kinds[int(rng.integers(len(kinds)))], l=layer)


def experts(rng, shape):
    d = shape[-1]
    parts = {"a": nn.Linear(d, d), "b": nn.Linear(d, d)}

    def chosen(m, x):
        first = x.flatten(1).sum(1) > 0
        whole = torch.stack([m.a(x), m.b(x)], 1)
        return whole[torch.arange(len(x)), first.long()]

    def masked(m, x):
        first = x.flatten(1).sum(1) > 0
        out = torch.zeros_like(m.a(x))
        return out.index_put((first.nonzero()[:, 0],), m.a(x[first])).index_put(
            ((~first).nonzero()[:, 0],), m.b(x[~first])
        )

    return Made(chosen if rng.random() < 0.5 else masked, **parts)


ANY = [
    *(any_linear, any_linear, activation, activation, dropout, residual, reused, tied, frozen),
    *(norm, weight_norm, bare_scale, bare_scale, matrices, checkpointed, folded, prelu),
    *(coupled, experts),
]


# Vectors (d,).
def cell(rng, shape):
    h = width(rng)
    kind = [nn.LSTMCell, nn.GRUCell, nn.RNNCell][int(rng.integers(3))]
    return Made(
        lambda m, x: m.l(x)[0] if isinstance(m.l, nn.LSTMCell) else m.l(x), l=kind(shape[-1], h)
    )


def bilinear(rng, shape):
    return Made(lambda m, x: m.l(x, torch.tanh(x)), l=nn.Bilinear(shape[0], shape[0], width(rng)))


def to_sequence(rng, shape):
    t = int(rng.choice([3, 4, 5]))
    return Made(lambda m, x: m.l(x).unflatten(1, (t, -1)), l=nn.Linear(shape[0], t * 4))


def group_norm(rng, shape):
    c = shape[0]
    groups = int(rng.choice([g for g in (1, 2, 3, c) if c % g == 0]))
    if len(shape) > 1 and np.prod(shape) // groups == 1:
        return None
    return nn.GroupNorm(groups, c, affine=bool(rng.random() < 0.8))


def batch_norm(rng, shape):
    kinds = {1: nn.BatchNorm1d, 2: nn.BatchNorm1d, 3: nn.BatchNorm2d}
    layer = kinds[len(shape)](shape[0])
    layer.running_mean.normal_()
    return layer.eval()


# Sequences (T, d).
def recurrent(rng, shape):
    kind = [nn.LSTM, nn.GRU, nn.RNN][int(rng.integers(3))]
    first, layers = bool(rng.random() < 0.7), int(rng.integers(1, 3))
    layer = kind(
        shape[1],
        3,
        layers,
        batch_first=first,
        dropout=0.2 * (layers - 1),
        bidirectional=bool(rng.random() < 0.4),
        bias=bool(rng.random() < 0.8),
    )
    if first:
        return Made(lambda m, x: m.l(x)[0], l=layer)
    return Made(lambda m, x: m.l(x.transpose(0, 1))[0].transpose(0, 1), l=layer)


def last_state(rng, shape):
    kind = [nn.LSTM, nn.GRU][int(rng.integers(2))]
    layer = kind(shape[1], 3, batch_first=True)

    def forward(m, x):
        state = m.l(x)[1]
        return (state[0] if isinstance(state, tuple) else state)[-1]

    return Made(forward, l=layer)


def attention(rng, shape):
    t, d = shape
    if d % 2:
        return None
    first = bool(rng.random() < 0.7)
    layer = nn.MultiheadAttention(
        d,
        2,
        dropout=float(rng.choice([0.0, 0.2])),
        batch_first=first,
        add_bias_kv=bool(rng.random() < 0.2),
        bias=bool(rng.random() < 0.8),
    )
    mask = torch.ones(t, t, dtype=torch.bool).triu(1) if rng.random() < 0.4 else None
    if mask is not None and layer.bias_k is not None:
        mask = None
    weights = bool(rng.random() < 0.5)

    def forward(m, x):
        h = x if first else x.transpose(0, 1)
        out = m.a(h, h, h, attn_mask=mask, need_weights=weights)[0]
        return out if first else out.transpose(0, 1)

    return Made(forward, a=layer)


def encoder(rng, shape):
    if shape[1] % 2:
        return None
    layer = nn.TransformerEncoderLayer(
        shape[1], 2, 5, batch_first=True, norm_first=bool(rng.random() < 0.5)
    )
    if rng.random() < 0.3:
        mask = nn.Transformer.generate_square_subsequent_mask(shape[0])
        return Made(lambda m, x: m.l(x, src_mask=mask.to(x.dtype)), l=layer)
    return layer


def decoder(rng, shape):
    if shape[1] % 2:
        return None
    layer = nn.TransformerDecoderLayer(shape[1], 2, 5, batch_first=True)
    return Made(lambda m, x: m.l(x, x.flip(1)), l=layer)


def positions(rng, shape):
    t, d = shape
    table = nn.Embedding(t + 1, d)
    functions = [
        lambda m, x: x + m.p(torch.arange(t)),
        lambda m, x: x + m.p(torch.arange(t))[None],
        lambda m, x: x + m.p(torch.arange(t).expand(len(x), t)),
        lambda m, x: x + F.dropout(m.p.weight[:t], 0.2, m.training),
        lambda m, x: x * m.p(torch.arange(t)).mean(1)[:, None],
    ]
    return Made(functions[int(rng.integers(len(functions)))], p=table)


def relative_bias(rng, shape):
    t = shape[0]
    distance = (torch.arange(t)[:, None] - torch.arange(t)).abs()
    return Made(
        lambda m, x: torch.softmax(x @ x.mT + m.p(distance)[..., 0], -1) @ x,
        p=nn.Embedding(t, 1),
    )


def class_token(rng, shape):
    return Made(
        lambda m, x: torch.cat([m.c.expand(len(x), -1, -1), x], 1), c=_bare((1, 1, shape[1]))
    )


def conv1d(rng, shape):
    layer = nn.Conv1d(shape[1], 4, 3, padding=1, groups=2 if shape[1] % 2 == 0 else 1)
    return Made(lambda m, x: m.l(x.mT).mT, l=layer)


def pooled(rng, shape):
    functions = [
        lambda m, x: x.mean(1),
        lambda m, x: x[:, 0],
        lambda m, x: x.amax(1),
        lambda m, x: x.flatten(1),
        lambda m, x: torch.logsumexp(x, 1),
    ]
    return Made(functions[int(rng.integers(len(functions)))])


def turned(rng, shape):
    return Made(lambda m, x: x.mT)


# Images (c, h, w).
def conv(rng, shape):
    c = shape[0]
    groups = int(rng.choice([1, 1, c, 2 if c % 2 == 0 else 1]))
    modes = ["zeros", "zeros", "reflect", "replicate", "circular"]
    return nn.Conv2d(
        c,
        groups * int(rng.integers(1, 3)),
        int(rng.integers(1, 4)),
        stride=int(rng.integers(1, 3)),
        padding=1,
        dilation=int(rng.integers(1, 3)) if min(shape[1:]) > 4 else 1,
        groups=groups,
        padding_mode=str(rng.choice(modes)),
        bias=bool(rng.random() < 0.7),
    )


def conv_transpose(rng, shape):
    return nn.ConvTranspose2d(shape[0], 2, 2, stride=int(rng.integers(1, 3)))


def conv3d(rng, shape):
    return Made(lambda m, x: m.l(x[:, :, None]).squeeze(2), l=nn.Conv3d(shape[0], 3, 3, padding=1))


def normed_conv(rng, shape):
    return parametrizations.weight_norm(nn.Conv2d(shape[0], 3, 3, padding=1))


def image_norm(rng, shape):
    if min(shape[1:]) < 2:
        return None
    kinds = [
        lambda: nn.InstanceNorm2d(shape[0], affine=True),
        lambda: nn.LocalResponseNorm(2),
        lambda: nn.LayerNorm(shape),
        lambda: nn.Dropout2d(0.3),
        lambda: nn.InstanceNorm2d(shape[0], affine=True, track_running_stats=True),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def pool(rng, shape):
    if min(shape[1:]) < 2:
        return None
    kinds = [
        *(lambda: nn.MaxPool2d(2), lambda: nn.AvgPool2d(2), lambda: nn.AdaptiveAvgPool2d(2)),
        *(lambda: nn.AdaptiveMaxPool2d(2), lambda: nn.LPPool2d(2, 2)),
        *(lambda: nn.Upsample(scale_factor=2), lambda: nn.ZeroPad2d(1)),
        *(lambda: nn.MaxPool2d(2), lambda: nn.AvgPool2d(2)),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def flat(rng, shape):
    return nn.Flatten()


def patches(rng, shape):
    return Made(lambda m, x: m.l(x).flatten(2).mT, l=nn.Conv2d(shape[0], 4, 2, stride=1))


def channels_last(rng, shape):
    # Behind a layer: PyTorch 2.13 itself crashes in the backward pass of a GroupNorm in float64
    # whose input is in this order and requires no gradient.
    layer = nn.Conv2d(shape[0], shape[0], 1)
    return Made(lambda m, x: m.l(x).contiguous(memory_format=torch.channels_last), l=layer)


# By the count of axes without that of the samples.
BLOCKS = {
    1: [*ANY, cell, bilinear, to_sequence, to_sequence, group_norm, batch_norm],
    2: [
        *ANY,
        *(recurrent, recurrent, last_state, attention, attention, encoder, encoder, decoder),
        *(positions, positions, relative_bias, class_token, conv1d, pooled, turned, batch_norm),
    ],
    3: [
        *(conv, conv, conv, conv_transpose, conv3d, normed_conv, image_norm, pool, activation),
        *(dropout, flat, patches, channels_last, group_norm, group_norm, batch_norm, prelu),
        *(bare_scale, any_linear, norm, coupled),
    ],
}


# Tokens: the first layer of some models.
def embedded(rng, words, t):
    """Return a module from (B, T) whole numbers to activations."""
    d = int(rng.choice([2, 4, 6]))
    kinds = [
        lambda: nn.Embedding(words, d),
        lambda: nn.Embedding(words, d, padding_idx=0),
        lambda: nn.Embedding(words, d, scale_grad_by_freq=True),
        lambda: nn.Embedding(words, d, max_norm=1.0),
        lambda: nn.Embedding(words, d, sparse=True),
        lambda: nn.EmbeddingBag(words, d, mode="mean"),
        lambda: nn.EmbeddingBag(words, d, mode="sum"),
        lambda: nn.EmbeddingBag(words, d, mode="max"),
        lambda: Made(lambda m, i: m.e(i) @ m.e.weight.T, e=nn.Embedding(words, d)),
        lambda: Made(lambda m, i: F.one_hot(i, words).to(m.w.dtype) @ m.w, w=_bare((words, d))),
        lambda: Made(lambda m, i: m.w[i], w=_bare((words, d))),
        lambda: Made(
            lambda m, i: m.w.index_select(0, i.flatten()).view(*i.shape, d), w=_bare((words, d))
        ),
    ]
    return kinds[int(rng.integers(len(kinds)))]()
