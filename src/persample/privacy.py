"""The two steps of DP-SGD: draw a Poisson batch, and average its clipped rows with noise.

They are separate from `statistics` because they promise privacy, under the conditions that each
docstring states. Computing (epsilon, delta) from noise and number of steps is left to maintained
libraries.
"""

import math
from numbers import Integral
from typing import Any

import numpy as np

from . import statistics
from .arrays import array_namespace, backend_of, is_traced, leaves, tree_map, widened
from .backends import backend, kind_of
from .checks import is_number, refuse_traced
from .recorder import Record

__all__ = ["noisy_mean", "poisson_batch"]


def poisson_batch(rng: "np.random.Generator", size: int, rate: float) -> np.ndarray:
    """Return a Poisson batch: each of ``size`` samples is in it with probability ``rate``.

    The samples are drawn independently of one another, so their number B differs from batch to
    batch; it is ``rate * size`` on average and sometimes 0. Privacy accountants of DP-SGD assume
    this sampling; their results do not hold for batches of a shuffled data set.

    Parameters
    ----------
    rng : an ``np.random.Generator``, made once and used for all steps.
    size : number of samples in the data set, 0 or more.
    rate : probability of each sample to be drawn, above 0 and at most 1.

    Returns
    -------
    (B,) integer indices of the samples, ascending.

    Raises
    ------
    ValueError : ``size`` or ``rate`` is out of range, or ``size`` is not an integer.
    TypeError : ``rng`` is not an np.random.Generator, or ``size`` or ``rate`` is traced.

    Example
    -------
    >>> rng = np.random.default_rng(0)
    >>> [poisson_batch(rng, 8, 0.25).tolist() for _ in range(3)]
    [[2, 3], [3, 5, 7], [4, 5]]

    Source: Abadi et al. (2016), algorithm 1 and section 3.1; Mironov et al. (2019).
    """
    _check_generator("poisson_batch", rng)
    refuse_traced("poisson_batch", size=size, rate=rate)
    if not is_number(rate) or not 0 < rate <= 1:
        raise ValueError(
            f"poisson_batch: rate={rate!r}; give the probability of a sample to be drawn, above 0 "
            "and at most 1."
        )
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 0:
        raise ValueError(
            f"poisson_batch: size={size!r}; give the number of samples in the data set, a whole "
            "number, 0 or more."
        )
    return np.flatnonzero(rng.random(int(size)) < rate)


