"""The losses: each returns one number per sample, (B,)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from conformance.case import Draw, Loss

IGNORED = -100


def like_output(draw: Draw, shape: tuple, batch: dict) -> dict:
    """Draw targets of the output's shape."""
    return {"y": draw.normal(*shape)}


def zeros_and_ones(draw: Draw, shape: tuple, batch: dict) -> dict:
    return {"y": draw.uniform(*shape).round()}


def labels(draw: Draw, shape: tuple, batch: dict) -> dict:
    """Draw one class and one weight for each sample, (B,) each."""
    return {"y": draw.integers(0, shape[1], shape[0]), "w": 0.5 + draw.uniform(shape[0])}


def token_labels(draw: Draw, shape: tuple, batch: dict) -> dict:
    """Draw a class for each token, (B, T), some `IGNORED`; length and class for each sample."""
    y = draw.integers(0, shape[2], shape[0], shape[1])
    length = draw.integers(1, shape[1] + 1, shape[0])
    y[torch.arange(shape[1]) >= length[:, None]] = IGNORED
    return {"y": y, "length": length, "label": draw.integers(0, shape[2], shape[0])}


def squared_error(out: Tensor, batch: dict) -> Tensor:
    return 0.5 * ((out - batch["y"]) ** 2).flatten(1).sum(1)


def mse_loss(out: Tensor, batch: dict) -> Tensor:
    return F.mse_loss(out, batch["y"], reduction="none").flatten(1).mean(1)


def huber(out: Tensor, batch: dict) -> Tensor:
    return F.huber_loss(out, batch["y"], reduction="none", delta=0.5).flatten(1).mean(1)


def bce(out: Tensor, batch: dict) -> Tensor:
    losses = F.binary_cross_entropy_with_logits(out, batch["y"], reduction="none")
    return losses.flatten(1).sum(1)


def cross_entropy(out: Tensor, batch: dict) -> Tensor:
    return F.cross_entropy(out, batch["y"], reduction="none")


def gather(out: Tensor, batch: dict) -> Tensor:
    return -out.log_softmax(1).gather(1, batch["y"][:, None]).squeeze(1)


def indexed(out: Tensor, batch: dict) -> Tensor:
    return -out.log_softmax(1)[torch.arange(len(out)), batch["y"]]


def weighted(out: Tensor, batch: dict) -> Tensor:
    return batch["w"] * cross_entropy(out, batch)


def smoothed(out: Tensor, batch: dict) -> Tensor:
    return F.cross_entropy(out, batch["y"], reduction="none", label_smoothing=0.1)


def one_by_one(out: Tensor, batch: dict) -> list[Tensor]:
    """Return the cross-entropy of each sample, computed alone, as a list of 0-d tensors."""
    return [F.cross_entropy(one, y) for one, y in zip(out, batch["y"], strict=True)]


def stacked(out: Tensor, batch: dict) -> Tensor:
    return torch.stack(one_by_one(out, batch))


def joined(out: Tensor, batch: dict) -> Tensor:
    return torch.cat([loss[None] for loss in one_by_one(out, batch)])


def written(out: Tensor, batch: dict) -> Tensor:
    losses = out.new_zeros(len(out))
    for i, loss in enumerate(one_by_one(out, batch)):
        losses[i] = loss
    return losses


def token_sum(out: Tensor, batch: dict) -> Tensor:
    """Cross-entropy of the flattened tokens, without ignored labels, summed by sample: (B,)."""
    flat = F.cross_entropy(
        out.flatten(0, 1), batch["y"].flatten(), reduction="none", ignore_index=IGNORED
    )
    return flat.view(out.shape[:2]).sum(1)


def token_mean(out: Tensor, batch: dict) -> Tensor:
    """Mean cross-entropy of a sample's tokens, without ignored labels: (B,). Classes on axis 1."""
    losses = F.cross_entropy(
        out.transpose(1, 2), batch["y"], reduction="none", ignore_index=IGNORED
    )
    return losses.sum(1) / (batch["y"] != IGNORED).sum(1)


def token_gather(out: Tensor, batch: dict) -> Tensor:
    """Negative log-likelihood summed over a sample's labels, padding masked: (B,)."""
    y = batch["y"]
    chosen = out.log_softmax(2).gather(2, y.clamp(min=0)[..., None]).squeeze(2)
    return -(chosen * (y != IGNORED)).sum(1)


def last(out: Tensor, batch: dict) -> Tensor:
    """Cross-entropy at the last position of each sequence: (B,)."""
    ends = out[torch.arange(len(out)), batch["length"] - 1]
    return F.cross_entropy(ends, batch["label"], reduction="none")


def info_nce(out: Tensor, batch: dict) -> Tensor:
    """InfoNCE, (B,): each output with its target as positive, all other outputs as negatives."""
    z = F.normalize(out.flatten(1), dim=1)
    positive = (z * F.normalize(batch["y"].flatten(1), dim=1)).sum(1, keepdim=True)
    others = (z @ z.T).masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    return torch.cat([positive, others], 1).logsumexp(1) - positive[:, 0]


def centred(out: Tensor, batch: dict) -> Tensor:
    """Squared errors minus their mean over the batch: (B,)."""
    losses = squared_error(out, batch)
    return losses - losses.mean()


SQUARED = Loss("squared error", squared_error, like_output)
MSE = Loss("mse_loss, mean over outputs", mse_loss, like_output)
HUBER = Loss("huber", huber, like_output)
BCE = Loss("BCE", bce, zeros_and_ones)
CE = Loss("cross entropy", cross_entropy, labels)
GATHER = Loss("gather of labels", gather, labels)
INDEXED = Loss("logp[arange, y]", indexed, labels)
WEIGHTED = Loss("weighted", weighted, labels)
SMOOTHED = Loss("label smoothing", smoothed, labels)
STACKED = Loss("one by one, stack", stacked, labels)
JOINED = Loss("one by one, cat", joined, labels)
WRITTEN = Loss("one by one, L[i] = loss", written, labels)
TOKEN_SUM = Loss("sum over tokens", token_sum, token_labels)
TOKEN_MEAN = Loss("mean over tokens", token_mean, token_labels)
TOKEN_GATHER = Loss("gather of tokens", token_gather, token_labels)
LAST = Loss("h[arange, length-1]", last, token_labels)
INFO_NCE = Loss("InfoNCE", info_nce, like_output, mixing=True)
CENTRED = Loss("less batch mean", centred, like_output, mixing=True)

ANY = (SQUARED, BCE)
VECTOR = (SQUARED, CE, GATHER)
ALL_VECTOR = (SQUARED, MSE, HUBER, BCE, CE, GATHER, INDEXED, WEIGHTED, SMOOTHED)
ONE_BY_ONE = (STACKED, JOINED, WRITTEN)
TOKENS = (SQUARED, TOKEN_SUM, LAST)
ALL_TOKENS = (SQUARED, MSE, TOKEN_SUM, TOKEN_MEAN, TOKEN_GATHER, LAST)
MIXING = (INFO_NCE, CENTRED)
