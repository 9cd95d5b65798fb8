"""Models with many kinds of layers, and the comparison of `record` with a loop over samples."""

import copy

import pytest
import torch
from torch import nn

import persample as ps
from persample.recorder import buffers, sites
from persample.recorder.graph import Graph
from persample.recorder.layouts import SampleAxis
from support.tolerances import FLOAT64, assert_close

ATEN = torch.ops.aten
B = 5
VOCABULARY = 11


class Made(nn.Module):
    """A module whose forward pass is ``function(self, *inputs)``, with ``parts`` as attributes."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 8, padding_idx=0)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, i):
        h = self.embed(i)
        return self.out(self.norm(h + self.attend(h, h, h, need_weights=False)[0])).mean(1)


class TiedLanguage(nn.Module):
    """A model that uses one table for two lookups and as the output layer's weight."""

    def __init__(self):
        super().__init__()
        self.table, self.inner = nn.Embedding(VOCABULARY, 6), nn.Linear(6, 6)

    def forward(self, i):
        h = torch.tanh(self.inner(self.table(i) + self.table(i.flip(1)).cos()))
        return h @ self.table.weight.T


def one_ignored(m, x):
    """Run two layers, one of them detached from the output; a third one does not run."""
    return m.used(x) + m.lost(x).detach()


def vectors(*shape):
    return lambda size: torch.randn(size, *shape)


def indices(*shape):
    return lambda size: torch.randint(0, VOCABULARY, (size, *shape))


def twice(m, x):
    """Call one Linear twice, so that the norms of its per-sample gradients have cross terms."""
    return m.first(torch.tanh(m.first(x)))


MODELS = {  # name -> (model, inputs of a batch)
    "MLP": (lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)), vectors(4)),
    "Linear, T = 7": (lambda: nn.Linear(4, 3), vectors(7, 4)),
    "Linear, T = 2, wide": (lambda: nn.Linear(20, 16), vectors(2, 20)),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3), vectors(2, 6, 5)),
    "Conv2d, few positions": (lambda: nn.Conv2d(4, 8, 3, bias=False), vectors(4, 3, 4)),
    "Conv2d, groups": (lambda: nn.Conv2d(4, 8, 3, groups=4, padding=1), vectors(4, 5, 6)),
    "Conv2d, same": (lambda: nn.Conv2d(2, 4, (2, 3), padding="same"), vectors(2, 5, 6)),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2), vectors(1, 3, 3, 3)),
    "Embedding, padding": (lambda: nn.Embedding(VOCABULARY, 4, padding_idx=3), indices(3, 8)),
    "LayerNorm, T = 7": (lambda: nn.LayerNorm(4, eps=0.1), vectors(7, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4, eps=0.1), vectors(4, 3, 5)),
    "attention": (Attention, indices(6)),
    "called twice": (lambda: Made(twice, first=nn.Linear(4, 4)), vectors(4)),
    "called twice, T = 7": (lambda: Made(twice, first=nn.Linear(4, 4)), vectors(7, 4)),
    "tied": (TiedLanguage, indices(6)),
    "not used": (
        lambda: Made(one_ignored, **{k: nn.Linear(4, 3) for k in ("used", "idle", "lost")}),
        vectors(4),
    ),
}
SOME = ["MLP", "Linear, T = 7", "Linear, T = 2, wide", "Conv2d, groups", "tied", "attention"]


def build(name, dtype="float64", size=B, seed=0):
    """Return (model, inputs) for an entry of MODELS: random normal parameters, ``size`` inputs."""
    torch.manual_seed(seed)
    model, inputs = MODELS[name][0](), MODELS[name][1]
    for p in model.parameters():
        nn.init.normal_(p, std=0.5)
    x = inputs(size)
    dtype = getattr(torch, dtype)
    return model.to(dtype), x.to(dtype) if x.is_floating_point() else x


def losses(output):
    """Return losses (B,) from a model's output, such that all cotangents differ."""
    flat = output.flatten(1)
    weights = torch.linspace(0.5, 1.5, flat.shape[1], dtype=flat.dtype)
    return (weights * torch.sin(flat)).sum(1)


