"""Single layers."""

import torch
from torch import Tensor, nn

from conformance.case import SINGLE, Case
from conformance.losses import ANY, CE, MIXING, SQUARED, VECTOR
from conformance.models.batches import features, ids, own_ids, ragged_ids, with_count


class RaggedBag(nn.Module):
    """EmbeddingBag over bags of different lengths, given by offsets."""

    def __init__(self, mode: str):
        super().__init__()
        self.bag = nn.EmbeddingBag(8, 3, mode=mode)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        inside = torch.arange(x.shape[1]) < count[:, None]
        return self.bag(x[inside], count.cumsum(0) - count)


class WeightedBag(nn.Module):
    """EmbeddingBag with ``per_sample_weights``: each index is weighted by its cosine."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(8, 3, mode="sum")

    def forward(self, x: Tensor) -> Tensor:
        return self.bag(x, per_sample_weights=torch.cos(x.to(self.bag.weight.dtype)))


class TwoInputs(nn.Module):
    """Bilinear of the two halves of the input."""

    def __init__(self):
        super().__init__()
        self.bilinear = nn.Bilinear(3, 3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.bilinear(x[:, :3], x[:, 3:])


def paddings() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"),
        nn.Conv2d(3, 3, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(3, 2, 3, padding=1, padding_mode="replicate"),
    )


def drawn(module: nn.Module) -> nn.Module:
    """Draw parameters, N(0.5, 1), and floating-point buffers in place; return the module."""
    for p in module.parameters():
        nn.init.normal_(p, 0.5)
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point():
            nn.init.uniform_(buffer, 0.5, 1.5) if "var" in name else nn.init.normal_(buffer)
    return module


CASES = (
    Case("Linear", lambda: nn.Linear(4, 3), features(4), (*VECTOR, *MIXING)),
    Case("Linear, no bias", lambda: nn.Linear(4, 3, bias=False), features(4), VECTOR),
    Case("Linear, 3-d input", lambda: nn.Linear(4, 3), features(6, 4), ANY, length=6),
    Case("Linear, 4-d input", lambda: nn.Linear(4, 3), features(3, 2, 4), ANY, length=3),
    Case(
        "Conv1d, stride, padding",
        lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1),
        features(3, 8),
        ANY,
        length=8,
    ),
    Case("Conv2d", lambda: nn.Conv2d(2, 4, 3, padding=1, bias=False), features(2, 5, 5), ANY),
    Case(
        "Conv2d, groups, dilation",
        lambda: nn.Conv2d(4, 4, 3, groups=2, dilation=2, padding="same"),
        features(4, 6, 6),
        ANY,
        length=6,
    ),
    Case("Conv2d, depthwise", lambda: nn.Conv2d(4, 8, 3, groups=4), features(4, 5, 5), ANY),
    Case("Conv2d, padding modes", paddings, features(2, 5, 5), ANY, length=5),
    Case(
        'Conv1d, padding="same"',
        lambda: nn.Conv1d(3, 4, 3, padding="same"),
        features(3, 8),
        ANY,
        length=8,
    ),
    Case("Conv3d", lambda: nn.Conv3d(2, 3, (2, 3, 2), stride=2), features(2, 4, 5, 4), ANY),
    Case("ConvTranspose1d", lambda: nn.ConvTranspose1d(3, 2, 3, 2, 1), features(3, 5), ANY),
    Case(
        "ConvTranspose2d, groups",
        lambda: nn.ConvTranspose2d(4, 4, 3, 2, output_padding=1, groups=2),
        features(4, 3, 3),
        ANY,
    ),
    Case("ConvTranspose3d", lambda: nn.ConvTranspose3d(2, 2, 2), features(2, 3, 2, 3), ANY),
    Case("Embedding", lambda: nn.Embedding(8, 3, padding_idx=0), ids(8, 6), ANY, length=6),
    Case("Embedding, no padding", lambda: nn.Embedding(8, 3), ids(8, 6), ANY, length=6),
    Case("Embedding, float32", lambda: nn.Embedding(8, 3), ids(8, 6), ANY, length=6, **SINGLE),
    Case("Embedding, one id", lambda: nn.Embedding(8, 3), ids(8), (SQUARED, CE)),
    # PyTorch counts ids over the whole batch; no id is in two samples, so rows are unambiguous.
    Case(
        "Embedding, scale_grad_by_freq",
        lambda: nn.Embedding(21, 3, scale_grad_by_freq=True),
        own_ids(3, 6),
        ANY,
        length=6,
    ),
    Case("EmbeddingBag, sum", lambda: nn.EmbeddingBag(8, 3, mode="sum"), ids(8, 6), (SQUARED, CE)),
    Case("EmbeddingBag, mean", lambda: nn.EmbeddingBag(8, 3), ids(8, 6), (SQUARED, CE), length=6),
    Case("EmbeddingBag, max", lambda: nn.EmbeddingBag(8, 3, mode="max"), ids(8, 6), (SQUARED, CE)),
    Case("EmbeddingBag, weighted", WeightedBag, ids(8, 6), (SQUARED, CE), length=6),
    Case(
        "EmbeddingBag, sum, offsets",
        lambda: RaggedBag("sum"),
        ragged_ids(8, 6),
        (SQUARED, CE),
        with_count,
        length=6,
    ),
    Case(
        "EmbeddingBag, mean, offsets",
        lambda: RaggedBag("mean"),
        ragged_ids(8, 6),
        (SQUARED, CE),
        with_count,
        length=6,
    ),
    Case("LayerNorm", lambda: drawn(nn.LayerNorm(4)), features(4), VECTOR),
    Case("LayerNorm, 3-d input", lambda: drawn(nn.LayerNorm((6, 4))), features(6, 4), ANY),
    Case("GroupNorm", lambda: drawn(nn.GroupNorm(2, 4)), features(4, 3, 3), ANY),
    Case("InstanceNorm", lambda: drawn(nn.InstanceNorm2d(3, affine=True)), features(3, 4, 4), ANY),
    Case("RMSNorm", lambda: drawn(nn.RMSNorm(4)), features(6, 4), ANY, length=6),
    Case("Bilinear", TwoInputs, features(6), VECTOR),
    Case("PReLU", lambda: nn.PReLU(4), features(4, 5), ANY),
    Case("BatchNorm, eval", lambda: drawn(nn.BatchNorm2d(3)).eval(), features(3, 4, 4), ANY),
    Case(
        "BatchNorm, train",
        lambda: nn.Sequential(nn.Conv1d(3, 3, 1), drawn(nn.BatchNorm1d(3))),
        features(3, 4),
        ANY,
        mixing=True,
    ),
)
