"""Which numbers of a cotangent belong to which sample: found by experiment, not by the shape.

Backward is linear. If the loss of sample i is multiplied by r_i, whatever belongs to sample i
alone is multiplied by r_i as well; what several samples share is not. A few extra backward
passes, with the weights 1, r, r', ..., therefore show where the samples lie in every array of the
graph: no two samples have the same weights in all of them.

One batch can mislead: if sample i alone uses column i of a weight (one-hot inputs), the columns
look like samples. So what is made of parameters alone counts as shared, whatever a batch shows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from .torch_graph import Graph

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}  # all others: 5e-2
TOLERANCE |= {torch.complex128: 1e-6, torch.complex64: 1e-3}
# Powers of two with a sign: multiplying by one is exact. Few of them stay in 16 bits' range.
FACTORS = [sign * 2.0**k for n in range(8) for k in dict.fromkeys((n, -n)) for sign in (1, -1)]
FACTORS_16_BITS = FACTORS[:14]


class Along(NamedTuple):
    """The samples lie along ``axis``, whose length is outer * B * inner (outer and inner: 1)."""

    axis: int
    outer: int

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x with the samples first, (B, ...); the rest of their axis keeps its place."""
        axis, outer = self
        if outer == 1:
            return x.unflatten(axis, (size, -1)).movedim(axis, 0)
        x = x.unflatten(axis, (outer, size, -1)).movedim(axis + 1, 0)
        return x.flatten(axis + 1, axis + 2)

    def only(self, x: Tensor, sample: int, size: int) -> Tensor:
        """Return x with zeros for all samples but one."""
        kept = torch.zeros_like(x, memory_format=torch.contiguous_format)
        part = (slice(None),) * self.axis + (slice(None), sample)
        kept.unflatten(self.axis, (self.outer, size, -1))[part] = x.unflatten(
            self.axis, (self.outer, size, -1)
        )[part]
        return kept


UNUSED = Along(-1, -1)  # of an output that has no cotangent


@dataclass(frozen=True)
class Owners:
    """``along[place][number]``: where the samples lie in the cotangent of an output of a node.

    None if no reading fits, UNUSED if there is no cotangent. ``doubtful`` are the nodes of whose
    cotangents another batch may tell something else: they were not finite or not there, or zero
    for all samples but one, or those of a parameter that was repeated for another reason.
    """

    along: list[tuple[Along | None, ...]]
    doubtful: set[int]

    def without_doubt(self) -> "Owners":
        """Return what is known whatever the next batch may hold."""
        along = [
            (None,) * len(found) if place in self.doubtful else found
            for place, found in enumerate(self.along)
        ]
        return Owners(along, set())

    def knows(self, place: int) -> bool:
        """Say whether every number of the node's cotangents belongs to one known sample."""
        found = self.along[place]
        return None not in found and any(along != UNUSED for along in found)


