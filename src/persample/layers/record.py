"""What one recorded pass tells about each sample: rows, norms, clipped sum, moments.

`Record` puts the forms of `closed` together, parameter by parameter, for NumPy and PyTorch alike;
where a parameter has no closed form, or is used twice, it forms rows a few samples at a time.
"""

import math
from collections.abc import Iterator
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import Any, NamedTuple

from .closed import slices, squares_once


class Moments(NamedTuple):
    """Mean and second moment of the rows: parameter name -> array of the parameter's shape."""

    mean: dict[str, Any]  # (1/B) sum_i g_i
    second_moment: dict[str, Any]  # (1/B) sum_i g_i^2, elementwise


class Record:
    """One forward and backward pass, read sample by sample.

    ``source`` is what collects the pass; it has ``xp`` (numpy or torch), ``parameters`` (name ->
    array), ``empty(shape, like)`` for fresh memory of an array's type and device, and
    ``collect()`` -> (B, name -> forms, one for each use of the parameter).
    """

    def __init__(self, source: Any, reduction: str) -> None:
        self._source, self._reduction = source, reduction

    def rows(self, out: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return parameter name -> (B, \\*shape): g_i of each sample's own loss, no factor 1/B.

        ``out`` is the dict of an earlier call: it is overwritten and returned, and no fresh
        memory is touched, which is most of what rows cost.
        """
        size, forms = self._source.collect()
        if out is None:
            out = {name: self._empty(name, size) for name in forms}
        self._check_buffers(out, size, forms)
        for name in forms:
            self._write(forms[name], slice(0, size), out[name], self._scale(size))
        return out

    def chunks(self, size: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``size`` samples at a time: memory stays flat in B.

        Each dict is the one before, overwritten: use it, then ask for the next.
        """
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise ValueError(f"chunks: size={size!r}; give a number of samples, 1 or more.")
        return self._chunks(int(size))

    def _chunks(self, step):
        total, forms = self._source.collect()
        buffers = {name: self._empty(name, min(step, total)) for name in forms}
        for start in range(0, total, step):
            samples = slice(start, min(start + step, total))
            part = {name: x[: samples.stop - start] for name, x in buffers.items()}
            for name in forms:
                self._write(forms[name], samples, part[name], self._scale(total))
            yield part

    def squared_norms(self) -> Any:
        """Return (B,): ||g_i||^2 over all parameters together, without forming the rows."""
        size, forms = self._source.collect()
        return self._unscaled_norms(size, forms) * self._scale(size) ** 2

    def clipped_sum(self, max_norm: float) -> dict[str, Any]:
        """Return sum_i g_i min(1, max_norm / ||g_i||): name -> (\\*shape), without the rows.

        The norm is over all parameters together, so a clipped row keeps its direction; nothing
        is added to the denominator. Source: Abadi et al. (2016); Lee & Kifer (2020).
        """
        if not isinstance(max_norm, Real) or isinstance(max_norm, bool) or not max_norm > 0:
            raise ValueError(
                f"clipped_sum: max_norm={max_norm!r}; give the largest norm of a row, a number "
                "above 0."
            )
        (size, forms), xp = self._source.collect(), self._source.xp
        scale, norms = self._scale(size), xp.sqrt(self._unscaled_norms(size, forms))
        if math.isfinite(max_norm):
            # The forms lack the factor scale: scale min(1, max_norm / (scale norm)).
            weights = max_norm / xp.clip(norms, min=max_norm / scale)
        else:
            weights = xp.full_like(norms, scale)
        return {name: self._weighted_sum(name, forms[name], weights) for name in forms}

    def moments(self) -> Moments:
        """Return mean and second moment of the rows, elementwise; variance is their difference.

        variance = second_moment - mean^2 (divided by B, not B - 1). A weight used at several
        positions has no closed second moment: its rows are formed a few samples at a time.
        """
        size, forms = self._source.collect()
        scale, xp = self._scale(size), self._source.xp
        mean, second = {}, {}
        for name, uses in forms.items():
            template = self._empty(name, size, ())
            weights = xp.full_like(template, scale / size)
            mean[name] = self._weighted_sum(name, uses, weights)
            squares = uses[0].squared_sum() if len(uses) == 1 else None
            if squares is None:
                squares = xp.zeros_like(self._empty(name, 1))[0]
                for _, rows in self._few(name, uses, size):
                    rows *= rows
                    squares += rows.sum(0)
            second[name] = squares * (scale * scale / size)
        return Moments(mean, second)

    def _scale(self, size):
        """Return what turns a cotangent of the batch's loss into one of the sample's own."""
        return float(size) if self._reduction == "mean" else 1.0

    def _empty(self, name, size, shape=None):
        like = self._source.parameters[name]
        shape = tuple(like.shape) if shape is None else shape
        return self._source.empty((size, *shape), like)

    def _write(self, uses, samples, out, scale):
        """Write the rows of some samples; the uses of one parameter add up."""
        if not uses:
            out[...] = 0
            return
        uses[0].rows(samples, out, scale)
        if len(uses) == 1:
            return
        for part in slices(out.shape[0], out[0].nbytes):
            more = self._source.xp.empty_like(out[part])
            for use in uses[1:]:
                use.rows(slice(samples.start + part.start, samples.start + part.stop), more, scale)
                out[part] += more

    def _few(self, name, uses, size):
        """Yield (samples, rows) in a work buffer, a few samples at a time, unscaled."""
        each, buffer = self._source.parameters[name].nbytes, None
        for samples in slices(size, each):
            count = samples.stop - samples.start
            buffer = self._empty(name, count) if buffer is None else buffer[:count]
            self._write(uses, samples, buffer, 1.0)
            yield samples, buffer

    def _unscaled_norms(self, size, forms):
        squares = squares_once()
        norms = (self._norms_of(name, forms[name], size, squares) for name in forms)
        return reduce(add, norms)  # `sum` begins with a 0: one operation more

    def _norms_of(self, name, uses, size, squares):
        norms = uses[0].squared_norms(squares) if len(uses) == 1 else None
        if norms is None:
            norms = self._source.xp.zeros_like(self._empty(name, size, ()))
            for samples, rows in self._few(name, uses, size) if uses else ():
                rows *= rows
                norms[samples] = rows.reshape(rows.shape[0], -1).sum(1)
        return norms

    def _weighted_sum(self, name, uses, weights):
        """Return sum_i w_i g_i. It is linear, so the uses of one parameter add up."""
        xp = self._source.xp
        if not uses:
            return xp.zeros_like(self._empty(name, 1))[0]
        weights = xp.asarray(weights, dtype=self._source.parameters[name].dtype)
        return reduce(add, [self._weighted_use(name, use, weights) for use in uses])

    def _weighted_use(self, name, use, weights):
        total = use.weighted_sum(weights)
        if total is None:
            total = 0
            for samples, rows in self._few(name, [use], weights.shape[0]):
                flat = rows.reshape(rows.shape[0], -1)
                total = total + (weights[samples] @ flat).reshape(rows.shape[1:])
        return total

    def _check_buffers(self, out, size, forms):
        if set(out) != set(forms):
            raise ValueError(
                f"rows: out has the entries {', '.join(sorted(out)) or 'none'}; it must have "
                f"{', '.join(sorted(forms))}: give the dict of an earlier call with this model."
            )
        for name in forms:
            like, x = self._source.parameters[name], out[name]
            need = (size, *like.shape)
            if tuple(x.shape) != need or x.dtype != like.dtype:
                raise ValueError(
                    f"rows: out[{name!r}] has shape {tuple(x.shape)} and type {x.dtype}; the rows "
                    f"need {need} and {like.dtype}: for a smaller batch give a part of each "
                    "buffer, {k: x[:B] for k, x in out.items()}, or give no out."
                )
