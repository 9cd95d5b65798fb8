"""Wrong calls of the package: ERRORS is {name: (function, exception class, part of the message)}.

The function takes no arguments and raises the exception. If the name has no space, the message is
quoted in reference/errors.md.
"""

import dataclasses
import itertools
import sys
from functools import partial

import numpy as np
import pytest

import persample as ps
from persample.arrays import backend_of
from support.cases import arrays, rewards, states, theta
from support.precision import enable_x64

torch = pytest.importorskip("torch")  # most calls pass its arrays
rows, mean = ps.per_sample_grad(ps.squared_loss), ps.mean_grad(ps.squared_loss)
masked = partial(np.ma.array, mask=states > 0)
mean_of_each = ps.mean_grad(ps.squared_loss, (0, 0, 0))
with_axes = partial(ps.per_sample_grad, ps.squared_loss)
td_rows = ps.per_sample_grad(ps.td_loss)
torch_theta, torch_states, torch_rewards = arrays((theta, states, rewards), "torch")


class Series:
    """An array type of another library, which NumPy can convert."""

    def __array__(self, dtype=None, copy=None):
        return rewards


@dataclasses.dataclass
class Weights:
    w: object


class Image(torch.Tensor):
    """A subclass of tensors."""


def jax_in_32_bits():
    with enable_x64(False):
        ps.backend("jax").asarray([1.0])


def deleted():
    """Call with a JAX array that was deleted, as by donation."""
    given = arrays((theta + states, states, rewards), "jax")
    given[0].delete()
    with_axes((0, 0, 0))(*given)


def an_image():
    rows(torch_theta, torch_states.as_subclass(Image), torch_rewards)


def by_float():
    ps.loop_grad(lambda t, x: float(t[0]) * x)(torch_theta, torch_states)


def at_random():
    ps.per_sample_grad(lambda t, x: x.bernoulli())(torch_theta, 0 * torch_rewards)


def without_torch():
    names = ("torch", "persample.backends.torch_backend")
    kept = {name: sys.modules.pop(name) for name in names}
    sys.modules["torch"] = None  # Python's own way of saying that a module is not there
    try:
        ps.backend("torch")
    finally:
        sys.modules.update(kept)


def two_values():
    count = itertools.count(1)
    rows_of = ps.per_sample_grad(lambda *given: next(count) * ps.squared_loss(*given))
    rows_of(theta, states, rewards)


def returning(value, **options):
    """Return a function that calls per_sample_grad with a loss that returns ``value``."""
    return lambda: ps.per_sample_grad(lambda t, x: value, **options)(theta, states)


