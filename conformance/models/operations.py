"""Single operations between two layers: in place, indexed, reshaped, complex, custom."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conformance.case import Case, Draw
from conformance.losses import ANY, CE, SQUARED
from conformance.models.batches import features


class Between(nn.Module):
    """A linear layer, an operation on its output and the batch's other entries, a linear layer."""

    def __init__(self, operation: Callable, width: int = 4, out: int = 4):
        super().__init__()
        self.operation = operation
        self.first, self.second = nn.Linear(4, width), nn.Linear(out, 3)

    def forward(self, x: Tensor, **others: Tensor) -> Tensor:
        return self.second(self.operation(self.first(x), **others))


class Softclip(torch.autograd.Function):
    """x / (1 + |x|) as a custom Function."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x / (1 + x.abs())

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, cotangent: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return cotangent / (1 + x.abs()) ** 2


class Permute(torch.autograd.Function):
    """h[order] as a custom Function; it moves samples."""

    @staticmethod
    def forward(h: Tensor, order: Tensor) -> Tensor:
        return h[order]

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:
        ctx.order = inputs[1]

    @staticmethod
    def backward(ctx, cotangent: Tensor) -> tuple:
        return cotangent[ctx.order.argsort()], None


def set_columns(h: Tensor) -> Tensor:
    out = h.clone()
    out[:, 0] = h[:, 1] * h[:, 2]
    out[:, 3] += 1.0
    return out.tanh()


def in_place(h: Tensor) -> Tensor:
    return torch.relu_(h.mul_(2.0))


def where(h: Tensor) -> Tensor:
    return torch.where(h > 0, h * h, h.roll(1, 1))


def sort_features(h: Tensor) -> Tensor:
    return h.sort(1).values.cumsum(1)


def gather_features(h: Tensor, index: Tensor) -> Tensor:
    return h.gather(1, index).tanh()


def pixel_shuffle(h: Tensor) -> Tensor:
    return F.pixel_shuffle(h.view(len(h), 4, 2, 2), 2).flatten(1).tanh()


def unfold(h: Tensor) -> Tensor:
    return F.unfold(h.view(len(h), 1, 4, 4), 2).sum(2).tanh()


def slide(h: Tensor) -> Tensor:
    return h.unfold(1, 2, 1).prod(2)


def fourier(h: Tensor) -> Tensor:
    spectrum = torch.fft.rfft(h, dim=1)
    return torch.fft.irfft(spectrum * torch.polar(spectrum.abs(), spectrum.angle()), n=4, dim=1)


def mean_free(h: Tensor) -> Tensor:
    return ((h - h.mean(1, keepdim=True)) / h.std(1, keepdim=True)).tanh()


def outer(h: Tensor) -> Tensor:
    return torch.einsum("bi,bj->bij", h, h).flatten(1).tanh()


def solve(h: Tensor) -> Tensor:
    matrix = torch.eye(4, dtype=h.dtype) + 0.1 * h[:, :, None] * h[:, None, :]
    return torch.linalg.solve(matrix, h[..., None]).squeeze(2)


def detached(h: Tensor) -> Tensor:
    return h * h.detach().abs().amax(1, keepdim=True).reciprocal()


def max_min(h: Tensor) -> Tensor:
    return torch.cat([h.max(1, keepdim=True).values, h.topk(3, 1).values], 1)


def with_index(draw: Draw, size: int, step: int) -> dict:
    return {"x": draw.normal(size, 4), "index": draw.integers(0, 4, size, 4)}


def with_order(draw: Draw, size: int, step: int) -> dict:
    return {"x": draw.normal(size, 4), "order": draw.permutation(size)}


def whole(model, batch: dict) -> Tensor:
    """Call a model with x and, by keyword, the batch's other entries except the targets."""
    others = {k: v for k, v in batch.items() if k not in ("x", "y", "w")}
    return model(batch["x"], **others)


def case(name: str, operation: Callable, width: int = 4, out: int = 4, **options) -> Case:
    options = {"batch": features(4), "losses": (SQUARED, CE), **options}
    return Case(name, lambda: Between(operation, width, out), call=whole, **options)


CASES = (
    case("h[:, 0] = ...", set_columns),
    case("in place: mul_, relu_", in_place),
    case("torch.where, roll", where),
    case("sort, cumsum along features", sort_features),
    case("gather along features", gather_features, batch=with_index),
    case("pixel shuffle", pixel_shuffle, 16, 16, length=2),
    case("unfold of images", unfold, 16),
    case("unfold of vectors", slide, 4, 3, length=3),
    case("complex: rfft", fourier),
    case("standardised features", mean_free),
    case("outer product of features", outer, 4, 16),
    case("linear solve by sample", solve),
    case("detached scale", detached),
    case("max, topk along features", max_min),
    case("custom Function, elementwise", Softclip.apply, losses=ANY),
    case(
        "custom Function, permutes samples",
        lambda h, order: Permute.apply(h, order),
        batch=with_order,
        mixing=True,
    ),
    case("index_select of samples", lambda h, order: h[order], batch=with_order, mixing=True),
)
