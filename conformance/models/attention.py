"""Attention and transformers."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conformance.case import Case
from conformance.losses import ALL_TOKENS, INFO_NCE, LAST, SQUARED, TOKEN_SUM, TOKENS
from conformance.models.batches import features, ids, ragged_features, with_count

WIDTH, LENGTH = 8, 6


def causal(length: int) -> Tensor:
    """Return the causal mask, (length, length): True where attention is not allowed."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class Attention(nn.Module):
    """nn.MultiheadAttention and a linear head; causal, or padding masked if ``count`` is given."""

    def __init__(self, batch_first: bool = True):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=batch_first)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor, count: Tensor | None = None) -> Tensor:
        masks = {"attn_mask": causal(LENGTH)}
        if count is not None:
            masks = {"key_padding_mask": torch.arange(LENGTH) >= count[:, None]}
        return self.head(self.attention(x, x, x, need_weights=False, **masks)[0])


class OwnAttention(nn.Module):
    """Causal attention written with F.scaled_dot_product_attention or with softmax."""

    def __init__(self, fused: bool):
        super().__init__()
        self.fused = fused
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(x).view(len(x), x.shape[1], 3, 2, WIDTH // 2)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if self.fused:
            h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / 2
            h = scores.masked_fill(causal(x.shape[1]), -1e9).softmax(3) @ v
        return self.out(h.transpose(1, 2).flatten(2))


class LanguageModel(nn.Module):
    """A one-block causal transformer, written by hand, with learned position embeddings."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(9, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 12), nn.GELU(), nn.Linear(12, WIDTH))
        self.head = nn.Linear(WIDTH, 9)

    def forward(self, x: Tensor) -> Tensor:
        h = self.token(x) + self.position(torch.arange(x.shape[1]))
        q, k, v = self.qkv(self.norms[0](h)).chunk(3, -1)
        h = h + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.head(h + self.mlp(self.norms[1](h)))


class Encoder(nn.Module):
    """nn.TransformerEncoderLayer and a head."""

    def __init__(self, **options):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            WIDTH, 2, 12, dropout=0.0, **{"batch_first": True, **options}
        )
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor, count: Tensor | None = None) -> Tensor:
        masks = {}
        if count is not None:
            masks = {"src_key_padding_mask": torch.arange(LENGTH) >= count[:, None]}
        return self.head(self.layer(x, **masks))


class PerceiverPool(nn.Module):
    """Learned queries that attend to each sample's tokens."""

    def __init__(self):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(2, WIDTH))
        self.kv, self.head = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        k, v = self.kv(x).chunk(2, -1)
        q = self.queries.expand(len(x), -1, -1)
        return self.head(F.scaled_dot_product_attention(q, k, v))


def transposed(model, batch: dict) -> Tensor:
    return model(batch["x"]).transpose(0, 1)


TOKEN_BATCH = features(LENGTH, WIDTH)
RAGGED = ragged_features(LENGTH, WIDTH)

CASES = (
    Case("MultiheadAttention, causal", Attention, TOKEN_BATCH, TOKENS, length=LENGTH),
    Case(
        "MultiheadAttention, padding",
        Attention,
        RAGGED,
        (SQUARED, TOKEN_SUM),
        with_count,
        length=LENGTH,
    ),
    Case(
        "MultiheadAttention, sequence first",
        lambda: Attention(batch_first=False),
        lambda draw, size, step: {"x": draw.normal(LENGTH, size, WIDTH)},
        TOKENS,
        transposed,
        length=LENGTH,
        axes={"x": 1},
    ),
    Case("attention, fused", lambda: OwnAttention(True), TOKEN_BATCH, TOKENS, length=LENGTH),
    Case("attention, softmax", lambda: OwnAttention(False), TOKEN_BATCH, TOKENS, length=LENGTH),
    Case(
        "language model",
        LanguageModel,
        ids(9, LENGTH),
        (*ALL_TOKENS, INFO_NCE),
        length=LENGTH,
    ),
    Case("TransformerEncoderLayer", Encoder, TOKEN_BATCH, TOKENS, length=LENGTH),
    Case(
        "TransformerEncoderLayer, norm first, padding",
        lambda: Encoder(norm_first=True),
        RAGGED,
        (SQUARED, TOKEN_SUM),
        with_count,
        length=LENGTH,
    ),
    Case("learned queries", PerceiverPool, TOKEN_BATCH, (SQUARED, LAST), length=2),
)
