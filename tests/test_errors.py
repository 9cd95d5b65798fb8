"""What bad input gets: one sentence. The table reaches every ``raise`` of these modules.

A row whose name has no space is quoted in full on the page of errors, under that name.
"""

import dataclasses
import itertools
import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import persample as ps
from persample import arrays as arrays_module
from persample import backends, batches, checks, clipping, per_sample
from persample.arrays import backend_of
from persample.backends import BACKENDS

from .cases import arrays, rewards, states, theta
from .precision import enable_x64
from .raised import check_errors
from .tolerances import assert_close

torch = pytest.importorskip("torch")  # most messages are those of a call with its arrays
rows, mean = ps.per_sample_grad(ps.squared_loss), ps.mean_grad(ps.squared_loss)
masked = partial(np.ma.array, mask=states > 0)
mean_of_each = ps.mean_grad(ps.squared_loss, (0, 0, 0))
with_axes = partial(ps.per_sample_grad, ps.squared_loss)
td_rows = ps.per_sample_grad(ps.td_loss)
torch_theta, torch_states, torch_rewards = arrays((theta, states, rewards), "torch")


class Series:
    """A column of another library, with an index of its own."""

    def __array__(self, dtype=None, copy=None):
        return rewards


@dataclasses.dataclass
class Weights:
    w: object


class Image(torch.Tensor):
    """A tensor with rules of its own."""


def jax_in_32_bits():
    with enable_x64(False):
        ps.backend("jax").asarray([1.0])


def deleted():
    """Give an array whose memory was given away."""
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
    """Ask for a backend whose package cannot be imported."""
    names = ("torch", "persample.backends.torch_backend")
    kept = {name: sys.modules.pop(name) for name in names}
    sys.modules["torch"] = None  # Python's own way of saying that a module is not there
    try:
        ps.backend("torch")
    finally:
        sys.modules.update(kept)


def two_values():
    """Call with a loss whose factor is another one each time."""
    count = itertools.count(1)
    rows_of = ps.per_sample_grad(lambda *given: next(count) * ps.squared_loss(*given))
    rows_of(theta, states, rewards)


def returning(value, **options):
    """Call with a loss that returns something else."""
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
    "list-parameters": (
        lambda: rows([0.1, 0.2], x, y),
        TypeError,
        "parameters[0] is a Python float;",
    ),
    "complex-parameters": (
        lambda: rows({"w": 1j * t}, x, y),
        TypeError,
        "parameters['w'] is complex",
    ),
    "parameter-kind": (
        lambda: rows({"b": "text"}, x, y),
        TypeError,
        "parameters['b'] is a str; give",
    ),
    # Arrays that are refused
    "foreign": (lambda: rows(t, x, Series()), TypeError, "argument 2 holds a Series of tests"),
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
    "no bound at all": (
        lambda: clipped(t, x, y),
        TypeError,
        "clipped_grad_sum: the call has no max_no",
    ),
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


def test_bad_input_gets_one_sentence_and_every_raise_is_reached():
    modules = [arrays_module, batches, checks, clipping, per_sample, backends]
    modules += [sys.modules[type(ps.backend(name)).__module__] for name in BACKENDS]
    check_errors(ERRORS.values(), [module.__file__ for module in modules])


@pytest.mark.parametrize("size", [-1, 1.5, "2", True])
def test_every_chunk_size_that_is_no_count_is_refused(size):
    with pytest.raises(ValueError, match=f"chunk_size={size!r}; give a number of samples"):
        ps.per_sample_grad(ps.td_loss, chunk_size=size)


def test_an_error_inside_an_installed_backend_is_not_taken_for_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    monkeypatch.delitem(sys.modules, "persample.backends.jax_backend", raising=False)
    with pytest.raises(ModuleNotFoundError, match="jax.numpy"):
        ps.backend("jax")


class Layer(NamedTuple):
    w: Any
    activation: Any = None


