"""Functions that many models use to draw batches."""

from collections.abc import Callable

import torch

from conformance.case import Draw

Batch = Callable[[Draw, int, int], dict]


def features(*shape: int) -> Batch:
    """x: (B, *shape), standard normal."""
    return lambda draw, size, step: {"x": draw.normal(size, *shape)}


def ids(vocabulary: int, *shape: int) -> Batch:
    """x: (B, *shape), integers below ``vocabulary``."""
    return lambda draw, size, step: {"x": draw.integers(0, vocabulary, size, *shape)}


def own_ids(each: int, length: int) -> Batch:
    """x: (B, length); sample i has integers from ``each * i`` to ``each * (i + 1) - 1``."""

    def batch(draw: Draw, size: int, step: int) -> dict:
        first = each * torch.arange(size)[:, None]
        return {"x": first + draw.integers(0, each, size, length)}

    return batch


def ragged_ids(vocabulary: int, length: int) -> Batch:
    """x: (B, length), integers; count: (B,), the number of valid positions of each sample."""

    def batch(draw: Draw, size: int, step: int) -> dict:
        x = draw.integers(0, vocabulary, size, length)
        return {"x": x, "count": draw.integers(1, length + 1, size)}

    return batch


def ragged_features(length: int, width: int) -> Batch:
    """x: (B, length, width), normal; count: (B,), the number of valid positions of each sample."""

    def batch(draw: Draw, size: int, step: int) -> dict:
        x = draw.normal(size, length, width)
        return {"x": x, "count": draw.integers(1, length + 1, size)}

    return batch


def with_count(model, batch: dict):
    """Call a model that takes x and the number of valid positions."""
    return model(batch["x"], batch["count"])
