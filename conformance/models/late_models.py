"""Sequences in which the model begins to mix or move samples at the third batch."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conformance.case import Case, Draw
from conformance.losses import CE, SQUARED
from conformance.models.batches import features
from conformance.models.operations import Between, Permute, whole

LATE = 2  # the step at which it begins


def weight_from(late: float, early: float = 0.0) -> Callable:
    """Return a batch function of x (B, 4) and a 0-d weight, from the third batch on ``late``."""

    def batch(draw: Draw, size: int, step: int) -> dict:
        value = torch.tensor(late if step >= LATE else early, dtype=torch.float64)
        return {"x": draw.normal(size, 4), "weight": value}

    return batch


def order_from(draw: Draw, size: int, step: int) -> dict:
    """x, and an order of the samples: the identity, from the third batch on a permutation."""
    order = draw.permutation(size) if step >= LATE else torch.arange(size)
    return {"x": draw.normal(size, 4), "order": order}


def matrix_from(draw: Draw, size: int, step: int) -> dict:
    """x, and a matrix, (B, B): the identity, from the third batch on a random one."""
    matrix = draw.normal(size, size) if step >= LATE else torch.eye(size, dtype=torch.float64)
    return {"x": draw.normal(size, 4), "matrix": matrix}


def flag_from(draw: Draw, size: int, step: int) -> dict:
    return {"x": draw.normal(size, 4), "late": step >= LATE}


def key_from(draw: Draw, size: int, step: int) -> dict:
    """x, and sorted keys, (B,): ascending, from the third batch on descending."""
    key = draw.uniform(size)
    return {"x": draw.normal(size, 4), "key": key.sort(descending=step >= LATE).values}


def missing_from(draw: Draw, size: int, step: int) -> dict:
    missing = torch.zeros(size, 1, dtype=torch.bool)
    missing[0] = step >= LATE
    return {"x": draw.normal(size, 4), "missing": missing}


def blend(h: Tensor, weight: Tensor) -> Tensor:
    return (1 - weight) * h + weight * h.flip(0)


def sparse(h: Tensor, matrix: Tensor) -> Tensor:
    return torch.sparse.mm(matrix.to_sparse(), h)


def scatter(h: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(h).scatter(0, order[:, None].expand_as(h), h.tanh())


def gather(h: Tensor, order: Tensor) -> Tensor:
    return h.gather(0, order[:, None].expand_as(h)).tanh()


def put(h: Tensor, order: Tensor) -> Tensor:
    out = torch.zeros_like(h)
    out[order] = h.tanh()
    return out


def strided(h: Tensor, late: bool) -> Tensor:
    """tanh of a square array, or of its transpose if ``late``, by as_strided."""
    n = len(h)
    return torch.as_strided(h.contiguous(), (n, n), (1, n) if late else (n, 1)).tanh()


def hooked(h: Tensor, late: bool) -> Tensor:
    if late and h.requires_grad:
        h.register_hook(lambda cotangent: cotangent - 0.5 * cotangent.mean(0))
    return h.tanh()


def neighbours(h: Tensor, weight: Tensor) -> Tensor:
    distances = ((h[:, None] - h[None]) ** 2).sum(2)
    return h + weight * (-distances).softmax(1) @ h


def distances(h: Tensor, weight: Tensor) -> Tensor:
    return h + weight * torch.cdist(h, h.flip(0)).mean(1, keepdim=True)


def batch_softmax(h: Tensor, weight: Tensor) -> Tensor:
    """h times B times the softmax of ``weight * h`` over the batch; h itself at weight 0."""
    return h * (weight * h).softmax(0) * len(h)


def batch_scale(h: Tensor, weight: Tensor) -> Tensor:
    """h over the batch's largest absolute entry, or over a bound (1000 at weight 0) if larger."""
    return h / h.abs().max().clamp(min=1e3 * (1 - weight) + 1e-3)


def masked_attention(h: Tensor, late: bool) -> Tensor:
    """Attention between samples; unless ``late``, the mask lets each attend to itself alone."""
    mask = torch.ones(len(h), len(h), dtype=torch.bool) if late else torch.eye(len(h)).bool()
    return F.scaled_dot_product_attention(h[None], h[None], h[None], attn_mask=mask)[0]


def fill(h: Tensor, missing: Tensor) -> Tensor:
    return torch.where(missing, h.mean(0), h).tanh()


def swap_in_place(h: Tensor, late: bool) -> Tensor:
    out = h.clone()
    if late:
        out[0] = h[0] * h[-1]
    return out.tanh()