def noisy_mean(
    rows: Any = None,
    max_norm: float | None = None,
    *,
    noise_multiplier: float,
    divisor: float,
    rng: Any,
    total: Any = None,
) -> Any:
    """Return (sum_i g_i min(1, max_norm / |g_i|) + noise) / divisor: the gradient of DP-SGD.

    The noise is normal and independent in every entry, with the standard deviation
    ``noise_multiplier * max_norm``, and is added once, to the sum. No rows are formed if a
    `Record` or ``total``, the result of `clipped_grad_sum`, is given.

    One call is a Gaussian mechanism: adding or removing one sample changes the sum by a vector of
    norm at most ``max_norm``, up to rounding. It does *not* guarantee (epsilon, delta) for a
    whole training, which an accountant computes from all steps. Nor is it private where a row
    depends on other samples (batch normalisation), where ``divisor`` or ``max_norm`` depends on
    which samples were drawn or are in the data set, where ``total`` was clipped to another norm
    or with weights above 1, or where ``rng`` can be guessed. NumPy's and JAX's generators are not
    cryptographic, and floating-point noise is not exactly normal. Use a maintained library for
    real data.

    If n processes add their results, give each process its own rows and its own ``rng``, the
    common ``divisor``, and noise_multiplier / sqrt(n): their sum then has the noise stated above.

    Parameters
    ----------
    rows : the rows from ``per_sample_grad`` or ``record.rows()``, samples along axis 0, or a
        `Record`. Rows of an empty batch, of shape (0, \\*shape), give noise alone.
    max_norm : the bound on the norm of a whole row.
    noise_multiplier : standard deviation of the noise in units of ``max_norm``. 0 adds no noise,
        and the result is then not private.
    divisor : a number fixed beforehand, such as ``rate`` times a public number that does not
        change when a sample is added or removed. Do not use the number of rows or of samples in
        the data set: the noise is divided too, so its size would reveal that number.
    rng : an ``np.random.Generator``, made once and used for all steps. With JAX it can be a key,
        a new one for each step; the call then works within ``jax.jit``, where max_norm,
        noise_multiplier and divisor may be traced too. Traced values are not checked.
    total : instead of ``rows``, their clipped sum, a tree like one row, from `clipped_grad_sum`,
        `statistics.clipped_sum` or ``record.clipped_sum`` with this ``max_norm``.

    Returns
    -------
    tree like one row, in float32 for 16-bit rows.

    Raises
    ------
    ValueError : a max_norm or divisor that is not finite and above 0, a noise_multiplier that is
        not finite and at least 0, an infinite or NaN entry in the sum, arrays of rows with
        different numbers of samples.
    TypeError : an ``rng`` that is not a generator, a NumPy generator for traced rows, rows that
        are not real, both rows and total, or neither.

    Example
    -------
    >>> rows = np.array([[3.0, 4.0], [0.3, 0.4]])
    >>> rng = np.random.default_rng(0)
    >>> noisy_mean(rows, 1.0, noise_multiplier=0.0, divisor=2, rng=rng)
    array([0.45, 0.6 ])
    >>> noisy_mean(rows, 1.0, noise_multiplier=1.1, divisor=2, rng=rng).round(3)
    array([0.802, 0.658])

    Source: Abadi et al. (2016), algorithm 1, with a fixed divisor.
    """
    if (rows is None) == (total is None):
        raise TypeError("noisy_mean: give either rows or a record, or total=, a clipped sum.")
    settings = {"max_norm": max_norm, "divisor": divisor, "noise_multiplier": noise_multiplier}
    if kind_of(rng) != "jax":
        _check_generator("noisy_mean", rng)
        refuse_traced("noisy_mean", **settings)
    known = {name: x for name, x in settings.items() if not is_traced(x)}
    for name in known.keys() - {"noise_multiplier"}:
        if not is_number(known[name]) or not 0 < known[name] < math.inf:
            raise ValueError(f"noisy_mean: {name}={known[name]!r}; give a finite number above 0.")
    sigma = known.get("noise_multiplier", 0)
    if not is_number(sigma) or not 0 <= sigma < math.inf:
        raise ValueError(
            f"noisy_mean: noise_multiplier={sigma!r}; give the standard deviation of "
            "the noise in units of max_norm, a finite number, 0 or more."
        )
    scale = noise_multiplier * max_norm
    if len(known) == 3 and not math.isfinite(scale):
        raise ValueError(
            f"noisy_mean: noise_multiplier={noise_multiplier!r} times max_norm={max_norm!r} is no "
            "finite number; give smaller ones."
        )
    if isinstance(rows, Record):
        total = rows.clipped_sum(max_norm)
    elif total is None:
        _check_rows(rows)
        total = statistics.clipped_sum(rows, max_norm)
    total = tree_map(widened, total)
    draw = _drawer(rng, total)
    return tree_map(lambda x: (_finite(x) + scale * draw(x)) / divisor, total)


def _drawer(rng, total):
    """Return draw(x), which draws standard normal noise of x's shape, dtype and device."""
    if kind_of(rng) == "jax" and backend_of(total) == "jax":
        return backend("jax").normal(rng)
    _check_generator("noisy_mean", rng)
    return lambda x: _drawn(rng, x)


def _drawn(rng, x):
    if is_traced(x):
        raise TypeError(
            "noisy_mean: the rows are traced, as inside jax.jit, where the noise of a NumPy "
            "generator would be drawn once for all calls; call it outside, on the rows that the "
            "compiled function returns, or give a JAX key as rng."
        )
    noise = rng.normal(size=tuple(x.shape))
    return array_namespace(x).asarray(noise, dtype=x.dtype, device=x.device)


def _finite(x):
    xp = array_namespace(x)
    finite = xp.all(xp.isfinite(x))
    if not is_traced(finite) and not bool(finite):
        raise ValueError(
            "noisy_mean: a row has an entry that is not finite, and no noise hides that; find "
            "the sample, or leave such rows out by a rule that you fix beforehand."
        )
    return x


def _check_rows(rows):
    arrays = leaves(rows)
    for x in arrays:
        if "float" not in str(x.dtype):  # bfloat16 too, in each backend
            raise TypeError(
                f"noisy_mean: rows of dtype {x.dtype}, in which noise or norm would be wrong; "
                "give real floating-point numbers."
            )
    counts = {x.shape[0] if x.ndim else None for x in arrays}
    if len(counts) > 1 or None in counts:
        shapes = ", ".join(str(tuple(x.shape)) for x in arrays)
        raise ValueError(
            f"noisy_mean: the rows have the shapes {shapes}; axis 0 must be the samples, as many "
            "in each array."
        )


def _check_generator(where, rng):
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{where}: rng is of type {type(rng).__name__}; give a np.random.Generator, made "
            "once and used for all steps."
        )