def oracle(model, x):
    """Return {name: rows}, each row from a pass over a batch of one sample."""
    model = copy.deepcopy(model)
    rows = [alone(model, losses(model(x[i : i + 1]))) for i in range(len(x))]
    return {k: torch.cat([row[k] for row in rows]) for k in rows[0]}


def alone(model, each):
    """Return {name: rows} of the trained parameters, by autograd.grad of each loss in ``each``."""
    named = {k: p for k, p in model.named_parameters() if p.requires_grad}
    rows = [
        torch.autograd.grad(loss, list(named.values()), retain_graph=True, materialize_grads=True)
        for loss in each
    ]
    return {k: torch.stack([g[n].to_dense() for g in rows]) for n, k in enumerate(named)}


def replayed(at=""):
    """Return a context that asserts the warning that rows are replayed from node ``at``."""
    text = f"^record: at {at}.* are worked out sample by sample"
    return pytest.warns(UserWarning, match=text)


def record_of(model, x, **settings):
    """Return the record of a forward and backward pass; ``settings`` go to record.backward."""
    with ps.record(model) as record:
        record.backward(losses(model(x)), **settings)
    return record


def flat(rows):
    """Return {name: rows} as one tensor, (B, total number of entries of the parameters)."""
    return torch.cat([g.reshape(len(g), -1) for g in rows.values()], 1)


def norms_of(rows):
    return flat(rows).square().sum(1)


def summed(rows, weights):
    return {k: torch.tensordot(weights.to(g.dtype), g, 1) for k, g in rows.items()}


def agree(record, expected, tolerance=FLOAT64):
    """Assert that all results of a record equal those computed from ``expected``, {name: rows}."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffers, "CACHE_BYTES", 0)  # or kept rows would answer for the forms
        _agree(record, expected, tolerance)


def _agree(record, expected, tolerance):
    assert_close(record.rows(), expected, tolerance)
    size, norms = len(next(iter(expected.values()))), norms_of(expected)
    assert_close(record.squared_norms(), norms, tolerance)
    max_norm = float(norms.sqrt().median()) or 1.0
    clip = (max_norm / norms.sqrt().clamp(min=1e-30)).clip(max=1)
    assert_close(record.clipped_sum(max_norm), summed(expected, clip), tolerance)
    weights = torch.linspace(-1, 2, size)
    assert_close(record.weighted_sum(weights), summed(expected, weights), tolerance)
    mean, second = record.moments()
    assert_close(mean, {k: g.mean(0) for k, g in expected.items()}, tolerance)
    assert_close(second, {k: (g**2).mean(0) for k, g in expected.items()}, tolerance)
    long = flat(expected)
    assert_close(record.gram(), long @ long.T, tolerance)
    assert_close(record.project(6, seed=3), ps.statistics.project(expected, 6, 3), tolerance)
    parts = [{k: g.clone() for k, g in part.items()} for part in record.chunks(2)]
    assert [len(next(iter(part.values()))) for part in parts[:-1]] == [2] * (len(parts) - 1)
    joined = {k: torch.cat([part[k] for part in parts]) for k in expected}
    assert_close(joined, expected, tolerance)


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w * w

    @staticmethod
    def backward(ctx, ct):
        x, w = ctx.saved_tensors
        return ct * w * w, (ct * 2 * x * w).sum(0)


def own_function():
    return Made(lambda m, x: Squared.apply(x, m.w), w=nn.Parameter(torch.randn(4)))


def own(function, *shape):
    """Return a function that makes a model of ``function(x, w)``, where w has this shape."""
    return lambda: Made(lambda m, x: function(x, m.w), w=nn.Parameter(torch.rand(shape) + 1))


def penalised(*layers):
    """Return a function that makes a model whose output is d sum(sin(layers(x))) / dx."""

    def gradient(m, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(m.net(x).sin().sum(), x, create_graph=True)[0]

    return lambda: Made(gradient, net=nn.Sequential(*layers))


def one_pass(model, x):
    """Return (record of one pass, graph of its losses, result of `sites.cut` for the graph)."""
    with ps.record(model) as record:
        each = losses(model(x))
        graph = Graph([(each.grad_fn, 0, SampleAxis(0))], record._capture.names, len(each))
        record.backward(each, retain_graph=True)
    return record, graph, sites.cut(graph, is_hooked=False)
