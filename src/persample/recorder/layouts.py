"""Layouts: which entries of a cotangent belong to which sample of the batch.

An entry belongs to sample i if it is a derivative of loss i alone. Along a `SampleAxis` entry j
belongs to sample j in an ordinary batch, and to j modulo B in two concatenated views of a batch;
in concatenated sequences of several lengths ``owner[j]`` is the sample. If the samples were
computed in a loop, a whole cotangent belongs to `OneSample`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

Shape = tuple[int, ...]
NOBODY = -1  # the owner of entries that are 0


class SampleAxis(NamedTuple):
    """Samples along ``axis``: unflattened it is (outer, B, inner), mostly (1, B, 1).

    With ``owner``, entry j of the axis belongs to sample owner[j], or to `NOBODY`.
    """

    axis: int
    outer: int = 1
    owner: tuple[int, ...] | None = None

    def at(self, axis: int) -> "SampleAxis":
        """Return the same layout along another axis of the same length."""
        return self if axis == self.axis else SampleAxis(axis, self.outer, self.owner)

    def owners(self, length: int, size: int) -> np.ndarray:
        """Return (length,): the index of the sample, or `NOBODY`, of each entry of the axis."""
        if self.owner is not None:
            return np.array(self.owner)
        return np.tile(np.arange(size).repeat(length // size // self.outer), self.outer)

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x with a sample axis 0 of length B; a sample's k entries lie on ``axis`` + 1.

        ``size`` is B. Samples with fewer than k entries are padded with 0.
        """
        axis, outer, owner = self
        if owner is not None:
            entries, samples, ranks, most = _ranked(owner, size)
            x = x.movedim(axis, 0)
            padded = x.new_zeros(size, most, *x.shape[1:])
            padded[samples, ranks] = x[entries]
            return padded.movedim(1, axis + 1)
        if outer == 1:
            return x.unflatten(axis, (size, -1)).movedim(axis, 0)
        x = x.unflatten(axis, (outer, size, -1)).movedim(axis + 1, 0)
        return x.flatten(axis + 1, axis + 2)

    def only(self, x: Tensor, sample: int, size: int) -> Tensor:
        """Return x with the entries of all samples but ``sample`` set to 0."""
        kept = torch.zeros_like(x, memory_format=torch.contiguous_format)
        part = self.part(x.shape[self.axis], sample, size)
        kept[part] = x[part]
        return kept

    def part(self, length: int, sample: int, size: int) -> tuple[Any, ...]:
        """Return an index tuple for the entries of ``sample``; ``length`` is that of the axis."""
        if self.owner is None and self.outer == 1:
            inner = length // size
            mine: Any = slice(sample * inner, (sample + 1) * inner)
        else:
            mine = np.flatnonzero(self.owners(length, size) == sample)
        return (slice(None),) * self.axis + (mine,)


