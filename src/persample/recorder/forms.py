"""Closed forms of a parameter's rows: outer products, their sums, stored rows, slices.

Each form holds a batch and has the same methods:

    rows(samples, out)          write the rows of a slice of samples into ``out``
    squared_norms()             (B,)      ||g_i||^2
    weighted_sum(weights)       (*shape)  sum_i w_i g_i
    squared_sum()               (*shape)  sum_i g_i^2, elementwise
    products(other)             (B, B')   g_i . g'_j, another batch
    project(vectors)            (B, k)    a_k^T g_i c_k, or a_k . g_i, see `Signs.vectors`
    inner(other)                (B,)      g_i . g'_i, another use of the parameter

All but ``rows`` return None where the form cannot compute this without rows, or not faster; the
caller then forms them. ``shape`` is the parameter's, and ``other`` another form.

``kind`` is its name in `Record.forms`.
"""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..projection import contracted
from . import buffers
from .buffers import part_of, slices


def squares(x: Tensor) -> Tensor:
    """Return the sums of squares over all axes but the first, (B,), without a temporary array."""
    return torch.linalg.vector_norm(x.reshape(len(x), -1), dim=1).square_()


class Form:
    """Base class, whose methods return None; subclasses define ``rows`` and override others."""

    kind: ClassVar[str] = "rows"
    needs_rows = True  # whether norms need rows, or are cheapest from them
    at_once = sys.maxsize  # samples to ask rows of at a time, of all parameters

    def _needs_rows(self, *_: Any) -> None:
        """Return None: there is no closed form, so the caller must form the rows."""

    squared_norms = weighted_sum = squared_sum = products = project = inner = _needs_rows


@dataclass(frozen=True, eq=False)
class Outer(Form):
    """g_i = delta_i h_i^T: a weight used once by each sample; delta (B, p), h (B, d).

    The norm needs no row: ||delta_i h_i^T||^2 = ||delta_i||^2 ||h_i||^2 (Goodfellow, 2015).
    """

    kind: ClassVar[str] = "outer product"
    needs_rows = False
    delta: Tensor
    h: Tensor

    def rows(self, samples: slice, out: Tensor) -> None:
        delta, h = self.delta[samples], self.h[samples]
        torch.mul(delta[:, :, None], h[:, None, :], out=out)

    def squared_norms(self) -> Tensor:
        return squares(self.delta) * squares(self.h)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        return (self.delta * weights[:, None]).T @ self.h

    def squared_sum(self) -> Tensor:
        return self.delta.square().T @ self.h.square()

    def products(self, other: Any) -> Tensor | None:
        if not isinstance(other, Outer):
            return None
        products = self.delta @ other.delta.T
        products *= self.h @ other.h.T
        return products

    def project(self, vectors: list) -> Tensor:
        lines, columns = vectors
        numbers = self.delta @ lines
        numbers *= self.h @ columns
        return numbers


