"""Where the samples of a batch lie in a cotangent, and what a node is asked when it hands them on.

A cotangent has its samples along an axis if each number along that axis is a derivative of one
sample's loss alone, or 0. In an ordinary batch number i belongs to sample i; in two views of a
batch one behind the other to i modulo B; in texts of several lengths joined to one, `owner` says
to whom. Where samples are computed apart, as by a loop, all of a cotangent is `OneSample`'s.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

Shape = tuple[int, ...]
NOBODY = -1  # the owner of numbers that are 0


class Along(NamedTuple):
    """The samples lie along ``axis``, whose length is outer * B * inner (outer and inner: 1).

    With ``owner`` they lie as it says: entry j of the axis is sample owner[j]'s, or `NOBODY`'s.
    """

    axis: int
    outer: int = 1
    owner: tuple[int, ...] | None = None

    def at(self, axis: int) -> "Along":
        """Return the same, along another axis of the same length."""
        return self if axis == self.axis else Along(axis, self.outer, self.owner)

    def owners(self, length: int, size: int) -> np.ndarray:
        """Return (length,): whose each entry of the axis is."""
        if self.owner is not None:
            return np.array(self.owner)
        return np.tile(np.arange(size).repeat(length // size // self.outer), self.outer)

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x with the samples first, (B, ...); the rest of their axis keeps its place.

        Where samples have different numbers of entries, all get as many: the last ones are 0.
        """
        axis, outer, owner = self
        if owner is not None:
            entries, samples, numbers, most = _numbered(owner, size)
            x = x.movedim(axis, 0)
            padded = x.new_zeros(size, most, *x.shape[1:])
            padded[samples, numbers] = x[entries]
            return padded.movedim(1, axis + 1)
        if outer == 1:
            return x.unflatten(axis, (size, -1)).movedim(axis, 0)
        x = x.unflatten(axis, (outer, size, -1)).movedim(axis + 1, 0)
        return x.flatten(axis + 1, axis + 2)

    def only(self, x: Tensor, sample: int, size: int) -> Tensor:
        """Return x with zeros for all samples but one."""
        kept = torch.zeros_like(x, memory_format=torch.contiguous_format)
        part = self.part(x.shape[self.axis], sample, size)
        kept[part] = x[part]
        return kept

    def part(self, length: int, sample: int, size: int) -> tuple[Any, ...]:
        """Return the index of one sample's part; ``length`` is that of the axis."""
        if self.owner is None and self.outer == 1:
            inner = length // size
            mine: Any = slice(sample * inner, (sample + 1) * inner)
        else:
            mine = np.flatnonzero(self.owners(length, size) == sample)
        return (slice(None),) * self.axis + (mine,)


class OneSample(NamedTuple):
    """All numbers are derivatives of one sample's loss."""

    sample: int

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x as a batch of this one sample."""
        return x[None]


class Piece(NamedTuple):
    """Of a cotangent only the entries ``places`` of an axis are not 0; ``owner`` says whose."""

    axis: int
    places: Sequence[int]
    owner: Sequence[int]


Layout = Along | OneSample | None  # where samples lie; None: unknown


@lru_cache(16)
def _numbered(owner, size):
    """Return the entries that are somebody's, whose, as which of his, and the most of anyone."""
    owner = np.array(owner)
    (entries,) = np.nonzero(owner != NOBODY)
    entries = entries[np.argsort(owner[entries], kind="stable")]
    samples = owner[entries]
    counts = np.bincount(samples, minlength=size)
    numbers = np.arange(len(samples)) - (counts.cumsum() - counts)[samples]
    return *map(torch.from_numpy, (entries, samples, numbers)), max(1, int(counts.max()))


def joined(parts: list, shape: Shape, size: int) -> Layout:
    """Return where the samples lie in the sum of cotangents of one array."""
    first = parts[0]
    if not isinstance(first, Piece) and all(part == first for part in parts):
        return first
    if None in parts:
        return None
    alone = {part.sample if isinstance(part, OneSample) else _only_owner(part) for part in parts}
    if len(alone) == 1 and None not in alone:
        return OneSample(alone.pop())
    if any(isinstance(part, OneSample) or part.axis != first.axis for part in parts):
        return None
    whose = np.full(shape[first.axis], NOBODY)
    for part in parts:
        if isinstance(part, Piece):
            places, owner = np.asarray(part.places, int), np.asarray(part.owner)
        else:
            places, owner = slice(None), part.owners(len(whose), size)
        before = whose[places]
        if ((before != NOBODY) & (owner != NOBODY) & (before != owner)).any():
            return None
        whose[places] = np.where(owner == NOBODY, before, owner)
        if (whose[places] != np.where(owner == NOBODY, before, owner)).any():
            return None  # one place was asked for by several
    return layout_of(first.axis, whose, size)


def _only_owner(part):
    """Return the sample that a piece, or an axis with owners, belongs to; None if several."""
    owners = set(part.owner or ()) - {NOBODY}
    return owners.pop() if len(owners) == 1 else None


def layout_of(axis: int, whose: np.ndarray, size: int) -> Layout:
    """Return where samples lie by the owners of an axis, in the simplest way to say it."""
    somebody = whose != NOBODY
    if not somebody.any():
        return None
    if (whose[somebody] == whose[somebody][0]).all():
        return OneSample(int(whose[somebody][0]))
    if len(whose) % size == 0:
        inner = 1 + int(np.argmax(whose != whose[0])) - 1
        for along in (
            Along(axis, len(whose) // size // n)
            for n in {1, inner}
            if n and len(whose) % (n * size) == 0
        ):
            if (along.owners(len(whose), size) == whose)[somebody].all():
                return along
    return Along(axis, 1, tuple(whose.tolist()))


class Passed(NamedTuple):
    """One cotangent on its way: from a node's output, shape ``out``, to one of its inputs."""

    node: Any  # torch.autograd.graph.Node
    slot: int  # which of its inputs, in next_functions
    output: int | None  # which of its outputs; None for several
    along: Any  # Along or OneSample, in the cotangent of the output
    out: Shape
    into: Shape
    size: int  # B
    start: int | None = None  # where the input stands in an output that joins several
    memory: dict | None = None  # of one walk, for what several inputs of a node need

    def saved(self, name: str, default: Any = None) -> Any:
        """Return what autograd saved under a name; an axis may be saved as 2^64 less a number."""
        value = getattr(self.node, f"_saved_{name}", default)
        if isinstance(value, tuple | list):
            return tuple([_signed(x) for x in value])
        return _signed(value)

    def owners(self, axis: int) -> Any:
        """Return whose the entries of an axis of the output are; one sample's are all his."""
        length = self.out[axis]
        if isinstance(self.along, OneSample):
            return [self.along.sample] * length
        return self.along.owners(length, self.size).tolist()

    def start_of_part(self, axis: int) -> int:
        """Return where a part of an axis begins in the input: one of several, or by its ends."""
        start, length = self.saved("start"), self.into[axis]
        if start is None:
            sizes = self.saved("split_sizes") or (self.saved("split_size"),) * self.output
            return sum(sizes[: self.output])
        return max(0, start + length) if start < 0 else min(start, length)

    def axes(self, name: str) -> set[int]:
        """Return the saved axes, counted from the first axis of the input; where none are saved,
        all of them.
        """
        value, count = self.saved(name), len(self.into)
        if value is None:
            return set(range(count))
        values = value if isinstance(value, tuple) else (value,)
        return {x % max(count, 1) for x in values}


def _signed(x):
    return x - 2**64 if isinstance(x, int) and x >= 2**63 else x
