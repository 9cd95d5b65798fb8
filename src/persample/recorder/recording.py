"""`Record`: rows, norms, clipped sums, moments and products of a recorded pass.

It combines the results of each parameter's `ParameterRows`. Modules that need PyTorch are imported
inside methods, since the package must be importable without it.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from ..checks import is_count, is_number
from ..projection import Signs


class Moments(NamedTuple):
    """Mean and second moment of the rows: parameter name -> array of the parameter's shape."""

    mean: dict[str, Any]  # (1/B) sum_i g_i
    second_moment: dict[str, Any]  # (1/B) sum_i g_i^2, elementwise


@dataclass(frozen=True)
class NoiseScale:
    """Unbiased estimates for the gradient noise scale, tr(Sigma) / |G|^2.

    G is the expected row, Sigma the covariance of one row. ``signal`` estimates |G|^2, and may be
    negative; ``noise`` estimates tr(Sigma). Both are means over ``batches`` batches, and ``a + b``
    has the means over the batches of both.
    """

    signal: float
    noise: float
    batches: int = 1

    @property
    def value(self) -> float:
        """Return noise / signal: the batch size B at which tr(Sigma) / B equals |G|^2."""
        return self.noise / self.signal

    def __add__(self, other: "NoiseScale") -> "NoiseScale":
        if other == 0:  # where sum() begins
            return self
        batches = self.batches + other.batches
        signal = self.signal * self.batches + other.signal * other.batches
        noise = self.noise * self.batches + other.noise * other.batches
        return NoiseScale(signal / batches, noise / batches, batches)

    __radd__ = __add__