class Gated(nn.Module):
    """Attention between samples, times a gate that starts at zero."""

    def __init__(self, fused: bool = True):
        super().__init__()
        self.fused = fused
        self.first, self.qkv, self.second = nn.Linear(4, 4), nn.Linear(4, 12), nn.Linear(4, 3)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        q, k, v = self.qkv(h)[None].chunk(3, -1)
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v)[0]
        else:
            mixed = (q[0] @ k[0].T / 2).softmax(1) @ v[0]
        return self.second(h + self.gate * mixed)


class Switch(nn.Module):
    """A Switch layer with dense dispatch; its router, at zero, sends all to the first expert."""

    def __init__(self):
        super().__init__()
        self.first, self.router, self.second = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 3)
        nn.init.zeros_(self.router.weight)
        nn.init.zeros_(self.router.bias)
        self.experts = nn.Parameter(torch.randn(2, 4, 4) / 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh()
        gates = self.router(h).softmax(1)
        chosen = F.one_hot(gates.argmax(1), 2)
        place = F.one_hot((chosen.cumsum(0) * chosen).sum(1) - 1, len(x))
        dispatch = (chosen[:, :, None] * place[:, None]).to(h.dtype)
        expert_in = torch.einsum("bec,bd->ecd", dispatch, h)
        expert_out = torch.einsum("ecd,edf->ecf", expert_in, self.experts).tanh()
        return self.second(torch.einsum("bec,be,ecf->bf", dispatch, gates, expert_out))


class Normalised(nn.Module):
    """A model with BatchNorm in evaluation mode, or in training mode if ``late``."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)

    def forward(self, x: Tensor, late: bool) -> Tensor:
        self.norm.train(late)
        return self.second(self.norm(self.first(x)).tanh())


class Deduplicated(nn.Module):
    """A model that computes the embedding of each different word once; at first all differ."""

    def __init__(self):
        super().__init__()
        self.embedding, self.first, self.second = (
            nn.Embedding(9, 4),
            nn.Linear(4, 4),
            nn.Linear(4, 3),
        )

    def forward(self, x: Tensor) -> Tensor:
        words, places = x.unique(return_inverse=True)
        return self.second(self.first(self.embedding(words)).tanh()[places])


def words(draw: Draw, size: int, step: int) -> dict:
    if step < LATE:
        return {"x": torch.arange(size) + step}
    return {"x": torch.cat([torch.tensor([3, 1, 3]), draw.integers(0, 9, size - 3)])}


def late(name: str, operation: Callable, batch: Callable, kind: str = "mix", **options) -> Case:
    return Case(
        f"late: {name}",
        lambda: Between(operation),
        batch,
        (SQUARED, CE),
        whole,
        mixing=True,
        late=kind,
        **options,
    )


def late_model(name: str, make: Callable, batch: Callable, kind: str = "mix", **options) -> Case:
    options = {"mixing": True, **options}
    return Case(f"late: {name}", make, batch, (SQUARED, CE), whole, late=kind, **options)


MATRIX = {"axes": {"matrix": None}}

CASES = (
    late("blend with flip", blend, weight_from(0.4)),
    late("A @ h", lambda h, matrix: (matrix @ h).tanh(), matrix_from, **MATRIX),
    late("A @ h, sparse", sparse, matrix_from, **MATRIX),
    late("custom Function permutes", lambda h, order: Permute.apply(h, order), order_from),
    late("index_select", lambda h, order: h.index_select(0, order), order_from),
    late("gather along samples", gather, order_from),
    late("scatter along samples", scatter, order_from),
    late("index_put", put, order_from),
    late("argsort of a key", lambda h, key: h[key.argsort()].tanh(), key_from),
    late("roll", lambda h, late: h.tanh().roll(int(late), 0), flag_from),
    late("as_strided, width = B", strided, flag_from, sizes=(4, 4, 4, 4)),
    late("tensor hook", hooked, flag_from),
    late("distances between samples", neighbours, weight_from(0.5)),
    late("cdist", distances, weight_from(0.5)),
    late("softmax over the batch", batch_softmax, weight_from(1.0)),
    late("scale of the batch", batch_scale, weight_from(1.0)),
    late("attention mask opens", masked_attention, flag_from),
    late("missing filled by mean", fill, missing_from),
    late("in place between samples", swap_in_place, flag_from),
    late_model("gated attention, SGD", Gated, features(4), sgd=(2, 3)),
    late_model(
        "gated attention by hand, SGD", lambda: Gated(False), features(4), sgd=(2, 3), rate=1.0
    ),
    late_model("BatchNorm switched to train", Normalised, flag_from),
    late_model("Switch router at zero, SGD", Switch, features(4), "route", sgd=(2, 3), rate=2.0),
    late_model("unique words", Deduplicated, words, "route", mixing=False),
)
