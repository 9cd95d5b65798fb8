"""Random chains of blocks: the results of `record` equal those of torch.autograd.

Each block maps (B, T, 4) to (B, T, 4); often T equals B.
"""

import warnings

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

import persample as ps
from support.layer_models import Made, agree, alone

D = 4


def number(*shape):
    return nn.Parameter(torch.randn(shape) * 0.7)


def linear(**options):
    return nn.Linear(D, D, **options)


def folded(m, x):
    """Apply a layer to (T * B, 4), where the samples are the inner part of axis 0."""
    inside = m.l(x.transpose(0, 1).flatten(0, 1))
    return inside.unflatten(0, x.shape[:2][::-1]).transpose(0, 1)


def biased(m, x):
    place = torch.arange(x.shape[1])
    distance = (place[:, None] - place).abs()
    return torch.softmax(x @ x.mT + m.p(distance)[..., 0], -1) @ x


BLOCKS = {
    "linear": lambda t: linear(),
    "tanh": lambda t: nn.Tanh(),
    "dropout": lambda t: nn.Dropout(0.3),
    "prelu": lambda t: nn.PReLU(t),
    "layer norm": lambda t: nn.LayerNorm(D),
    "norm of both axes": lambda t: nn.LayerNorm((t, D)),
    "rms norm": lambda t: nn.RMSNorm(D),
    "group norm": lambda t: nn.GroupNorm(1, t),
    "weight norm": lambda t: parametrizations.weight_norm(linear()),
    "residual": lambda t: Made(lambda m, x: x + 0.5 * m.l(x).relu(), l=linear()),
    "reused": lambda t: Made(lambda m, x: m.l(m.l(x).tanh()), l=linear()),
    "tied": lambda t: Made(lambda m, x: m.l(x).tanh() @ m.l.weight, l=linear()),
    "scale": lambda t: Made(lambda m, x: x * m.g + m.h, g=number(D), h=number(t, 1)),
    "quotient": lambda t: Made(lambda m, x: (x - m.g) / (1.5 + m.g**2), g=number()),
    "where": lambda t: Made(lambda m, x: torch.where(x > 0, x * m.g, m.g - x), g=number(D)),
    "addcmul": lambda t: Made(lambda m, x: torch.addcmul(x, x, m.g.expand_as(x)), g=number(t, D)),
    "lerp": lambda t: Made(lambda m, x: torch.lerp(x, m.g.expand_as(x), 0.3), g=number(D)),
    "in place": lambda t: Made(lambda m, x: x.clone().mul_(m.g).add_(m.g), g=number(D)),
    "product": lambda t: Made(lambda m, x: F.linear(x, m.a @ m.b), a=number(D, 2), b=number(2, D)),
    "einsum": lambda t: Made(lambda m, x: torch.einsum("btd,de->bte", x, m.w), w=number(D, D)),
    "mixture": lambda t: Made(lambda m, x: m.w.softmax(1) @ x, w=number(t, t)),
    "unit": lambda t: Made(lambda m, x: x @ (m.w / m.w.norm()), w=number(D, D)),
    "checkpoint": lambda t: Made(
        lambda m, x: checkpoint(m.l, x, use_reentrant=False),
        l=nn.Sequential(linear(), nn.Dropout(0.2), nn.Tanh(), linear()),
    ),
    "outer axis folded": lambda t: Made(
        lambda m, x: m.l(x.flatten(0, 1)).unflatten(0, x.shape[:2]), l=linear()
    ),
    "inner axis folded": lambda t: Made(folded, l=linear()),
    "turned": lambda t: Made(lambda m, x: m.l(x.mT).mT, l=nn.Linear(t, t)),
    "convolution": lambda t: Made(
        lambda m, x: m.l(x.mT).mT, l=nn.Conv1d(D, D, 3, padding=1, groups=2)
    ),
    "batch mean": lambda t: Made(lambda m, x: m.l(x - 0.1 * x.mean(0)), l=linear()),
    "other order": lambda t: Made(lambda m, x: m.l(x).flip(0), l=linear()),
    "lstm": lambda t: Made(lambda m, x: m.l(x)[0], l=nn.LSTM(D, D, batch_first=True)),
    "gru, positions first": lambda t: Made(
        lambda m, x: m.l(x.transpose(0, 1))[0].transpose(0, 1), l=nn.GRU(D, D)
    ),
    "attention": lambda t: Made(
        lambda m, x: m.a(x, x, x)[0], a=nn.MultiheadAttention(D, 2, dropout=0.2, batch_first=True)
    ),
    "encoder": lambda t: nn.TransformerEncoderLayer(D, 2, 5, batch_first=True),
    "positions": lambda t: Made(
        lambda m, x: x + m.p(torch.arange(x.shape[1])), p=nn.Embedding(t, D)
    ),
    "relative bias": lambda t: Made(biased, p=nn.Embedding(t, 1)),
}


def penalty(model):
    return 0.01 * sum((p**2).sum() for p in model.parameters() if p.requires_grad)


def contrastive(y, model):
    flat = F.normalize(y.flatten(1), dim=1)
    return F.cross_entropy(flat @ flat.T, torch.arange(len(flat)), reduction="none")


def of_tokens(y, model):
    labels = torch.arange(y.shape[0] * y.shape[1]).view(y.shape[:2]) % D
    return F.cross_entropy(y.mT, labels, reduction="none", ignore_index=0).sum(1)


LOSSES = {
    "squared": lambda y, model: (y - torch.randn_like(y)).square().flatten(1).mean(1),
    "of tokens": of_tokens,
    "weighted": lambda y, model: torch.rand(len(y)) * y.flatten(1).tanh().sum(1),
    "some zero": lambda y, model: (torch.arange(len(y)) % 2) * y.flatten(1).sin().sum(1),
    "penalised": lambda y, model: y.flatten(1).cos().mean(1) * (1 + penalty(model)),
    "contrastive": contrastive,
    "listed": lambda y, model: torch.stack([row.tanh().sum() for row in y]),
}
CHAINS = st.lists(st.sampled_from(sorted(BLOCKS)), min_size=1, max_size=4)


@pytest.mark.filterwarnings("ignore:.*ested.tensor")
@pytest.mark.parametrize("count", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_chains_of_blocks(count):
    @settings(max_examples=count)
    @given(CHAINS, st.sampled_from(sorted(LOSSES)), st.integers(1, 4), st.integers(2, 4))
    def each(names, loss, size, t):
        torch.manual_seed(0)
        blocks = [BLOCKS[name](t) for name in names]
        model = nn.Sequential(*blocks, Made(lambda m, x: x * m.g, g=number())).double()
        for _ in range(2):
            with ps.record(model) as record, warnings.catch_warnings():
                warnings.filterwarnings("ignore", "record: at")
                losses = LOSSES[loss](model(torch.randn(size, t, D, dtype=torch.float64)), model)
                record.backward(losses, retain_graph=True)
            agree(record, alone(model, losses), 1e-7)

    each()