def readings(shape: tuple[int, ...], size: int) -> Iterator[tuple[Along, int]]:
    """Yield (where the samples may lie, the count of numbers ahead of them) for an array.

    They have an axis of their own, or share one: (B k) or (k B).
    """
    ahead = 1
    for axis, length in enumerate(shape if 0 not in shape else ()):
        if length % size == 0:
            for outer in dict.fromkeys((1, length // size)):
                yield Along(axis, outer), ahead * outer
        ahead *= length


def weights_for(size: int, factors: list[float] = FACTORS) -> list[Tensor]:
    """Return vectors r, r', ... of (B,) factors: sample i has the digits of i, so its own ones."""
    count, weights = 1, []
    while not weights or count < size:
        digits = torch.arange(size) // count % len(factors)
        weights.append(torch.tensor(factors, dtype=torch.float64)[digits])
        count *= len(factors)
    return weights


def find_owners(
    graph: Graph,
    covered: set[int],
    shared: set[int],
    repeated: set[int],
    size: int,
    sweep: Callable[[Tensor | None], Any],
) -> Owners:
    """Return the owners; ``sweep(r)`` runs backward with sample i's loss times r_i, or times 1.

    ``covered`` are the nodes that the sweep can reach; of the others nothing is known. ``shared``
    are those of which no number is one sample's, whatever the sweep shows. ``repeated`` are
    those made of parameters repeated, once for each sample or for each of something else.
    """
    is_wide = all(x.dtype.itemsize > 2 for node in graph.nodes for x in node._input_metadata)
    weights = weights_for(size, FACTORS if is_wide else FACTORS_16_BITS)
    plain = _sketches(graph, size, partial(sweep, None))
    weighted = [(r, _sketches(graph, size, partial(sweep, r))) for r in weights]
    moody = graph.below_own_functions()
    along, doubtful = [], set()
    for place, node in enumerate(graph.nodes):
        found: list[Along | None] = []
        for number in range(len(node._input_metadata)):
            key = place, number
            there = [key in sketches for sketches in (plain, *(x for _, x in weighted))]
            if not all(there):
                found.append(UNUSED if place in covered and not any(there) else None)
                if place in moody and graph.is_used(place, number):
                    doubtful.add(place)  # its cotangent may be None for this batch only
                continue
            others = [(r, sketches[key]) for r, sketches in weighted]
            fitting = [] if place in shared else _fitting(plain[key], others)
            found.append(fitting[0] if fitting else None)
            witnesses = [int(plain[key][0][along][1].count_nonzero()) for along in fitting]
            if len(fitting) > 1 or min(witnesses, default=2) < 2 or not plain[key][2]:
                doubtful.add(place)
        along.append(tuple(found))
    for place in repeated:
        if not _is_confirmed(graph, along, covered, repeated, place):
            doubtful.add(place)
    return Owners(along, doubtful)


def _is_confirmed(graph, along, covered, repeated, place):
    """Say whether a parameter was repeated for the samples: what takes it has them there too."""
    seen, waiting = {place}, [place]
    while waiting:
        here = waiting.pop()
        mine, uses = along[here][0], [use for use in graph.uses[here] if use[0] in covered]
        if not uses:
            return True  # these are the losses
        for above, slot in uses:
            there = along[above][0]
            if above in repeated:
                waiting += [above] if above not in seen else []
                seen.add(above)
            elif None in (mine, there):
                continue
            elif graph.lines_up(here, mine.axis, above, slot, there.axis):
                return True
    return False


def _sketches(graph, size, run):
    """Return (place, output) -> sketch of each cotangent of one backward pass."""
    sketches = {}

    def look(place, cotangents):
        with _disable_current_modes():  # whoever watches the pass need not see the sketches
            for number, ct in enumerate(cotangents):
                if ct is not None:
                    sketches[place, number] = _sketch(ct.detach(), size)

    handles = [
        node.register_prehook(partial(look, place))
        for place, node in enumerate(graph.nodes)
        if getattr(node, "variable", None) is None
    ]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    return sketches


def _sketch(ct, size):
    """Return (reading -> one number and the norm of each sample's part, tolerance, is finite).

    The number is a projection on a fixed direction: arrays that differ differ in it.
    """
    tolerance = TOLERANCE.get(ct.dtype, 5e-2)
    x, parts_of = ct.to(torch.promote_types(ct.dtype, torch.float32)), {}
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    for along, ahead in readings(tuple(ct.shape), size):
        parts = x.reshape(ahead, size, -1)
        within = direction(parts.shape[2], 0.7548776662, x)
        across = direction(ahead, 2.2360679775, x)
        number = (parts @ within * across[:, None]).sum(0)
        parts_of[along] = number, torch.linalg.vector_norm(parts, dim=(0, 2))
    is_finite = bool(torch.isfinite(x).all())
    return parts_of, tolerance, is_finite


def direction(count: int, step: float, like: Tensor) -> Tensor:
    """Return a fixed vector of numbers that have nothing to do with one another."""
    return torch.arange(1, count + 1, dtype=like.dtype, device=like.device).mul_(step).cos_()


def _fitting(plain, weighted):
    """Return the readings under which each weighted cotangent is r times the plain one."""
    return [
        along
        for along, (number, norm) in plain[0].items()
        if all(_is_multiple(r.to(number), number, norm, *x[0][along], x[1]) for r, x in weighted)
    ]


def _is_multiple(r, number, norm, other_number, other_norm, tolerance):
    bound = tolerance * r.abs() * norm
    is_same = (other_number - r * number).abs() <= bound
    is_same &= (other_norm - r.abs() * norm).abs() <= bound
    return bool(is_same.all())
