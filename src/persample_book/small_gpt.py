"""A GPT-2 in miniature, in plain PyTorch: what the page about transformers asks for rows.

Separate so that the page can begin with its question; it shows this file whole.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """Attention to the tokens so far, then two layers at each position: (B, T, d) to the same."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, h: Tensor) -> Tensor:
        qkv = self.qkv(self.norm1(h)).unflatten(2, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.out(a.transpose(1, 2).flatten(2))
        return h + self.down(F.gelu(self.up(self.norm2(h))))


class GPT(nn.Module):
    """Tokens (B, T) -> scores of the next token (B, T, words)."""

    def __init__(self, words: int, length: int, d: int = 64, heads: int = 4, depth: int = 2):
        super().__init__()
        self.token = nn.Embedding(words, d)
        self.position = nn.Embedding(length, d)
        self.blocks = nn.Sequential(*[Block(d, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, words, bias=False)
        self.head.weight = self.token.weight  # one table, used twice

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        h = self.token(tokens) + self.position(places)
        return self.head(self.norm(self.blocks(h)))


def drawn(model: nn.Module, rng: np.random.Generator) -> nn.Module:
    """Draw the weights as most of GPT-2's are at its start: deviation 0.02, biases zero."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim == 2:  # tables and matrices
                p.copy_(torch.from_numpy(rng.normal(scale=0.02, size=p.shape)))
            elif name.endswith("bias"):
                p.zero_()
    return model
