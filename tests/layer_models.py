"""Models of every kind of layer, their rows by the loop, and the helpers that record one pass."""

import copy

import pytest
import torch
from model_blocks import Made
from torch import nn

import persample as ps

B = 5
VOCABULARY = 11


# Models with more than one layer in a row, or with a parameter that is used more than once.
class Scaled(nn.Module):
    """A parameter of the model's own, beside layers."""

    def __init__(self):
        super().__init__()
        self.inner, self.scale = nn.Linear(4, 3), nn.Parameter(torch.randn(3))

    def forward(self, x):
        return self.inner(x) * self.scale


class OwnAndInner(nn.Module):
    """The model's own parameter is that of its inner layer."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.weight = self.inner.weight

    def forward(self, x):
        return torch.tanh(self.inner(x)) @ self.weight


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 8, padding_idx=0)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, i):
        h = self.embed(i)
        return self.out(self.norm(h + self.attend(h, h, h, need_weights=False)[0])).mean(1)


class Shared(nn.Module):
    """One Linear called twice: the norm of the sum has cross terms."""

    def __init__(self, *between):
        super().__init__()
        self.first, self.between = nn.Linear(4, 4), nn.Sequential(*between)

    def forward(self, x):
        return self.first(torch.tanh(self.between(self.first(x))))


class Tied(nn.Module):
    """The table of the embedding is the weight of the output layer."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(VOCABULARY, 4), nn.Linear(4, VOCABULARY, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, i):
        return self.out(torch.tanh(self.embed(i))).mean(1)


class TiedLanguage(nn.Module):
    """Words looked up in two places, and the table again as the output layer; T positions."""

    def __init__(self):
        super().__init__()
        self.table, self.inner = nn.Embedding(VOCABULARY, 6), nn.Linear(6, 6)

    def forward(self, i):
        h = torch.tanh(self.inner(self.table(i) + self.table(i.flip(1)).cos()))
        return h @ self.table.weight.T


