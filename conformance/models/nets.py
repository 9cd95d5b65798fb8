"""Whole small networks, checkpointed blocks, 16 bits, and other shapes of a batch."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from conformance.case import SINGLE, Case, Draw
from conformance.losses import ALL_VECTOR, CE, MIXING, ONE_BY_ONE, SQUARED, TOKENS, VECTOR
from conformance.models.batches import features


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, padding=1, bias=False),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )


class Residual(nn.Module):
    """Two residual blocks with GroupNorm and a shortcut of stride 2."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(2, 4), nn.GroupNorm(2, 6)])
        self.convs = nn.ModuleList([nn.Conv2d(4, 4, 3, 1, 1), nn.Conv2d(4, 6, 3, 2, 1)])
        self.shortcut, self.head = nn.Conv2d(4, 6, 1, 2), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = x + self.norms[0](self.convs[0](x)).relu()
        x = self.shortcut(x) + self.norms[1](self.convs[1](x)).relu()
        return self.head(x.mean((2, 3)))


class Checkpointed(nn.Module):
    """A layer, a checkpointed block, a head.

    Without ``stem`` the block takes the input itself; the reentrant form then computes a gradient
    only if the input requires one (``leaf``).
    """

    def __init__(self, reentrant: bool, stem: bool = True, leaf: bool = False):
        super().__init__()
        self.reentrant, self.leaf = reentrant, leaf
        self.stem = nn.Linear(4, 4) if stem else nn.Identity()
        self.block = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 4))
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        if self.leaf:
            x = x.detach().requires_grad_()
        return self.head(checkpoint(self.block, self.stem(x), use_reentrant=self.reentrant))


class FromDict(nn.Module):
    """A model that takes two inputs and a mask in a dict."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(4, 5), nn.Linear(3, 5), nn.Linear(5, 3)

    def forward(self, inputs: dict) -> Tensor:
        h = self.left(inputs["a"]) + inputs["mask"][:, None] * self.right(inputs["b"])
        return self.head(h.tanh())


class Merged(nn.Module):
    """Two layers with batch and positions merged into one axis, split again at the end."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x.reshape(-1, x.shape[2])).tanh()
        return self.second(h).reshape(x.shape[0], x.shape[1], 3)


class Frames(nn.Module):
    """A convolution on video frames merged into the batch axis, averaged over each video."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 3, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv(x.flatten(0, 1)).relu().mean((2, 3))
        return self.head(h.unflatten(0, x.shape[:2]).mean(1))


class Siamese(nn.Module):
    """Both halves of each sample through one encoder, joined along the batch axis."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(2, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        left, right = self.encoder(torch.cat([x[:, :2], x[:, 2:]])).tanh().chunk(2)
        return self.head(left * right)


class Views(nn.Module):
    """Two views of each sample, joined along the batch axis and compared as slices."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        z = self.head(self.encoder(torch.cat([x, 2 * x + 1])).tanh())
        return (z[: len(x)] - z[len(x) :]).square() + z[: len(x)]


def inputs(draw: Draw, size: int, step: int) -> dict:
    mask = draw.uniform(size).round()
    return {"a": draw.normal(size, 4), "b": draw.normal(size, 3), "mask": mask}


SIXTEEN = 8 * torch.finfo(torch.bfloat16).eps
BF16 = {"dtype": torch.bfloat16, "tolerance": SIXTEEN}
AUTOCAST = {"dtype": torch.float32, "autocast": True, "tolerance": SIXTEEN}

CASES = (
    Case("MLP", mlp, features(4), (*ALL_VECTOR, *MIXING)),
    Case("MLP, float32", mlp, features(4), VECTOR, **SINGLE),
    Case("MLP, losses one by one", mlp, features(4), ONE_BY_ONE),
    Case("convolutional, GroupNorm", convolutional, features(2, 6, 6), (*VECTOR, *MIXING)),
    Case("residual, GroupNorm", Residual, features(2, 6, 6), VECTOR, length=6),
    Case("checkpoint", lambda: Checkpointed(False), features(4), VECTOR),
    Case("checkpoint, reentrant", lambda: Checkpointed(True), features(4), VECTOR),
    Case(
        "checkpoint, reentrant, input with grad",
        lambda: Checkpointed(True, stem=False, leaf=True),
        features(4),
        (SQUARED, CE),
    ),
    Case(
        "checkpoint, reentrant, input without grad",
        lambda: Checkpointed(True, stem=False),
        features(4),
        (SQUARED, CE),
    ),
    Case(
        "checkpoint, input with grad",
        lambda: Checkpointed(False, stem=False, leaf=True),
        features(4),
        (SQUARED, CE),
    ),
    Case("bfloat16 MLP", mlp, features(4), VECTOR, **BF16),
    Case("bfloat16 convolutional", convolutional, features(2, 6, 6), (SQUARED, CE), **BF16),
    Case("autocast MLP", mlp, features(4), VECTOR, **AUTOCAST),
    Case(
        "dict of inputs",
        FromDict,
        inputs,
        VECTOR,
        lambda model, batch: model({k: batch[k] for k in ("a", "b", "mask")}),
    ),
    Case("merged batch", Merged, features(6, 4), TOKENS, length=6),
    Case("merged frames", Frames, features(4, 1, 5, 5), VECTOR),
    Case("siamese, halves stacked", Siamese, features(4), VECTOR, length=2),
    Case("two views, slices", Views, features(4), VECTOR, length=2),
)
