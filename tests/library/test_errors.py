"""Errors for bad input: ERRORS reaches every ``raise`` of batch functions and of backends.

An entry whose name has no space is quoted in full in reference/errors.md, under that name.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import persample as ps
from persample import arrays as arrays_module
from persample import backends, batches, checks, clipping, per_sample
from persample.backends import BACKENDS
from support.cases import arrays, rewards, states, theta
from support.error_tables import check_errors
from support.tolerances import assert_close
from support.wrong_calls import ERRORS, Image, masked, rows, torch_states

torch = pytest.importorskip("torch")


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
    "a mask": (np.array([True, False]), "bool, a mask or a flag", "shared with None in in_axes"),
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