t, x, y = theta, states, rewards
clipped = ps.clipped_grad_sum(ps.squared_loss)
# What to do, the kind of error, and words of it.
ERRORS = {
    # What the call is made of
    "no-array": (lambda: rows([1.0], [[2.0]], [3.0]), TypeError, "(list, list, list) hold no"),
    "mixed": (lambda: rows(t, torch_states, y), TypeError, "(argument 0) and torch (argument 1);"),
    "two in one tree": (lambda: backend_of({"a": t, "b": torch_states}), TypeError, "(argument"),
    "keywords": (lambda: td_rows(t, x, y, x, gamma=0.9), TypeError, "has the keyword arguments"),
    "list": (lambda: mean(t, x, [1.0, 2.0]), TypeError, "argument 2 is batched and holds 1.0, a"),
    "integer": (lambda: rows(np.array([1, 2, 3]), x, y), TypeError, "parameters is int64; gra"),
    "list-parameters": (lambda: rows([0.1, 0.2], x, y), TypeError, "[0] is a Python float;"),
    "complex-parameters": (lambda: rows({"w": 1j * t}, x, y), TypeError, "['w'] is complex"),
    "parameter-kind": (lambda: rows({"b": "text"}, x, y), TypeError, "['b'] is a str; give"),
    # Arrays that are refused
    "foreign": (lambda: rows(t, x, Series()), TypeError, "argument 2 holds a Series of support"),
    "dataclass": (lambda: rows(Weights(t), x, y), TypeError, "argument 0 holds a Weights, a"),
    "subclass": (lambda: rows(t, masked(x), y), TypeError, "MaskedArray"),
    "a matrix": (lambda: mean(t, x.view(np.matrix), y), TypeError, "argument 1 holds a matrix,"),
    "subclass-torch": (an_image, TypeError, "argument 1 holds a Image, a subclass of Tensor"),
    "an array of text": (lambda: rows(t, x, y.astype(str)), TypeError, "holds an array of type"),
    "the other byte order": (lambda: rows(t, x.astype(">f8"), y), TypeError, "type >f8, whose"),
    "a seed that is traced": (
        lambda: ps.engine.jit(lambda seed: ps.statistics.project(states, 4, seed))(np.array(1)),
        TypeError,
        "project: seed is traced, and must be a Python number here",
    ),
    "deleted": (deleted, TypeError, "argument 0 holds a deleted JAX array, whose"),
    # The batch
    "zero-d": (lambda: rows(t, x, y[0]), ValueError, "argument 2 is 0-d, so it has no axis 0"),
    "sizes": (lambda: rows(t, x, y[:2]), ValueError, "sizes differ: 5 (argument 1), 2 (argument"),
    "empty": (lambda: rows(t, x[:0], y[:0]), ValueError, "per_sample_grad: the batch is empty;"),
    # in_axes
    "axes-length": (lambda: with_axes((None, 0))(t, x, y), ValueError, "has 2 entries, the call"),
    "axes-entry": (lambda: with_axes((None, False, 0))(t, x, y), ValueError, "the entry False"),
    "axes-fit": (lambda: with_axes((None, (0,), 0))(t, x, y), ValueError, "(0,), which does not"),
    "axes-kind": (lambda: with_axes("00")(t, x, y), TypeError, "in_axes is '00'; give a tuple"),
    "none-batched": (lambda: with_axes((None,) * 3)(t, x, y), ValueError, "marks no array as"),
    "mean-parameters": (lambda: mean_of_each(x, x, y), ValueError, "in_axes[0] is 0, one set of"),
    # Norms and clipped sums
    "no bound": (lambda: clipped(t, x, y), TypeError, "clipped_grad_sum: the call has no max_no"),
    "weights of another number": (
        lambda: clipped(t, x, y, max_norm=1.0, weights=[1.0]),
        ValueError,
        "clipped_grad_sum: the weights have shape (1,); give one number for each sample, (5,).",
    ),
    "complex weights": (
        lambda: clipped(t, x, y, max_norm=1.0, weights=np.ones(5) * 1j),
        TypeError,
        "clipped_grad_sum: the weights are complex; give one real number for each sample.",
    ),
    # The loss
    "scalar": (returning(t), ValueError, "the loss <lambda> returned an array of shape (3,) for"),
    "nothing": (returning(None), ValueError, "the loss <lambda> returned NoneType for one"),
    "not-floating": (returning(np.True_), TypeError, "the loss <lambda> returned bool for one"),
    "aux-pair": (lambda: with_axes(has_aux=True)(t, x, y), TypeError, "with has_aux=True it"),
    "aux-arrays": (returning((t[0], {"n": 3}), has_aux=True), TypeError, "an aux that holds int;"),
    "float-torch": (by_float, TypeError, "the loss calls __float__ on a tensor that depends on"),
    "two-values": (two_values, RuntimeError, "and then 0.436942411 for one"),
    "random": (at_random, RuntimeError, "the loss draws random numbers, and for a batch it is"),
    # The options, backends and arrays
    "chunk-size": (lambda: with_axes(chunk_size=0), ValueError, "chunk_size=0; give a number of"),
    "backend": (lambda: ps.backend("tensorflow"), ValueError, "is not one of numpy, torch, jax;"),
    "package": (without_torch, ImportError, "backend: the package torch is not installed;"),
    "float64": (jax_in_32_bits, ValueError, "the array is to be float64 and JAX is in its 32-bit"),
    "no namespace": (lambda: ps.array_namespace([1.0]), TypeError, "array_namespace: list holds"),
    "stop_gradient of a tree": (lambda: ps.stop_gradient({"a": t}), TypeError, "dict is not an"),
}
