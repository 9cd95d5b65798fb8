"""Shared, frozen, bare, unused, computed and parametrised weights."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize

from conformance.case import Case
from conformance.losses import ALL_VECTOR, ANY, LAST, SQUARED, TOKEN_MEAN, TOKENS, VECTOR
from conformance.models.batches import features, ids


class Tied(nn.Module):
    """A language model whose head and embedding share their weight."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.hidden = nn.Linear(4, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.hidden(self.embedding(x)).tanh())


class Reused(nn.Module):
    """One layer applied several times."""

    def __init__(self, times: int):
        super().__init__()
        self.layer, self.head, self.times = nn.Linear(4, 4), nn.Linear(4, 3), times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = self.layer(x).tanh()
        return self.head(x)


class ScaleAndShift(nn.Module):
    """Bare parameters: a scale, a shift and a scalar factor."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(4))
        self.shift = nn.Parameter(torch.randn(1, 4))
        self.number = nn.Parameter(torch.randn(()))
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((x * self.scale + self.shift).tanh() * self.number)


class ClassToken(nn.Module):
    """A class token before the others, and learned position embeddings."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, 4))
        self.positions = nn.Parameter(torch.randn(6, 4))
        self.inner, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.inner(x).tanh().mean(1))


class Bare(nn.Module):
    """A matrix used by ``@``, by einsum or by F.linear."""

    def __init__(self, form: str):
        super().__init__()
        self.form = form
        self.weight = nn.Parameter(torch.randn(4, 3) / 2)

    def forward(self, x: Tensor) -> Tensor:
        if self.form == "@":
            return (x @ self.weight).tanh()
        if self.form == "einsum":
            return torch.einsum("btd,dk->btk", x, self.weight).tanh()
        return F.linear(x, self.weight.T).tanh()


class Fused(nn.Module):
    """Bare parameters in addcmul, lerp and maximum."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(4))
        self.floor = nn.Parameter(torch.randn(1, 4))
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.addcmul(x, self.scale, x.flip(1), value=0.5).sin()
        h = h + torch.lerp(x, self.scale, 0.3) + torch.lerp(self.floor, x, x.sigmoid())
        return self.head(torch.maximum(h, self.floor))


class Unused(nn.Module):
    """A model with a layer and a bare parameter that the output does not depend on."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(4, 3), nn.Linear(4, 3)
        self.spare = nn.Parameter(torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.used(x)


class LoRA(nn.Module):
    """A frozen layer with a low-rank addition."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.down = nn.Linear(4, 2, bias=False)
        self.up = nn.Linear(2, 4, bias=False)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((self.base(x) + 0.5 * self.up(self.down(x))).relu())


class Bottleneck(nn.Module):
    """A residual adapter between frozen layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 5).requires_grad_(False)
        self.adapter = nn.Sequential(nn.Linear(5, 2), nn.GELU(), nn.Linear(2, 5))
        self.second = nn.Linear(5, 3).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        return self.second(h + self.adapter(h))


class Hypernetwork(nn.Module):
    """A linear layer with a computed weight: of each sample, or ``shared``: from a parameter."""

    def __init__(self, shared: bool):
        super().__init__()
        self.shared = shared
        self.code = nn.Parameter(torch.randn(2))
        self.maker = nn.Linear(2, 6)

    def forward(self, x: Tensor) -> Tensor:
        if self.shared:
            return F.linear(x[:, :2].tanh(), self.maker(self.code).view(3, 2))
        weight = self.maker(x[:, 2:] * self.code).view(-1, 3, 2)
        return torch.bmm(weight, x[:, :2, None]).squeeze(2)


class SummedEmbeddings(nn.Module):
    """Token, position and segment embeddings, summed, normalised and bagged."""

    def __init__(self):
        super().__init__()
        self.token, self.segment = nn.Embedding(9, 4), nn.Embedding(2, 4)
        self.position, self.norm = nn.Embedding(6, 4), nn.LayerNorm(4)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1])
        h = self.token(x) + self.position(positions) + self.segment(x % 2)
        return self.head(self.norm(h)).mean(1)


class Exponential(nn.Module):
    """A parametrisation by exp, so the entries are positive."""

    def forward(self, w: Tensor) -> Tensor:
        return w.exp()

    def right_inverse(self, w: Tensor) -> Tensor:
        return w.abs().log()


def frozen_between() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 3))
    model[2].requires_grad_(False)
    model[4].bias.requires_grad_(False)
    return model


def two_layers(first: nn.Module) -> nn.Module:
    return nn.Sequential(first, nn.Tanh(), nn.Linear(4, 3))


def exponential() -> nn.Module:
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", Exponential())
    return two_layers(layer)


CASES = (
    Case("tied embedding and head", Tied, ids(7, 6), (SQUARED, TOKEN_MEAN, LAST), length=6),
    Case("layer used twice", lambda: Reused(2), features(4), VECTOR),
    Case("layer used 6 times", lambda: Reused(6), features(6, 4), TOKENS, length=6),
    Case("frozen parameters", frozen_between, features(4), VECTOR),
    Case("bare scale and shift", ScaleAndShift, features(4), VECTOR),
    Case("class token, positions", ClassToken, features(5, 4), VECTOR, length=5),
    Case("bare weight, @", lambda: Bare("@"), features(4), VECTOR),
    Case("bare weight, @, 3-d input", lambda: Bare("@"), features(6, 4), ANY, length=6),
    Case("bare weight, einsum", lambda: Bare("einsum"), features(6, 4), ANY, length=6),
    Case("bare weight, F.linear", lambda: Bare("linear"), features(4), VECTOR),
    Case("bare, addcmul, lerp, maximum", Fused, features(4), VECTOR),
    Case("unused parameters", Unused, features(4), VECTOR),
    Case("LoRA", LoRA, features(4), ALL_VECTOR),
    Case("bottleneck adapter", Bottleneck, features(4), VECTOR),
    Case("hypernetwork, one weight", lambda: Hypernetwork(True), features(4), VECTOR),
    Case("hypernetwork, by sample", lambda: Hypernetwork(False), features(4), VECTOR),
    Case("summed embeddings", SummedEmbeddings, ids(9, 6), VECTOR, length=6),
    Case(
        "weight_norm",
        lambda: two_layers(parametrizations.weight_norm(nn.Linear(4, 4))),
        features(4),
        VECTOR,
    ),
    Case(
        "orthogonal",
        lambda: two_layers(parametrizations.orthogonal(nn.Linear(4, 4))),
        features(4),
        VECTOR,
    ),
    Case(
        "spectral_norm, eval",
        lambda: two_layers(parametrizations.spectral_norm(nn.Linear(4, 4))).eval(),
        features(4),
        VECTOR,
    ),
    Case("own parametrisation", exponential, features(4), VECTOR),
)