class Record:
    """The per-sample results of one forward and backward pass of a model.

    Row i is g_i = d loss_i / d params, without a factor 1/B. Rows have the dtype of their
    parameter; norms, sums and moments are float32 for float16 and bfloat16 parameters. ``capture``
    is the pass, a `capture.TorchCapture`.

    Every result of a record is a constant: it has no graph, so a penalty computed from it changes
    no gradient. For a differentiable penalty use `per_sample_grad` of a loss that runs the model
    by ``torch.func.functional_call``: its rows keep the graph.

    Every method but `backward` raises RuntimeError if `backward` was not called, or if a tensor
    that it needs was changed in place after the pass.
    """

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self._norms: tuple | None = None  # (squares, norms), once they are known

    def __reduce__(self):
        raise TypeError(
            "record: a record holds the graph of its pass and can be neither copied nor pickled; "
            "keep what it gives, such as record.rows()."
        )

    def backward(
        self, losses: Any, *, retain_graph: bool = False, accumulate: bool = False
    ) -> None:
        """Run the backward pass from ``losses``, a tensor (B,) of one loss per sample.

        Gradients are not divided by B. ``.grad`` stays as it is; with ``accumulate=True`` the sum
        of the rows is added to it, as by ``losses.sum().backward()``. ``retain_graph=True`` keeps
        what `check` needs.

        Raises
        ------
        TypeError : ``losses`` is not a tensor.
        ValueError : ``losses`` is not one-dimensional, or is empty.
        RuntimeError : ``losses`` depends on no parameter, or `backward` was already called.
        NotImplementedError : a parameter has a hook, or a custom Function may hide its use.
        """
        self._capture.backward(losses, retain_graph, accumulate)

    def rows(self, out: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the rows, the gradient of each sample's loss: parameter name -> (B, \\*shape).

        ``out`` is a dict from an earlier call, which is overwritten and returned to save the
        allocation. Its arrays must share no memory with the parameters or other tensors of the
        pass. Raise ValueError if its names, shapes or dtypes differ. Rows are constant: they have
        no graph.
        """
        size, by_name = self._capture.collect()
        out = self._capture.memory(size) if out is None else out
        self._check_out(out, size)
        step = min([size, *(form.at_once for each in by_name.values() for form in each.forms)])
        for start in range(0, size, step):
            samples = slice(start, min(start + step, size))
            self._capture.write(samples, {name: x[samples] for name, x in out.items()})
        return out

    def _check_out(self, out, size):
        parameters = self._capture.parameters
        if not isinstance(out, dict) or out.keys() != parameters.keys():
            raise ValueError(
                f"rows: out is no dict with the names {', '.join(parameters)}; give the rows of "
                "an earlier call, or no out."
            )
        for name, p in parameters.items():
            x = out[name]
            given = getattr(x, "shape", None), getattr(x, "dtype", None)
            if given != ((size, *p.shape), p.dtype):
                raise ValueError(
                    f"rows: out[{name!r}] is of shape and type {given}; the rows need "
                    f"{(size, *p.shape)} and {p.dtype}: give the rows of an earlier call, or no "
                    "out."
                )

    def chunks(self, chunk_size: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``chunk_size`` samples at a time, as `rows` returns them.

        The last chunk may be smaller. All chunks share one buffer, whose size does not grow with
        B: each chunk overwrites the one before. Rows are constant (no graph). Raise ValueError
        unless chunk_size is a positive integer.
        """
        if not is_count(chunk_size):
            raise ValueError(
                f"chunks: chunk_size={chunk_size!r}; give a number of samples, 1 or more."
            )
        return self._chunks(int(chunk_size))

    def _chunks(self, step):
        size, _ = self._capture.collect()
        buffers = self._capture.memory(min(step, size))
        for start in range(0, size, step):
            samples = slice(start, min(start + step, size))
            part = {name: x[: samples.stop - start] for name, x in buffers.items()}
            self._capture.write(samples, part)
            yield part

    def squared_norms(self, names: Iterable[str] | None = None) -> Any:
        """Return the squared norms of the rows, ||g_i||^2, (B,), mostly without forming rows.

        The norm is over all parameters together or, with ``names`` (a name or several), over
        these alone; unknown names raise ValueError. Rows that the norms of all parameters need
        are cached, up to 64 MiB in all, for a sum that is computed later.

        The result is a constant: in ``losses.mean() + lam * record.squared_norms().mean()`` the
        penalty has no gradient.
        """
        if names is None:
            squares, _ = self._squares_and_norms()
            return squares.clone()
        from .parameter_rows import squares_and_norms

        _, by_name = self._capture.collect()
        names = [names] if isinstance(names, str) else names
        chosen = {name: by_name.get(name) for name in names}
        if not chosen or None in chosen.values():
            unknown = [name for name, each in chosen.items() if each is None]
            raise ValueError(
                f"squared_norms: {', '.join(map(repr, unknown)) or 'no name'} is not among the "
                f"recorded parameters: {', '.join(by_name)}; give one or more of these."
            )
        return squares_and_norms(chosen)[0]

    def _squares_and_norms(self):
        """Return (squared norms, norms), (B,) each, computed at the first call and then cached."""
        from .buffers import CACHE_BYTES
        from .parameter_rows import squares_and_norms

        _, by_name = self._capture.collect()
        if self._norms is None:
            left = CACHE_BYTES
            for each in by_name.values():
                left -= each.cache_rows(left)
            self._norms = squares_and_norms(by_name)
        return self._norms

    def clipped_sum(self, max_norm: float) -> dict[str, Any]:
        """Return the sum of the clipped rows, sum_i g_i min(1, max_norm / ||g_i||).

        The result is a dict, parameter name -> (\\*shape), of constants without a graph. The norm
        is over all parameters together, so a clipped row keeps its direction. By itself the sum
        is not private: `privacy.noisy_mean` adds the noise. Raise ValueError if max_norm is not a
        number above 0, or if a row is not finite.

        Source: Abadi et al. (2016); Lee & Kifer (2020).
        """
        _, by_name = self._capture.collect()
        weights = self._clipping(max_norm)
        return {name: each.weighted_sum(weights) for name, each in by_name.items()}

    def add_clipped_sum(self, max_norm: float, scale: float = 1.0) -> None:
        """Add ``scale`` times the clipped sum to each parameter's ``.grad``, for any optimiser.

        Call it once for each micro-batch; with ``scale`` = 1 / (size of the whole batch) ``.grad``
        then holds the mean of the clipped rows. The sum is added by one backward pass, so each
        call runs the hooks registered with ``register_post_accumulate_grad_hook``. Errors are as
        in `clipped_sum`.
        """
        total = self.clipped_sum(max_norm)
        self._capture.accumulate({name: x * scale for name, x in total.items()})

    def add_weighted_sum(self, weights: Any) -> None:
        """Add `weighted_sum`, with weights (B,), to each parameter's ``.grad``.

        It is added by one backward pass, as in `add_clipped_sum`.
        """
        self._capture.accumulate(self.weighted_sum(weights))

    def weighted_sum(self, weights: Any) -> dict[str, Any]:
        """Return the weighted sum of the rows, sum_i w_i g_i: parameter name -> (\\*shape).

        A sample of weight 0 is left out, even if its row is inf or NaN. The result is a constant,
        without a graph. Raise ValueError unless the weights are of shape (B,).
        """
        size, by_name = self._capture.collect()
        weights = next(iter(by_name.values())).asarray(weights)
        if tuple(weights.shape) != (size,):
            raise ValueError(
                f"weighted_sum: the weights have shape {tuple(weights.shape)}; give one number "
                f"for each sample, ({size},)."
            )
        drops = bool((weights == 0).any())
        return {name: each.weighted_sum(weights, drops) for name, each in by_name.items()}

    def _clipping(self, max_norm):
        """Return (B,): min(1, max_norm / ||g_i||); raise ValueError if a norm is not finite."""
        if getattr(max_norm, "shape", None) == ():
            max_norm = float(max_norm.detach() if hasattr(max_norm, "detach") else max_norm)
        if not is_number(max_norm) or not max_norm > 0:
            raise ValueError(
                f"clipped_sum: max_norm={max_norm!r}; give the largest norm of a row, a number "
                "above 0."
            )
        _, norms = self._squares_and_norms()
        if not bool(norms.isfinite().all()):
            bad = [i for i, norm in enumerate(norms) if not math.isfinite(norm)]
            raise ValueError(
                f"clipped_sum: the row of sample {bad[0]} is not finite ({len(bad)} in all); find "
                "the cause, or leave such samples out: weighted_sum(w) with weight 0."
            )
        return 1 / (norms / max_norm).clip(min=1)

    def noise_scale(self) -> NoiseScale:
        """Return the `NoiseScale` of this batch, whose estimates are Python numbers.

        One batch gives a poor estimate. Add the results of many batches by +, which averages the
        estimates, and take ``.value`` of the sum. Raise ValueError for a batch of one sample.

        Source: McCandlish et al. (2018), appendix A.
        """
        squares = self.squared_norms()
        size = len(squares)
        if size < 2:
            raise ValueError("noise_scale: 1 sample; at least 2 are needed.")
        mean = self.weighted_sum(squares.new_full((size,), 1 / size))
        of_mean = sum(float((x * x).sum()) for x in mean.values())
        noise = (float(squares.sum()) / size - of_mean) * size / (size - 1)
        return NoiseScale(of_mean - noise / size, noise)

    def moments(self) -> Moments:
        """Return mean and second moment of the rows, elementwise, as two dicts.

        Both are averages over the B samples, so second_moment - mean^2 is the variance divided by
        B, not B - 1. They are constants, without a graph. For the second moment of a weight that
        is used at several positions, rows are formed, a few samples at a time.
        """
        size, by_name = self._capture.collect()
        means = next(iter(by_name.values())).zeros(size) + 1 / size
        mean = {name: each.weighted_sum(means) for name, each in by_name.items()}
        second = {name: each.squared_sum() / size for name, each in by_name.items()}
        return Moments(mean, second)

    def gram(self, other: "Record | None" = None) -> Any:
        """Return the inner products g_i . g'_j of this record's rows and those of ``other``.

        The result, (B, B'), is over all parameters together, and a constant without a graph.
        ``other`` is a record of the same model with a batch of any size. By default it is this
        record, and the diagonal holds the squared norms.

        Most products need no row. For a weight used once by each sample they are the entrywise
        product of two Gram matrices, (delta_i . delta'_j) (h_i . h'_j); for a weight used at T
        positions, sums of T x T' such products, where that is cheaper than rows. For convolutions,
        tables and parameters used twice, rows are formed, a few samples at a time.

        Raises
        ------
        TypeError : ``other`` is not a record.
        ValueError : the names, shapes or dtypes of the two records' parameters differ.

        Source: Pruthi et al. (2020) for gradients of losses, Jacot et al. (2018) for gradients of
        outputs; Goodfellow (2015) for the factors, Wang et al. (2025) for products of pairs.
        """
        if other is not None and not isinstance(other, Record):
            raise TypeError(
                f"gram: other is of type {type(other).__name__}; give the record of another pass, "
                "what `with ps.record(model) as record` gives."
            )
        other = self if other is None else other
        (_, mine), (_, theirs) = self._capture.collect(), other._capture.collect()
        needed, given = [
            {name: (each.parameter.shape, each.parameter.dtype) for name, each in by_name.items()}
            for by_name in (mine, theirs)
        ]
        if given != needed:
            raise ValueError(
                "gram: the two records have different parameters; give one of the same model, "
                "with the same trained parameters, shapes and types."
            )
        return reduce(add, [each.products(theirs[name]) for name, each in mine.items()])

    def project(self, dim: int, seed: int = 0) -> Any:
        """Return random projections z_i of the rows, (B, dim), with E[z_i . z_j] = g_i . g_j.

        They equal `statistics.project` of these rows, which uses the same signs. Projections of
        several records of one model with the same ``dim`` and ``seed`` can be stored, and their
        inner products taken later. For a layer p x d at T positions they cost about T (p + d) dim
        multiplications per sample; rows are formed only where there is no closed form. The result
        is a constant, without a graph. Errors are as in `statistics.project`.

        Source: Choe et al. (2024) for projections of both factors.
        """
        signs, total = Signs("project", dim, seed), 0
        _, by_name = self._capture.collect()
        for name in sorted(by_name):
            total = total + by_name[name].project(
                signs.vectors(tuple(by_name[name].parameter.shape))
            )
        return total / math.sqrt(dim)

    def forms(self) -> dict[str, str]:
        """Return parameter name -> kind of closed form, which decides the cost of norms.

        - "outer product", "formed": norms from the factors or from small rows, which is cheap;
        - "sum of outer products", "convolution", "lookup": norms from matrix products of about
          the cost of the ordinary pass, a few samples at a time;
        - "rows": norms from the rows, formed a few samples at a time;
        - "rows, sample by sample from CumsumBackward0": rows from one run of autograd per
          sample, since no rule applies to the named operation.

        For a parameter used in several ways the kinds are joined by " + "; for one on which the
        losses do not depend the kind is "unused".
        """
        _, by_name = self._capture.collect()
        return {name: each.kind for name, each in by_name.items()}

    def check(self, samples: Iterable[int] = (0,)) -> dict[str, float]:
        """Compare the rows of a few samples with the gradients of their losses.

        Sample i's row must equal ``torch.autograd.grad(losses[i], parameters)`` on the same
        graph, kept by ``record.backward(losses, retain_graph=True)``. Return parameter name -> the
        largest difference, relative to the norm of the gradient. Raise RuntimeError for a
        difference that is too large or if the graph was not kept, IndexError if the batch has no
        such sample.
        """
        from .check import check_rows

        return check_rows(self._capture, tuple(samples))
