"""Sequences whose loss mixes or moves samples, or texts change length, from the third batch on."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conformance.case import Case, Draw, Loss
from conformance.losses import CE, SQUARED, info_nce, like_output, squared_error
from conformance.models.batches import with_count
from conformance.models.late_models import LATE, weight_from
from conformance.models.operations import whole

FORMS = (
    "one_hot.T @ l",
    "mask * l",
    "where",
    "segment_reduce",
    "embedding_bag",
    "sparse.mm",
    "index_add",
    "split",
    "cumsum",
)


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def contrastive(out: Tensor, batch: dict) -> Tensor:
    return squared_error(out, batch) + batch["weight"] * info_nce(out, batch)


def hinge(out: Tensor, batch: dict) -> Tensor:
    """Squared errors plus a hinge penalty on the batch's mean outputs: (B,).

    Its bound is 100 at weight 0 and -10 at weight 0.5, from the third batch on.
    """
    bound = 100 - 220 * batch["weight"]
    return squared_error(out, batch) + F.relu(out.mean(0) - bound).sum()


def less_mean(out: Tensor, batch: dict) -> Tensor:
    losses = squared_error(out, batch)
    return losses - batch["weight"] * losses.mean()


def softmax_weights(out: Tensor, batch: dict) -> Tensor:
    """Squared errors times B times the softmax over the batch of ``weight`` times them: (B,)."""
    losses = squared_error(out, batch)
    return losses * (batch["weight"] * losses).softmax(0) * len(losses)


def scaled(out: Tensor, batch: dict) -> Tensor:
    """Squared errors times a loss scale, 1 + 127 ``weight``, as with GradScaler: (B,)."""
    return squared_error(out, batch) * (1 + 127 * batch["weight"])


def sorted_losses(out: Tensor, batch: dict) -> Tensor:
    return squared_error(out, batch).sort().values


def extremes(out: Tensor, batch: dict) -> Tensor:
    losses = squared_error(out, batch)
    return torch.stack([losses.max(), losses.min()])


def graded(descending: bool) -> Callable:
    """Return a function that draws targets increasing along the batch, or decreasing.

    From the third batch on the direction is reversed.
    """

    def targets(draw: Draw, shape: tuple, batch: dict) -> dict:
        grade = 3.0 * torch.arange(shape[0], dtype=torch.float64)[:, None] ** 2
        flip = bool(batch["weight"]) != descending
        return {"y": 3.0 + draw.uniform(*shape) + (grade.flip(0) if flip else grade)}

    return targets


def loss_only(model: nn.Module, batch: dict) -> Tensor:
    return model(batch["x"])


def late(name: str, compute: Callable, targets=like_output, kind: str = "mix", **options) -> Case:
    loss = Loss(name, compute, targets)
    batch = weight_from(1.0 if kind in ("move", "scale") else 0.5)
    options = {"mixing": True, "call": loss_only, **options}
    return Case(f"late: {name}", net, batch, (loss,), late=kind, **options)


class Hooked(nn.Module):
    """A model with a hook on a parameter, from the third batch on, that masks its gradient."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 3)
        self.handle = None

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.handle is not None:
            self.handle.remove()
        if weight > 0 and self.first.weight.requires_grad:
            self.handle = self.first.weight.register_hook(lambda g: g * (g > 0))
        return self.second(self.first(x).tanh())


def packed(draw: Draw, size: int, step: int) -> dict:
    """Draw texts of three tokens; from the third batch on of one to five, with the same total."""
    count = torch.full((size,), 3)
    if step >= LATE:
        count = torch.tensor([2, 4, 3, 1, 5])[:size]
    return {"x": draw.normal(size, 5, 4), "count": count}


class PackedNet(nn.Module):
    """An MLP on all valid tokens of the batch in one array: (N, 4) -> (N, 3)."""

    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        inside = torch.arange(x.shape[1]) < count[:, None]
        return self.net(x[inside])


def token_losses(out: Tensor, batch: dict) -> Tensor:
    return (out**2).sum(1) + out.sin().sum(1)


def sum_by_text(form: str) -> Callable:
    """Return a loss that sums the token losses of each text, (B,), in the way named ``form``."""

    def losses(out: Tensor, batch: dict) -> Tensor:
        token, count = token_losses(out, batch), batch["count"]
        owner = torch.arange(len(count)).repeat_interleave(count)
        belongs = owner == torch.arange(len(count))[:, None]
        if form == "one_hot.T @ l":
            return F.one_hot(owner, len(count)).to(token.dtype).T @ token
        if form == "mask * l":
            return (belongs * token).sum(1)
        if form == "where":
            return torch.where(belongs, token, token.new_zeros(())).sum(1)
        if form == "segment_reduce":
            return torch.segment_reduce(token, "sum", lengths=count)
        if form == "embedding_bag":
            places = torch.arange(len(token))
            starts = count.cumsum(0) - count
            return F.embedding_bag(places, token[:, None], starts, mode="sum")[:, 0]
        if form == "sparse.mm":
            return torch.sparse.mm(belongs.to(token.dtype).to_sparse(), token[:, None])[:, 0]
        if form == "index_add":
            return token.new_zeros(len(count)).index_add(0, owner, token)
        if form == "split":
            return torch.stack([part.sum() for part in token.split(count.tolist())])
        total = torch.cat([token.new_zeros(1), token.cumsum(0)])
        return total[count.cumsum(0)] - total[count.cumsum(0) - count]

    return losses


def packed_case(form: str) -> Case:
    loss = Loss(form, sum_by_text(form))
    return Case(f"late: lengths, {form}", PackedNet, packed, (loss,), with_count, late="length")


CASES = (
    late("contrastive", contrastive),
    late("hinge on the batch mean", hinge),
    late("less batch mean", less_mean),
    late("softmax of losses", softmax_weights),
    late("sorted losses", sorted_losses, graded(False), "move"),
    late("stack([max, min])", extremes, graded(True), "move", sizes=(2, 2, 2, 2)),
    late("loss scale", scaled, kind="scale", mixing=False),
    Case(
        "late: parameter hook",
        Hooked,
        weight_from(1.0),
        (SQUARED, CE),
        whole,
        late="hook",
    ),
    *(packed_case(form) for form in FORMS),
)