WEIGHT = "convert a weight with ps.backend(name).asarray"
# A leaf that has no gradient -> what is said of it, and a part of the cure.
LEAVES = {
    "complex64": (np.ones(2, np.complex64), "complex64", "real and its imaginary part as two"),
    "1j": (1j, "a Python complex", "form re + 1j * im in the loss (in PyTorch or JAX)"),
    "a float": (0.5, "a Python float", "convert it with ps.backend(name).asarray"),
    "a counter": (3, "a Python int", WEIGHT),
    "int32": (np.arange(2, dtype=np.int32), "int32", "take a counter, or the numbers"),
    "a mask": (np.array([True, False]), "bool", "shared with None in in_axes"),
    "a key": (np.zeros(2, np.uint32), "uint32", "(by nnx.split, eqx.partition)"),
    "a function": (len, "a builtin_function_or_method", "eqx.is_inexact_array), nnx.split(model"),
    "a module": (torch.nn.Tanh(), "a Tanh", "or dict(model.named_parameters())"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_without_a_gradient_is_named_by_its_place_and_gets_its_cure(name, backend):
    leaf, what, cure = LEAVES[name]
    given, data = arrays((theta, states), backend)
    if isinstance(leaf, np.ndarray):
        leaf = ps.backend(backend).asarray(leaf, str(leaf.dtype))
    params = {"layers": [Layer(given), Layer(given, {"act": leaf})]}
    loss = lambda p, x: (p["layers"][0].w * x).sum()  # noqa: E731
    for function in (ps.per_sample_grad, ps.loop_grad):
        with pytest.raises(TypeError) as caught:
            function(loss)(params, data)
        text = str(caught.value).replace("torch.", "")
        where = f"{function.__name__}: parameters['layers'][1].activation['act'] is {what}"
        assert text.startswith(where)
        assert cure in text


def test_a_typed_key_is_no_weight_and_a_dtype_is_no_array():
    jax = pytest.importorskip("jax")
    loss = lambda p, x: (p["w"] * x).sum()  # noqa: E731
    w, x = arrays((theta, states), "jax")
    for leaf, text in (
        (jax.random.key(0), r"parameters\['k'\] is key<fry>, random keys"),
        (jax.numpy.float32, r"parameters\['k'\] is a _?ScalarMeta; give"),
        (np.dtype("float32"), r"parameters\['k'\] is a Float32DType; give"),
    ):
        with pytest.raises(TypeError, match=text):
            ps.per_sample_grad(loss)({"w": w, "k": leaf}, x)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_two_real_arrays_in_place_of_a_complex_one_lose_nothing(backend):
    z, x = np.array([1 + 2j, 0.5 - 1j]), np.array([[1.0, 2.0], [3.0, -1.0]])
    loss = lambda p, x: abs(((p[0] + 1j * p[1]) * x).sum()) ** 2  # noqa: E731
    total = (z * x).sum(1)  # |w . x|^2 has the slope 2 Re(w . x) x, and 2 Im(w . x) x
    exact = [2 * total.real[:, None] * x, 2 * total.imag[:, None] * x]
    re, im, given = arrays((z.real, z.imag, x), backend)
    assert_close(ps.to_numpy(ps.per_sample_grad(loss)([re, im], given)), exact)


def test_a_mask_is_shared_and_each_sample_has_a_key():
    jax = pytest.importorskip("jax")
    keys, mask = jax.random.split(jax.random.key(0), len(states)), jax.numpy.array([1, 0, 1]) > 0
    loss = lambda p, x, m, key: (p * x * m * jax.random.normal(key)).sum()  # noqa: E731
    rows_of = ps.per_sample_grad(loss, (None, 0, None, 0))
    found = ps.to_numpy(rows_of(*arrays((theta, states), "jax"), mask, keys))
    factors = found[:, 0] / states[:, 0]
    assert len(set(factors.round(6))) == len(states)
    assert_close(found, factors[:, None] * states * [1, 0, 1])


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_an_array_that_is_refused_is_named_by_its_place(backend):
    loss = lambda t, d: (t * d["x"]).sum()  # noqa: E731
    t, x = arrays((theta, states), backend)
    wrong = {"numpy": masked(states), "torch": torch_states.as_subclass(Image)}[backend]
    with pytest.raises(TypeError, match=r"loop_grad: argument 1\['y'\]\[1\] holds a "):
        ps.loop_grad(loss)(t, {"x": x, "y": [x, wrong]})


@pytest.mark.parametrize("options", [{}, {"jit": True}, {"chunk_size": 2}])
def test_an_array_deleted_after_the_first_call_is_named(options):
    pytest.importorskip("jax")
    rows_of = ps.per_sample_grad(ps.squared_loss, **options)
    given = arrays((theta, states, rewards), "jax")
    rows_of(*given)
    for n in range(3):
        wrong = [x + 0 for x in given]
        wrong[n].delete()
        with pytest.raises(TypeError, match=f"argument {n} holds a deleted JAX array"):
            rows_of(*wrong)
    rows_of(*given)


def test_an_error_of_the_loss_at_a_later_call_is_left_as_it_is():
    wrong = []

    def loss(*given):
        if wrong:
            raise ValueError("the reader's own")
        return ps.squared_loss(*given)

    rows_of = ps.per_sample_grad(loss)
    rows_of(theta, states, rewards)
    wrong.append(1)
    with pytest.raises(ValueError, match="the reader's own") as caught:
        rows_of(theta, states, rewards)
    assert caught.value.__context__ is None


# What is not ours to word, in the kind and the words of each backend.
BRANCH = {
    "numpy": (TypeError, "a Python value was asked of BatchTracer"),
    "torch": (RuntimeError, "data-dependent control flow"),
    "jax": (TypeError, "Attempted boolean conversion of traced array"),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_python_branch_on_a_sample_works_by_loop_and_is_refused_by_vmap(backend):
    loss = lambda t, x, y: ps.squared_loss(t, x, y) * (1.0 if y > 0 else 2.0)  # noqa: E731
    given = arrays((theta, states, rewards), backend)
    by_loop = ps.to_numpy(ps.loop_grad(loss)(*given))
    factor = np.where(rewards > 0, 1.0, 2.0)[:, None]
    np.testing.assert_allclose(by_loop, factor * rows(theta, states, rewards), rtol=1e-9)
    kind, text = BRANCH[backend]
    with pytest.raises(kind, match=text):
        ps.per_sample_grad(loss)(*given)