class TwoOutputs(nn.Module):
    """The second output is made from the first, and both are used."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x, *, power):
        first = (x * self.weight).tanh()
        return {"first": first, "second": [first**power]}


class UsesBoth(nn.Module):
    def __init__(self):
        super().__init__()
        self.two = TwoOutputs()

    def forward(self, x):
        both = self.two(x, power=2)
        return both["first"] + 3 * both["second"][0]


class Ignored(nn.Module):
    """One layer does not run, one runs and does not reach the loss."""

    def __init__(self):
        super().__init__()
        self.used, self.idle, self.lost = (nn.Linear(4, 3) for _ in range(3))

    def forward(self, x):
        return self.used(x) + self.lost(x).detach()


def frozen(model, *names):
    for name in names:
        model.get_parameter(name).requires_grad_(False)
    return model


def vectors(*shape):
    return lambda size: torch.randn(size, *shape)


def indices(*shape):
    return lambda size: torch.randint(0, VOCABULARY, (size, *shape))


def cosines(layer, name="weight"):
    """Parametrize a weight by a function of another parameter."""

    class Cosine(nn.Module):
        def forward(self, x):
            return torch.cos(x)

    nn.utils.parametrize.register_parametrization(layer, name, Cosine())
    return layer


MODELS = {  # name -> (model, inputs of a batch)
    "Linear": (lambda: nn.Linear(4, 3), vectors(4)),
    "Linear, no bias": (lambda: nn.Linear(4, 3, bias=False), vectors(4)),
    "Linear, frozen weight": (lambda: frozen(nn.Linear(4, 3), "weight"), vectors(4)),
    "MLP": (lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)), vectors(4)),
    "Linear, T = 7": (lambda: nn.Linear(4, 3), vectors(7, 4)),
    "Linear, T = 2, wide": (lambda: nn.Linear(20, 16), vectors(2, 20)),
    "Linear, T = 1": (lambda: nn.Linear(4, 3), vectors(1, 4)),
    "Linear, axes 2 x 3": (lambda: nn.Linear(4, 3), vectors(2, 3, 4)),
    "in place": (
        lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(inplace=True), nn.Linear(6, 3)),
        vectors(4),
    ),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3), vectors(2, 9)),
    "Conv1d, strided": (
        lambda: nn.Conv1d(4, 6, 3, stride=3, padding=2, dilation=2, groups=2),
        vectors(4, 12),
    ),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3), vectors(2, 6, 5)),
    "Conv2d, few positions": (lambda: nn.Conv2d(4, 8, 3, bias=False), vectors(4, 3, 4)),
    "Conv2d, strided": (
        lambda: nn.Conv2d(2, 4, (3, 2), stride=(2, 3), padding=(1, 2), dilation=(2, 1)),
        vectors(2, 9, 8),
    ),
    "Conv2d, groups": (lambda: nn.Conv2d(4, 8, 3, groups=4, padding=1), vectors(4, 5, 6)),
    "Conv2d, same": (lambda: nn.Conv2d(2, 4, (2, 3), padding="same"), vectors(2, 5, 6)),
    "Conv2d, reflect": (
        lambda: nn.Conv2d(2, 4, 3, padding=2, padding_mode="reflect"),
        vectors(2, 5, 6),
    ),
    "Embedding": (lambda: nn.Embedding(VOCABULARY, 4), indices(6)),
    "Embedding, one index": (
        lambda: nn.Embedding(VOCABULARY, 4),
        lambda size: torch.randperm(VOCABULARY)[:size],
    ),
    "Embedding, padding": (lambda: nn.Embedding(VOCABULARY, 4, padding_idx=3), indices(3, 8)),
    "LayerNorm": (lambda: nn.LayerNorm(4), vectors(4)),
    "LayerNorm, T = 7": (lambda: nn.LayerNorm(4, eps=0.1), vectors(7, 4)),
    "LayerNorm, two axes": (lambda: nn.LayerNorm((3, 4)), vectors(2, 3, 4)),
    "RMSNorm": (lambda: nn.RMSNorm(4, eps=0.1), vectors(7, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4, eps=0.1), vectors(4, 3, 5)),
    "GroupNorm, no positions": (lambda: nn.GroupNorm(2, 4), vectors(4)),
    "PReLU": (lambda: nn.PReLU(3), vectors(3, 4)),
    "BatchNorm, evaluated": (lambda: nn.BatchNorm1d(4).eval(), vectors(4)),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2), vectors(1, 3, 3, 3)),
    "parametrized": (lambda: cosines(nn.Linear(4, 3)), vectors(4)),
    "a model's own": (Scaled, vectors(4)),
    "attention": (Attention, indices(6)),
    "attention to others": (
        lambda: Made(
            lambda m, x: m.l(x, x.flip(1), x.roll(1, 2), need_weights=False)[0],
            l=nn.MultiheadAttention(4, 2, batch_first=True),
        ),
        vectors(6, 4),
    ),
    "two outputs": (UsesBoth, vectors(4)),
    # More than one use
    "called twice": (Shared, vectors(4)),
    "called twice, T = 7": (Shared, vectors(7, 4)),
    "one module, two names": (
        lambda: (lambda m: nn.Sequential(m, nn.Tanh(), m))(nn.Linear(4, 4)),
        vectors(4),
    ),
    "own and inner": (OwnAndInner, vectors(4)),
    "tied": (Tied, indices(6)),
    "not used": (Ignored, vectors(4)),
}


def build(name, dtype="float64", size=B, seed=0):
    """Return model and inputs of a case."""
    torch.manual_seed(seed)
    model, inputs = MODELS[name][0](), MODELS[name][1]
    for p in model.parameters():
        nn.init.normal_(p, std=0.5)
    x = inputs(size)
    dtype = getattr(torch, dtype)
    return model.to(dtype), x.to(dtype) if x.is_floating_point() else x


def losses(output):
    """Return the loss of each sample: (B,). Every output has a cotangent of its own."""
    flat = output.flatten(1)
    weights = torch.linspace(0.5, 1.5, flat.shape[1], dtype=flat.dtype)
    return (weights * torch.sin(flat)).sum(1)


def oracle(model, x):
    """Return the rows, one sample after the other, each in a batch of its own.

    On a copy: PyTorch's functional_call leaves its own tensors in a module with two names.
    """
    model = copy.deepcopy(model)
    named = {k: p.detach() for k, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one):
        return losses(torch.func.functional_call(model, parameters, (one,)))[0]

    rows = [torch.func.grad(loss)(named, x[i : i + 1]) for i in range(len(x))]
    return {k: torch.stack([row[k] for row in rows]) for k in named}


def replayed(at=""):
    """Expect the warning that rows are worked out one sample at a time, from an operation."""
    text = f"^record: at {at}.* it is not known how the samples lie"
    return pytest.warns(UserWarning, match=text)


def record_of(model, x, reduction=None):
    """Record one pass; with a reduction, by a backward pass of one's own."""
    with ps.record(model, reduction=reduction) as record:
        each = losses(model(x))
        if reduction is None:
            record.backward(each)
        else:
            getattr(each, reduction)().backward()
    return record


def norms_of(rows):
    return sum((g.flatten(1) ** 2).sum(1) for g in rows.values())
