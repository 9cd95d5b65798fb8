"""`ParameterRows`: the rows of one parameter, as the sum of the forms of its uses.

Its methods compute from the closed forms or, where one returns None, from the rows, formed a few
samples at a time.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import torch
from torch import Tensor

from .. import statistics
from ..projection import contracted
from .buffers import empty, part_of, slices, wide
from .forms import Form, Formed

# Smallest ratio of the squared norm of a sum of uses to the sum of their squared norms at which
# the closed form is trusted.
CANCELLED = 1e-2


class ParameterRows:
    """The rows of one parameter, (B, \\*shape): the sum of the rows of ``forms``; B is ``size``.

    Without forms the rows are 0: the losses do not depend on the parameter. ``rows`` writes in the
    dtype of ``out``; everything else is float32 at least.
    """

    def __init__(self, parameter: Tensor, forms: list[Form], size: int) -> None:
        self.parameter, self.forms, self.size = parameter, forms, size
        self._kinds: list[str] | None = None  # of the forms that `cache_rows` replaced

    @property
    def kind(self) -> str:
        """Return the kinds of the forms, joined by " + ", or "unused" without forms."""
        kinds = [form.kind for form in self.forms] if self._kinds is None else self._kinds
        return " + ".join(dict.fromkeys(kinds)) or "unused"

    def empty(self, size: int) -> Tensor:
        """Return an uninitialised tensor for the rows of ``size`` samples, in their dtype."""
        return empty((size, *self.parameter.shape), self.parameter, self.parameter.dtype)

    def work(self, size: int) -> Tensor:
        """Return an uninitialised tensor for the rows of ``size`` samples, float32 at least."""
        return empty((size, *self.parameter.shape), self.parameter, wide(self.parameter.dtype))

    def asarray(self, x: Any) -> Tensor:
        """Return x as a tensor on the parameter's device, float32 at least, without a graph."""
        x = x.detach() if isinstance(x, Tensor) else x
        return torch.asarray(x, dtype=wide(self.parameter.dtype), device=self.parameter.device)

    def zeros(self, *shape: int) -> Tensor:
        return self.parameter.new_zeros(shape, dtype=wide(self.parameter.dtype))

    def rows(self, samples: slice, out: Tensor) -> None:
        """Write the rows of a slice of samples into ``out``; 16-bit ones are summed in float32."""
        if wide(out.dtype) == out.dtype:
            return self._add_up(samples, out)
        for part in slices(len(out), 2 * out[0].nbytes):
            work = self.work(part.stop - part.start)
            self._add_up(part_of(samples, part), work)
            out[part] = work

    def _add_up(self, samples, out):
        if not self.forms:
            out.zero_()
            return
        self.forms[0].rows(samples, out)
        for part in slices(len(out), out[0].nbytes) if len(self.forms) > 1 else ():
            more = torch.empty_like(out[part])
            for form in self.forms[1:]:
                form.rows(part_of(samples, part), more)
                out[part] += more

    def few(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield (slice of samples, their rows); every step overwrites the same work buffer."""
        buffer = None
        for samples in slices(self.size, self.parameter.nbytes):
            count = samples.stop - samples.start
            buffer = self.work(count) if buffer is None else buffer[:count]
            self._add_up(samples, buffer)
            yield samples, buffer

    def cache_rows(self, most: int) -> int:
        """Replace the forms by stored rows if norms need rows and they fit into ``most`` bytes.

        Return the bytes stored, else 0. A sum after the norms then need not form the rows again.
        """
        nbytes = self.size * self.parameter.numel() * wide(self.parameter.dtype).itemsize
        if nbytes > most or not any(form.needs_rows for form in self.forms):
            return 0
        rows, self._kinds = self.work(self.size), [form.kind for form in self.forms]
        self._add_up(slice(0, self.size), rows)
        self.forms = [Formed(rows)]
        return nbytes

    def squared_norms(self) -> Tensor:
        """Return the squared norms of this parameter's rows, (B,)."""
        norms = self.closed_norms()
        if norms is None:
            norms = self.zeros(self.size)
            for samples, rows in self.few():
                rows *= rows
                norms[samples] = rows.reshape(len(rows), -1).sum(1)
        return norms

    def closed_norms(self) -> Tensor | None:
        """Return the squared norms from closed forms, (B,), or None if rows are needed.

        The squared norm of a sum of uses is the sum of their squared norms plus twice the sum of
        the inner products of pairs. Return None also if these nearly cancel, since the result
        would then be mostly rounding error.
        """
        parts = [form.squared_norms() for form in self.forms]
        if not parts:
            return self.zeros(self.size)
        if any(part is None for part in parts):
            return None
        apart = norms = reduce(add, parts)
        for form, other in combinations(self.forms, 2):
            product = form.inner(other)
            product = other.inner(form) if product is None else product
            if product is None:
                return None
            norms = norms + 2 * product
        return norms if len(parts) == 1 or bool((norms >= CANCELLED * apart).all()) else None

    def weighted_sum(self, weights: Tensor, drops: bool = False) -> Tensor:
        """Return sum_i w_i g_i, (\\*shape).

        With ``drops`` a sample of weight 0 is left out even if its row is not finite.
        """
        weights = weights.to(wide(self.parameter.dtype))
        each = [self._weighted_use(form, weights, drops) for form in self.forms]
        return reduce(add, each) if each else self.zeros(*self.parameter.shape)

    def _weighted_use(self, form, weights, drops):
        total = form.weighted_sum(weights)
        if total is not None and not (drops and not bool(total.isfinite().all())):
            return total
        total = self.zeros(*self.parameter.shape)
        for samples, rows in ParameterRows(self.parameter, [form], self.size).few():
            taken = weights[samples] != 0
            flat = rows.reshape(len(rows), -1)[taken]
            total += (weights[samples][taken] @ flat).view_as(total)
        return total

    def squared_sum(self) -> Tensor:
        """Return sum_i g_i^2, elementwise, (\\*shape)."""
        total = self.forms[0].squared_sum() if len(self.forms) == 1 else None
        if total is None:
            total = self.zeros(*self.parameter.shape)
            for _, rows in self.few():
                rows *= rows
                total += rows.sum(0)
        return total

    def products(self, other: "ParameterRows") -> Tensor:
        """Return g_i . g'_j, (B, B'), with g' the same parameter's rows in another record."""
        if len(self.forms) == len(other.forms) == 1:
            products = self.forms[0].products(other.forms[0])
            if products is not None:
                return products
        total = self.zeros(self.size, other.size)
        for samples, rows in self.few():
            for others, columns in other.few():
                flat = columns.reshape(len(columns), -1)
                total[samples, others] = rows.reshape(len(rows), -1) @ flat.T
        return total

    def project(self, vectors: list) -> Tensor:
        """Return a_k^T g_i c_k, (B, k), or a_k . g_i for a vector; a, c from `Signs.vectors`."""
        vectors = [self.asarray(v) for v in vectors]
        total = self.zeros(self.size, vectors[0].shape[1])
        for form in self.forms:
            part = form.project(vectors)
            if part is None:
                few = ParameterRows(self.parameter, [form], self.size).few()
                part = torch.cat([contracted(rows, vectors, torch) for _, rows in few])
            total += part
        return total


def squares_and_norms(of_parameters: dict[str, ParameterRows]) -> tuple[Tensor, Tensor]:
    """Return (squared norms, norms), each (B,), of the rows over all parameters together.

    If a square overflows or underflows, the norm is computed from the row, with scaling.
    """
    squares = reduce(add, [rows_of.squared_norms() for rows_of in of_parameters.values()])
    norms, limits = squares.sqrt(), torch.finfo(squares.dtype)
    smallest, least, most = limits.tiny / limits.eps, *map(float, squares.aminmax())
    if not smallest <= least <= most < torch.inf:
        lost = (squares < smallest) | ~squares.isfinite()
        _form_norms(of_parameters, lost, norms)
        squares[lost] = norms[lost].square()  # in its own type, where it may become inf
    return squares, norms


def _form_norms(of_parameters, lost, norms):
    """Replace ``norms`` (B,), where the mask ``lost`` (B,) is true, by norms from the rows."""
    first, last = lost.nonzero().flatten()[[0, -1]].tolist()
    parts = list(slices(last + 1 - first, sum(u.parameter.nbytes for u in of_parameters.values())))
    buffers = {name: rows_of.work(parts[0].stop) for name, rows_of in of_parameters.items()}
    for part in parts:
        samples = part_of(slice(first, None), part)
        if not bool(lost[samples].any()):
            continue
        rows = {name: buffer[: part.stop - part.start] for name, buffer in buffers.items()}
        for name, rows_of in of_parameters.items():
            rows_of._add_up(samples, rows[name])
        # Rows of masked-out samples are 0, and that is faster to test.
        chosen, is_zero = lost[samples], not any(bool(x.any()) for x in rows.values())
        norms[samples][chosen] = 0 if is_zero else statistics.norms(rows)[chosen]