@dataclass(frozen=True, eq=False)
class OuterSum(Form):
    """g_i = sum_t delta_it h_it^T: a weight used at T positions; delta (B, T, p), h (B, T, d).

    ||g_i||^2 = sum_ts (delta_it . delta_is) (h_it . h_is), two Gram matrices of T x T numbers
    (Li et al., 2021), is cheaper than the row, p x d numbers, where T is small.
    """

    kind: ClassVar[str] = "sum of outer products"
    delta: Tensor
    h: Tensor

    @property
    def needs_rows(self) -> bool:
        """Return whether rows need fewer multiplications than Gram matrices: p d < T (p + d)."""
        _, T, p = self.delta.shape
        return T * (p + self.h.shape[2]) > p * self.h.shape[2]

    def rows(self, samples: slice, out: Tensor) -> None:
        torch.matmul(self.delta[samples].mT, self.h[samples], out=out)

    def squared_norms(self) -> Tensor:
        size, T, p = self.delta.shape
        d, gram = self.h.shape[2], not self.needs_rows
        count = 2 * T * T if gram else p * d
        norms = [
            (_gram_squares if gram else _direct_squares)(self.delta[samples], self.h[samples])
            for samples in slices(size, count * self.h.itemsize)
        ]
        return norms[0] if len(norms) == 1 else torch.cat(norms)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        p, d = self.delta.shape[2], self.h.shape[2]
        weighted = self.delta * weights[:, None, None]
        return weighted.reshape(-1, p).T @ self.h.reshape(-1, d)

    def products(self, other: Any) -> Tensor | None:
        if not isinstance(other, OuterSum):
            return None
        (size, T, p), (count, S, d) = self.delta.shape, other.h.shape
        # Multiplications for a pair of samples: by positions, or by rows. Rows of self are formed
        # once, rows of other once for each work buffer of self.
        buffered = min(size, max(1, buffers.SCRATCH // (p * d * self.h.itemsize)))
        if T * S * (p + d) > p * d * (1 + T / count + S / buffered):
            return None
        delta, h = other.delta.reshape(-1, p).T, other.h.reshape(-1, d).T
        parts = []
        for samples in slices(size, 2 * T * count * S * self.h.itemsize):
            pairs = self.delta[samples].reshape(-1, p) @ delta
            pairs *= self.h[samples].reshape(-1, d) @ h
            parts.append(pairs.reshape(-1, T, count, S).sum((1, 3)))
        return torch.cat(parts)

    def project(self, vectors: list) -> Tensor:
        lines, columns = vectors
        size, T, _ = self.delta.shape
        parts = []
        for samples in slices(size, 2 * T * lines.shape[1] * self.h.itemsize):
            numbers = self.delta[samples] @ lines
            numbers *= self.h[samples] @ columns
            parts.append(numbers.sum(1))
        return torch.cat(parts)


def _gram_squares(delta, h):
    grams = delta @ delta.mT
    grams *= h @ h.mT
    return grams.sum((1, 2))


def _direct_squares(delta, h):
    rows = delta.mT @ h
    rows *= rows
    return rows.sum((1, 2))


@dataclass(frozen=True, eq=False)
class Formed(Form):
    """Stored rows, of small parameters such as a bias or a scale; g (B, *shape)."""

    kind: ClassVar[str] = "formed"
    needs_rows = False
    g: Tensor

    def rows(self, samples: slice, out: Tensor) -> None:
        out.copy_(self.g[samples])

    def squared_norms(self) -> Tensor:
        return squares(self.g)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        g = self.g
        return (weights @ g.reshape(g.shape[0], -1)).reshape(g.shape[1:])

    def squared_sum(self) -> Tensor:
        return (self.g * self.g).sum(0)

    def products(self, other: Any) -> Tensor | None:
        if not isinstance(other, Formed):
            return None
        return self.g.reshape(len(self.g), -1) @ other.g.reshape(len(other.g), -1).T

    def project(self, vectors: list) -> Tensor:
        return contracted(self.g, vectors, torch)


def copied_rows(form: Form, samples: slice, out: Tensor) -> None:
    """Write a form's rows into ``out``, which need not be contiguous, through a buffer that is."""
    for part in slices(len(out), out[0].nbytes):
        rows = torch.empty_like(out[part], memory_format=torch.contiguous_format)
        form.rows(part_of(samples, part), rows)
        out[part] = rows


@dataclass(frozen=True, eq=False)
class Part(Form):
    """Rows equal to those of ``form`` on the slice ``lines`` of axis 0, and 0 elsewhere."""

    form: Form
    lines: slice
    shape: tuple[int, ...]  # the parameter's

    @property
    def kind(self) -> str:
        return self.form.kind

    @property
    def needs_rows(self) -> bool:
        return self.form.needs_rows

    def rows(self, samples: slice, out: Tensor) -> None:
        out.zero_()
        copied_rows(self.form, samples, out[:, self.lines])

    def squared_norms(self) -> Tensor | None:
        return self.form.squared_norms()

    def weighted_sum(self, weights: Tensor) -> Tensor | None:
        return self._padded(self.form.weighted_sum(weights))

    def squared_sum(self) -> Tensor | None:
        return self._padded(self.form.squared_sum())

    def project(self, vectors: list) -> Tensor | None:
        return self.form.project([vectors[0][self.lines], *vectors[1:]])

    def inner(self, other: Any) -> float | None:
        apart = isinstance(other, Part) and (
            self.lines.stop <= other.lines.start or other.lines.stop <= self.lines.start
        )
        return 0.0 if apart else None

    def _padded(self, part):
        if part is None:
            return None
        whole = part.new_zeros(self.shape)
        whole[self.lines] = part
        return whole
