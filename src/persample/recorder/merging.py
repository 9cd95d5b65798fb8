"""Merge forms: T uses of a parameter into one form, and forms of single samples into a batch."""

from dataclasses import dataclass
from functools import reduce
from operator import add

import torch
from torch import Tensor

from .forms import Form, Formed, Outer, OuterSum, Part
from .layer_forms import Lookup
from .layouts import SampleAxis


def merged(forms: list[Form]) -> list[Form]:
    """Return fewer forms with the same sum, all of one parameter and one batch.

    Outer products become one `OuterSum`, lookups one `Lookup`, stored rows one `Formed`.
    """
    if len(forms) < 2:
        return forms
    products = [form for form in forms if isinstance(form, Outer | OuterSum)]
    lookups = [form for form in forms if isinstance(form, Lookup)]
    formed = [form for form in forms if isinstance(form, Formed)]
    others = [form for form in forms if not isinstance(form, Outer | OuterSum | Lookup | Formed)]
    if len(products) > 1:
        delta, h = (torch.cat(x, 1) for x in zip(*map(_factors, products), strict=True))
        products = [OuterSum(delta, h)]
    if len(lookups) > 1:
        delta, index = (torch.cat(x, 1) for x in zip(*map(_factors, lookups), strict=True))
        lookups = [Lookup(delta, index, lookups[0].count)]
    if len(formed) > 1:
        formed = [Formed(reduce(add, [form.g for form in formed]))]
    return others + formed + lookups + products


def _factors(form):
    """Return delta and h, or delta and index, each with an axis of positions: (B, T, ...)."""
    if isinstance(form, Lookup):
        return form.delta, form.index
    return [x if x.ndim == 3 else x[:, None] for x in (form.delta, form.h)]


def batched(forms: list[tuple[int, Form]], size: int) -> list[Form]:
    """Return forms of a batch of ``size`` samples, from pairs (sample index, form with B = 1)."""
    alike: dict = {}
    for sample, form in forms:
        alike.setdefault(_likeness(form), []).append((sample, form))
    return [_batch(*zip(*each, strict=True), size) for each in alike.values()]


def _likeness(form):
    """Return the key by which forms are grouped; those with None stay one by one (`OneByOne`)."""
    if isinstance(form, Part):
        return Part, form.lines.start, form.lines.stop, _likeness(form.form)
    kinds = (Outer, OuterSum), (Lookup,), (Formed,)
    return next((kind for kind in kinds if isinstance(form, kind)), None)


def _batch(samples, forms, size):
    first = forms[0]
    if isinstance(first, Part):
        whole = _batch(samples, [form.form for form in forms], size)
        return Part(whole, first.lines, first.shape)
    if isinstance(first, Formed):
        g = torch.cat([form.g for form in forms])
        whole = g.new_zeros(size, *g.shape[1:])
        return Formed(whole.index_add_(0, torch.tensor(samples, device=g.device), g))
    if isinstance(first, Outer | OuterSum | Lookup):
        factors = [[x[0] for x in _factors(form)] for form in forms]
        owner = [i for i, (x, _) in zip(samples, factors, strict=True) for _ in range(len(x))]
        layout = SampleAxis(0, 1, tuple(owner))
        one, other = (layout.split(torch.cat(x), size) for x in zip(*factors, strict=True))
        is_lookup = isinstance(first, Lookup)
        return Lookup(one, other, first.count) if is_lookup else OuterSum(one, other)
    return OneByOne(list(samples), list(forms), size)


@dataclass(frozen=True, eq=False)
class OneByOne(Form):
    """Forms that cannot be batched: forms[j], with B = 1, is a part of the row of samples[j]."""

    samples: list[int]
    forms: list[Form]
    size: int

    @property
    def kind(self) -> str:
        return self.forms[0].kind

    def rows(self, samples: slice, out: Tensor) -> None:
        out.zero_()
        row = torch.empty_like(out[:1])
        for sample, form in zip(self.samples, self.forms, strict=True):
            if samples.start <= sample < samples.stop:
                form.rows(slice(0, 1), row)
                out[sample - samples.start] += row[0]

    def squared_norms(self) -> Tensor | None:
        is_sum = len(set(self.samples)) < len(self.samples)
        return None if is_sum else self._spread([form.squared_norms() for form in self.forms])

    def weighted_sum(self, weights: Tensor) -> Tensor | None:
        each = zip(self.samples, self.forms, strict=True)
        found = [form.weighted_sum(weights[i : i + 1]) for i, form in each]
        return None if any(x is None for x in found) else reduce(add, found)

    def project(self, vectors: list) -> Tensor | None:
        return self._spread([form.project(vectors) for form in self.forms])

    def _spread(self, found):
        if any(x is None for x in found):
            return None
        found = torch.cat(found)
        whole = found.new_zeros(self.size, *found.shape[1:])
        return whole.index_add_(0, torch.tensor(self.samples, device=found.device), found)