class OneSample(NamedTuple):
    """The layout in which all entries of a cotangent belong to the same sample, ``sample``."""

    sample: int

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x[None], a batch of one sample."""
        return x[None]


class Piece(NamedTuple):
    """A summand of a cotangent that is zero except at some entries of ``axis``.

    entries[j] belongs to sample owner[j], or to `NOBODY`.
    """

    axis: int
    entries: Sequence[int]
    owner: Sequence[int]


Layout = SampleAxis | OneSample | None  # None: unknown


@lru_cache(16)
def _ranked(owner, size):
    """Return (entries with an owner, their samples, their ranks within the sample, count).

    Three tensors, sorted by sample; ``count`` is the most entries that any sample has, at least 1.
    """
    owner = np.array(owner)
    (entries,) = np.nonzero(owner != NOBODY)
    entries = entries[np.argsort(owner[entries], kind="stable")]
    samples = owner[entries]
    counts = np.bincount(samples, minlength=size)
    ranks = np.arange(len(samples)) - (counts.cumsum() - counts)[samples]
    return *map(torch.from_numpy, (entries, samples, ranks)), max(1, int(counts.max()))


def joined(parts: list, shape: Shape, size: int) -> Layout:
    """Return the layout of a cotangent of this shape, a sum of ``parts``, layouts or pieces.

    None if a part is None, if they lie on several axes, or if an entry belongs to several samples.
    """
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
            entries, owner = np.asarray(part.entries, int), np.asarray(part.owner)
        else:
            entries, owner = slice(None), part.owners(len(whose), size)
        before = whose[entries]
        if ((before != NOBODY) & (owner != NOBODY) & (before != owner)).any():
            return None
        whose[entries] = np.where(owner == NOBODY, before, owner)
        if (whose[entries] != np.where(owner == NOBODY, before, owner)).any():
            return None  # the piece itself has an entry twice, for two samples
    return layout_of(first.axis, whose, size)


def _only_owner(part):
    """Return the only owner in a `Piece` or `SampleAxis`; None if it has several or no list."""
    owners = set(part.owner or ()) - {NOBODY}
    return owners.pop() if len(owners) == 1 else None


def layout_of(axis: int, whose: np.ndarray, size: int) -> Layout:
    """Return the simplest layout in which entry j of ``axis`` belongs to sample ``whose[j]``.

    Entries of `NOBODY` fit any sample; None if there are no others.
    """
    somebody = whose != NOBODY
    if not somebody.any():
        return None
    if (whose[somebody] == whose[somebody][0]).all():
        return OneSample(int(whose[somebody][0]))
    inner = max(1, int(np.argmax(whose != whose[0])))  # entries of the first sample
    for count in {1, inner}:
        if len(whose) % (count * size) == 0:
            layout = SampleAxis(axis, len(whose) // size // count)
            if (layout.owners(len(whose), size) == whose)[somebody].all():
                return layout
    return SampleAxis(axis, 1, tuple(whose.tolist()))


class Propagation(NamedTuple):
    """The argument of a rule of `axes`: a node, the layout of an output's cotangent, an input."""

    node: Any  # torch.autograd.graph.Node
    input_index: int  # in next_functions
    output_index: int | None  # None: several outputs, with the same layout
    layout: Any  # layout of the output's cotangent
    out: Shape  # of the output
    into: Shape  # of the input
    size: int  # B
    start: int | None = None  # of `torch.cat`: where the input begins in the output
    memory: dict | None = None  # a cache that all rules of one graph share

    @property
    def axis(self) -> int:
        """Return the sample axis of the output's cotangent."""
        return self.layout.axis

    def saved(self, name: str, default: Any = None) -> Any:
        """Return the node's ``_saved_`` attribute ``name``; integers modulo 2^64 become signed."""
        value = getattr(self.node, f"_saved_{name}", default)
        if isinstance(value, tuple | list):
            return tuple([_signed(x) for x in value])
        return _signed(value)

    def owners(self, axis: int) -> Any:
        """Return a list: the sample, or `NOBODY`, of each entry of an axis of the output."""
        length = self.out[axis]
        if isinstance(self.layout, OneSample):
            return [self.layout.sample] * length
        return self.layout.owners(length, self.size).tolist()

    def start_of_part(self, axis: int) -> int:
        """Return where a slice, or an output of a split, begins in an axis of the input."""
        start, length = self.saved("start"), self.into[axis]
        if start is None:
            sizes = self.saved("split_sizes") or (self.saved("split_size"),) * self.output_index
            return sum(sizes[: self.output_index])
        return max(0, start + length) if start < 0 else min(start, length)

    def order(self) -> tuple[int, ...] | None:
        """Return the input's axis for each axis of a permutation's output; None if not saved."""
        count, order = len(self.out), self.saved("dims")
        if order is None:
            is_matrix = self.node.name() == "TBackward0"  # or a vector
            swapped = (0, 1) if is_matrix else (self.saved("dim0"), self.saved("dim1"))
            if None in swapped:
                return None
            one, other = (axis % count for axis in swapped)
            order = [{one: other, other: one}.get(axis, axis) for axis in range(count)]
        return tuple([axis % count for axis in order])

    def axes(self, name: str) -> set[int]:
        """Return the input's axes saved as ``name``, counted from 0; all axes if none is saved."""
        value, count = self.saved(name), len(self.into)
        if value is None:
            return set(range(count))
        values = value if isinstance(value, tuple) else (value,)
        return {x % max(count, 1) for x in values}


def _signed(x):
    return x - 2**64 if isinstance(x, int) and x >= 2**63 else x
