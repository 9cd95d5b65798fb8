"""Closed forms of a parameter's rows, for NumPy and PyTorch alike: three shapes a row can have.

Each form holds a batch and answers the same questions:

    rows(samples, out, scale)   write ``scale`` times the rows of a slice of samples into ``out``
    squared_norms(squares)      (B,)      ||g_i||^2                   without forming the rows,
    weighted_sum(weights)       (*shape)  sum_i w_i g_i               or None where only the
    squared_sum()               (*shape)  sum_i g_i^2, elementwise    rows themselves tell
    products(other)             (B, B')   g_i . g'_j, another batch
    projected(vectors)          (B, k)    a_k^T g_i c_k, or a_k . g_i
    inner(other)                (B,)      g_i . g'_i, another use of the parameter

``squares`` is a function x -> ||x_i||^2 of `squares_once`. ``kind`` is what a record calls it.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..projection import contracted

# Bytes of a work buffer. It stays in the cache and is handed out again by the allocator, while
# fresh memory costs a page fault each 4 KiB: more than the arithmetic done in it.
SCRATCH = 2**22

# Numbers in the buffer where NumPy lines up what it repeats along an axis. Its own 8192 fill the
# fastest cache, 32 KiB; with 1024 there is room beside it for what is read and written.
BUFFER = 1024


def module_of(x: Any) -> Any:
    """Return numpy or torch: the module whose functions take x."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def slices(size: int, bytes_each: int) -> Iterator[slice]:
    """Yield slices that cover ``size`` samples, each within the work buffer's bytes."""
    step = max(1, SCRATCH // max(1, bytes_each))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def squares_once() -> Callable[[Any], Any]:
    """Return a function x -> sum of squares over all axes but the first, (B,).

    It works out each array once: the delta of a layer is in the norms of its weight and its bias.
    """
    known: dict = {}

    def squares(x):
        key = id(x) if isinstance(x, np.ndarray) else (x.data_ptr(), x.dtype, x.shape, x.stride())
        if key not in known:
            flat = x if x.ndim == 2 else x.reshape(x.shape[0], -1)
            if isinstance(x, np.ndarray):
                total = (flat * flat).sum(1)
            else:  # without memory for the squares, which costs more than they do
                total = module_of(x).linalg.vector_norm(flat, dim=1).square_()
            known[key] = x, total  # with x, so that its key stays its own
        return known[key][1]

    return squares


@dataclass(frozen=True, eq=False)
class Outer:
    """g_i = delta_i h_i^T: a weight used once a sample; delta (B, p), h (B, d).

    The norm needs no row: ||delta_i h_i^T||^2 = ||delta_i||^2 ||h_i||^2 (Goodfellow, 2015).
    """

    kind: ClassVar[str] = "outer product"
    delta: Any
    h: Any

    def rows(self, samples: slice, out: Any, scale: float) -> None:
        delta, h = self.delta[samples], self.h[samples]
        delta = delta if scale == 1 else delta * scale
        if isinstance(out, np.ndarray):
            _outer(delta, h, out)
        else:
            module_of(h).mul(delta[:, :, None], h[:, None, :], out=out)

    def squared_norms(self, squares: Callable) -> Any:
        return squares(self.delta) * squares(self.h)

    def weighted_sum(self, weights: Any) -> Any:
        return (self.delta * weights[:, None]).T @ self.h

    def squared_sum(self) -> Any:
        (delta, largest), (h, other) = _scaled_squares(self.delta), _scaled_squares(self.h)
        return delta.T @ h * (largest * other) ** 2

    def products(self, other: Any) -> Any:
        if not isinstance(other, Outer):
            return None
        products = self.delta @ other.delta.T
        products *= self.h @ other.h.T
        return products

    def project(self, vectors: list) -> Any:
        lines, columns = vectors
        numbers = self.delta @ lines
        numbers *= self.h @ columns
        return numbers

    def inner(self, other: Any) -> None:
        return None


def _scaled_squares(x):
    """Return (x / m)^2 and m, the largest magnitude in x: no square overflows or vanishes."""
    largest = max(float(x.max()), -float(x.min()))
    largest = largest if largest and math.isfinite(largest) else 1.0
    squares = x / largest
    squares *= squares
    return squares, largest


def _outer(delta, h, out):
    """Write delta_i h_i^T in NumPy; operands in another order than ``out`` cost far more."""
    order = "F" if out.strides[0] == out.itemsize else "C"  # as `fresh` has it
    delta, h = np.asarray(delta, order=order), np.asarray(h, order=order)
    with np.errstate():  # gives the buffer its own size back
        np.setbufsize(BUFFER)
        np.multiply(delta[:, :, None], h[:, None, :], out=out)


@dataclass(frozen=True, eq=False)
class OuterSum:
    """g_i = sum_t delta_it h_it^T: a weight used at T positions; delta (B, T, p), h (B, T, d).

    ||g_i||^2 = sum_ts (delta_it . delta_is) (h_it . h_is), two Gram matrices of T x T numbers
    (Li et al., 2021), is cheaper than the row, p x d numbers, where T is small.
    """

    kind: ClassVar[str] = "sum of outer products"
    delta: Any
    h: Any

    def rows(self, samples: slice, out: Any, scale: float) -> None:
        delta, h = self.delta[samples], self.h[samples]
        delta = delta if scale == 1 else delta * scale
        module_of(h).matmul(delta.swapaxes(1, 2), h, out=out)

    def squared_norms(self, squares: Callable) -> Any:
        size, T, p = self.delta.shape
        d = self.h.shape[2]
        gram = T * (p + d) <= p * d  # multiplications a sample, each side over T
        count = 2 * T * T if gram else p * d
        norms = [
            (_gram_squares if gram else _direct_squares)(self.delta[samples], self.h[samples])
            for samples in slices(size, count * self.h.itemsize)
        ]
        return norms[0] if len(norms) == 1 else module_of(self.h).concatenate(norms)

    def weighted_sum(self, weights: Any) -> Any:
        p, d = self.delta.shape[2], self.h.shape[2]
        weighted = self.delta * weights[:, None, None]
        return weighted.reshape(-1, p).T @ self.h.reshape(-1, d)

    def squared_sum(self) -> None:
        return None  # the square of a sum over positions is no product

    def products(self, other: Any) -> Any:
        if not isinstance(other, OuterSum):
            return None
        (size, T, p), (count, S, d) = self.delta.shape, other.h.shape
        # Multiplications for a pair of samples: of positions, or of rows. Mine are formed once,
        # theirs again for each work buffer of mine.
        buffered = min(size, max(1, SCRATCH // (p * d * self.h.itemsize)))
        if T * S * (p + d) > p * d * (1 + T / count + S / buffered):
            return None
        delta, h = other.delta.reshape(-1, p).T, other.h.reshape(-1, d).T
        parts = []
        for samples in slices(size, 2 * T * count * S * self.h.itemsize):
            pairs = self.delta[samples].reshape(-1, p) @ delta
            pairs *= self.h[samples].reshape(-1, d) @ h
            parts.append(pairs.reshape(-1, T, count, S).sum((1, 3)))
        return module_of(self.h).concatenate(parts)

    def project(self, vectors: list) -> Any:
        lines, columns = vectors
        size, T, _ = self.delta.shape
        parts = []
        for samples in slices(size, 2 * T * lines.shape[1] * self.h.itemsize):
            numbers = self.delta[samples] @ lines
            numbers *= self.h[samples] @ columns
            parts.append(numbers.sum(1))
        return module_of(self.h).concatenate(parts)

    def inner(self, other: Any) -> None:
        return None


def _gram_squares(delta, h):
    grams = delta @ delta.swapaxes(1, 2)
    grams *= h @ h.swapaxes(1, 2)
    return grams.sum((1, 2))


def _direct_squares(delta, h):
    rows = delta.swapaxes(1, 2) @ h
    rows *= rows
    return rows.sum((1, 2))


@dataclass(frozen=True, eq=False)
class Formed:
    """Rows small enough to be formed at once: a bias or a scale; g (B, *shape)."""

    kind: ClassVar[str] = "formed"
    g: Any

    def rows(self, samples: slice, out: Any, scale: float) -> None:
        module_of(self.g).multiply(self.g[samples], scale, out=out)

    def squared_norms(self, squares: Callable) -> Any:
        return squares(self.g)

    def weighted_sum(self, weights: Any) -> Any:
        g = self.g
        return (weights @ g.reshape(g.shape[0], -1)).reshape(g.shape[1:])

    def squared_sum(self) -> Any:
        return (self.g * self.g).sum(0)

    def products(self, other: Any) -> Any:
        if not isinstance(other, Formed):
            return None
        return self.g.reshape(len(self.g), -1) @ other.g.reshape(len(other.g), -1).T

    def project(self, vectors: list) -> Any:
        return contracted(self.g, vectors, module_of(self.g))

    def inner(self, other: Any) -> None:
        return None
