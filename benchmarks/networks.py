"""The models that are measured, by name: beside a `Case`, a GPT and a ViT in PyTorch and in JAX.

They are written so that every peer can run them: no parameter is shared or outside of a layer.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from contenders import Case
from torch import Tensor, nn


class Block(nn.Module):
    """A pre-norm transformer block: attention, then an MLP."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(self.norm1(x)).unflatten(2, (3, self.heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        h = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(h.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """Token ids (B, T) -> logits of the next token (B, T, vocabulary size)."""

    def __init__(self, words: int, length: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device).repeat(len(tokens), 1)
        x = self.token(tokens) + self.position(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Added(nn.Module):
    """A learned array added to every sample, such as the position embedding of a ViT."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(shape))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight


class ViT(nn.Module):
    """Images (B, 3, side, side) -> logits (B, 10), from the mean over the patches."""

    def __init__(self, side: int, patch: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.position = Added((side // patch) ** 2, width)
        self.blocks = nn.ModuleList(Block(width, heads, False) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.position(self.patches(images).flatten(2).transpose(1, 2))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


@dataclass(frozen=True)
class WholeModel(Case):
    """A `GPT` or `ViT`: ``widths`` is its name, ``sizes`` are the arguments of its class."""

    sizes: tuple[int, ...] = ()

    def of_size(self, size: int) -> "WholeModel":
        return replace(self, size=size)

    def model(self) -> nn.Module:
        torch.manual_seed(0)
        return (GPT if self.widths == "GPT" else ViT)(*self.sizes).to(self.device)

    def batch(self) -> tuple[Tensor, Tensor]:
        rng = np.random.default_rng(0)
        if self.widths == "GPT":
            words, length = self.sizes[:2]
            tokens = torch.tensor(rng.integers(0, words, (self.size, length + 1)))
            x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        else:
            side = self.sizes[0]
            x = torch.tensor(rng.normal(size=(self.size, 3, side, side)), dtype=torch.float32)
            y = torch.tensor(rng.integers(0, 10, self.size))
        return x.to(self.device), y.to(self.device)

    def losses(self, output: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of each sample, (B,); for a GPT the mean over its tokens."""
        if self.widths == "GPT":
            return F.cross_entropy(output.transpose(1, 2), y, reduction="none").mean(1)
        return F.cross_entropy(output, y, reduction="none")

    def jax_loss(self, params: dict, x: np.ndarray, y: np.ndarray):
        """Return the loss of one sample in JAX, 0-d, from parameters with PyTorch's names."""
        import jax
        import jax.numpy as jnp

        def linear(name, x):
            y = x @ params[f"{name}.weight"].T
            return y + params[f"{name}.bias"] if f"{name}.bias" in params else y

        def norm(name, x):
            x = x - x.mean(-1, keepdims=True)
            x = x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5)
            return x * params[f"{name}.weight"] + params[f"{name}.bias"]

        def block(name, x):
            parts = linear(f"{name}.qkv", norm(f"{name}.norm1", x))
            q, k, v = jnp.moveaxis(parts.reshape(len(x), 3, heads, -1), 1, 0)
            h = jax.nn.dot_product_attention(q, k, v, is_causal=self.widths == "GPT")
            x = x + linear(f"{name}.out", h.reshape(x.shape))
            h = jax.nn.gelu(linear(f"{name}.up", norm(f"{name}.norm2", x)), approximate=False)
            return x + linear(f"{name}.down", h)

        *_, heads, depth = self.sizes
        if self.widths == "GPT":
            x = params["token.weight"][x] + params["position.weight"][: len(x)]
        else:
            weight, step = params["patches.weight"], self.sizes[1]
            x = jax.lax.conv(x[None], weight, (step, step), "VALID")[0]
            x = x.reshape(len(x), -1).T + params["patches.bias"] + params["position.weight"]
        for n in range(depth):
            x = block(f"blocks.{n}", x)
        x = norm("norm", x)
        scores = linear("head", x if self.widths == "GPT" else x.mean(0)[None])
        chosen = jnp.take_along_axis(scores, jnp.atleast_1d(y)[:, None], 1)[:, 0]
        return (jax.nn.logsumexp(scores, 1) - chosen).mean()


# Name -> model and batch. A GPT's sizes: vocabulary, tokens, width, heads, blocks; a ViT's:
# side and patch in pixels, width, heads, blocks.
CPU = {
    "GPT, small": WholeModel("GPT", 16, "cpu", (65, 64, 64, 4, 2)),
    "GPT, medium": WholeModel("GPT", 8, "cpu", (1000, 128, 256, 8, 4)),
    "ViT": WholeModel("ViT", 32, "cpu", (32, 4, 128, 4, 4)),
    "CNN": Case("cnn", 64),
    "MLP": Case((784, 256, 10), 256),
}
GPU = {
    "GPT, 124 million": WholeModel("GPT", 8, "cuda", (50_257, 1024, 768, 12, 12)),
    "GPT, medium": WholeModel("GPT", 64, "cuda", (1000, 128, 256, 8, 4)),
    "ViT": WholeModel("ViT", 256, "cuda", (224, 16, 384, 6, 12)),
    "CNN": Case("cnn", 1024, "cuda"),
    "MLP": Case((784, 256, 10), 4096, "cuda"),
}
MODELS = {
    "784-256-10, B = 256": Case((784, 256, 10), 256),
    "784-256-10, B = 1024": Case((784, 256, 10), 1024),
    "1024-1024-1024-10, B = 32": Case((1024, 1024, 1024, 10), 32),
    "22 layers of 64, B = 256": Case((64,) * 23, 256),
    "22 layers of 64, B = 1024": Case((64,) * 23, 1024),
    "CNN, B = 64": Case("cnn", 64),
    "GPT, B = 16, T = 64": WholeModel("GPT", 16, "cpu", (65, 64, 64, 4, 2)),
    "GPT, B = 16, T = 16": WholeModel("GPT", 16, "cpu", (65, 16, 64, 4, 2)),
}
