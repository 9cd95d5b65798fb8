"""What bad input gets: one sentence, for every ``raise`` of these modules, in full.

The last test reads the modules and fails when one of their messages is missing here.
"""

import ast
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import persample as ps
from persample import arrays as arrays_module
from persample import backends, batches, checks, per_sample
from persample.backends import BACKENDS

from .cases import WAYS, B, arrays, rewards, states, theta
from .precision import enable_x64

rows, mean = ps.per_sample_grad(ps.squared_loss), ps.mean_grad(ps.squared_loss)
with_axes = partial(ps.per_sample_grad, ps.squared_loss)
pytest.importorskip("torch")  # most messages are those of a call with its arrays
torch_states = ps.backend("torch").asarray(states)
torch_pair = ps.backend("torch").asarray(theta), 0 * torch_states


def jax_in_32_bits():

    with enable_x64(False):
        ps.backend("jax").asarray([1.0])


def without_torch():
    """Ask for a backend whose package cannot be imported."""
    names = ("torch", "persample.backends.torch_backend")
    kept = {name: sys.modules.pop(name) for name in names}
    sys.modules["torch"] = None  # Python's own way of saying that a module is not there
    try:
        ps.backend("torch")
    finally:
        sys.modules.update(kept)


# One row a message: what to do, the kind of error, the whole text.
ERRORS = {
    # What the call is made of
    "no arrays": (
        lambda: rows([1.0], [[2.0]], [3.0]),
        TypeError,
        "per_sample_grad: the arguments (list, list, list) hold no array, so no backend can be "
        "chosen; convert them with ps.backend(name).asarray.",
    ),
    "no arguments": (
        lambda: rows(),
        TypeError,
        "per_sample_grad: the arguments (none were given) hold no array, so no backend can be "
        "chosen; convert them with ps.backend(name).asarray.",
    ),
    "two backends": (
        lambda: rows(theta, torch_states, rewards),
        TypeError,
        "per_sample_grad: the arguments mix arrays of numpy (argument 0) and torch (argument 1); "
        "all must belong to one backend: convert them with ps.backend(name).asarray.",
    ),
    "two backends in one tree": (
        lambda: arrays_module.backend_of({"a": theta, "b": torch_states}),
        TypeError,
        "backend_of: the arguments mix arrays of numpy (argument 0) and torch (argument 0); "
        "all must belong to one backend: convert them with ps.backend(name).asarray.",
    ),
    "keyword arguments": (
        lambda: ps.per_sample_grad(ps.td_loss)(theta, states, rewards, states, gamma=0.9),
        TypeError,
        "per_sample_grad: the call has the keyword arguments gamma; in_axes counts positional "
        "arguments only: fix a constant beforehand with functools.partial(loss, name=value), and "
        "give the rest by position.",
    ),
    "a constant by position": (
        lambda: ps.per_sample_grad(ps.td_loss)(theta, states, rewards, states, 0.9),
        TypeError,
        "per_sample_grad: argument 4 is batched and holds 0.9, a Python value without an axis "
        "that counts samples (a list is a tree, not an array); make it an array with "
        "ps.backend(name).asarray, or mark it as shared with None in in_axes.",
    ),
    "a list of data": (
        lambda: mean(theta, states, [1.0, 2.0]),
        TypeError,
        "mean_grad: argument 2 is batched and holds 1.0, a Python value without an axis that "
        "counts samples (a list is a tree, not an array); make it an array with "
        "ps.backend(name).asarray, or mark it as shared with None in in_axes.",
    ),
    "integer parameters": (
        lambda: rows(np.array([1, 2, 3]), states, rewards),
        TypeError,
        "per_sample_grad: a parameter is int64; gradients need floating-point arrays: convert it "
        'with ps.backend(name).asarray(x, "float64").',
    ),
    "a list of parameters": (
        lambda: rows([0.1, 0.2, 0.3], states, rewards),
        TypeError,
        "per_sample_grad: a parameter is a Python float; gradients need floating-point arrays: "
        'convert it with ps.backend(name).asarray(x, "float64").',
    ),
    "a parameter of another kind": (
        lambda: rows({"a": theta, "b": "text"}, states, rewards),
        TypeError,
        "per_sample_grad: a parameter is a str; give floating-point arrays, in a dict, tuple or "
        "list if there are several.",
    ),
    # The batch
    "0-d argument": (
        lambda: rows(theta, states, rewards[0]),
        ValueError,
        "per_sample_grad: argument 2 is 0-d, so it has no axis 0 that counts samples; give one "
        "entry for each sample, or mark it as shared with None in in_axes.",
    ),
    "batch sizes": (
        lambda: rows(theta, states, rewards[:2]),
        ValueError,
        "per_sample_grad: the batch sizes differ: 5 (argument 1), 2 (argument 2); the axis of "
        "samples must have one length in every batched argument; mark what all samples share with "
        "None in in_axes.",
    ),
    "empty batch": (
        lambda: rows(theta, states[:0], rewards[:0]),
        ValueError,
        "per_sample_grad: the batch is empty; give at least one sample.",
    ),
    # in_axes
    "in_axes of another length": (
        lambda: with_axes((None, 0))(theta, states, rewards),
        ValueError,
        "per_sample_grad: in_axes has 2 entries, the call has 3 arguments; give one entry for "
        "each argument: the axis that counts the samples, or None (shared by all samples).",
    ),
    "in_axes with False": (
        lambda: with_axes((None, False, 0))(theta, states, rewards),
        ValueError,
        "per_sample_grad: in_axes has the entry False; each entry is an axis (an integer, 0 for "
        "the first) or None (shared by all samples).",
    ),
    "in_axes with a tree": (
        lambda: with_axes((None, (0,), 0))(theta, states, rewards),
        ValueError,
        "per_sample_grad: in_axes has the entry (0,), which does not fit argument 1; give an "
        "axis, None, or a tree of these that begins like the argument.",
    ),
    "in_axes with an axis that is not there": (
        lambda: with_axes((None, 2, 0))(theta, states, rewards),
        ValueError,
        "per_sample_grad: argument 1 is 2-d, so it has no axis 2 that counts samples; give one "
        "entry for each sample, or mark it as shared with None in in_axes.",
    ),
    "in_axes that is no tuple": (
        lambda: with_axes("00")(theta, states, rewards),
        TypeError,
        "per_sample_grad: in_axes is '00'; give a tuple with one entry for each argument, such as "
        "(None, 0, 0).",
    ),
    "nothing batched": (
        lambda: with_axes((None, None, None))(theta, states[0], rewards[0]),
        ValueError,
        "per_sample_grad: in_axes marks no array as batched; give an argument the 0.",
    ),
    "parameters a sample in mean_grad": (
        lambda: ps.mean_grad(ps.squared_loss, (0, 0, 0))(states, states, rewards),
        ValueError,
        "mean_grad: in_axes[0] is 0, one set of parameters for each sample; the mean loss needs "
        "one set for all: give None.",
    ),
    # The loss
    "a loss of many numbers": (
        lambda: ps.per_sample_grad(lambda theta, x: theta * x)(theta, states),
        ValueError,
        "the loss <lambda> returned an array of shape (3,) for one sample; it must return one "
        "number, a 0-d array: sum or average over the sample's own axes.",
    ),
    "aux without a pair": (
        lambda: ps.per_sample_grad(ps.squared_loss, has_aux=True)(theta, states, rewards),
        TypeError,
        "the loss squared_loss returned an array of shape () for one sample; with has_aux=True it "
        "must return a pair (one number, aux).",
    ),
    "aux that holds a number": (
        lambda: ps.per_sample_grad(lambda t, x: (t @ x, {"n": 3}), has_aux=True)(theta, states),
        TypeError,
        "the loss <lambda> returned an aux that holds int; aux gets an axis for the samples, so "
        "give arrays: xp.asarray(x).",
    ),
    "a loss of nothing": (
        lambda: ps.mean_grad(lambda theta, x: None)(theta, states),
        ValueError,
        "the loss <lambda> returned NoneType for one sample; it must return one number, a 0-d "
        "array: sum or average over the sample's own axes.",
    ),
    "a whole number": (
        lambda: ps.loop_grad(lambda t, x: ps.array_namespace(t).sum(t * x) > 0)(theta, states),
        TypeError,
        "the loss <lambda> returned bool for one sample; it must return a floating-point number, "
        "or it has no gradient.",
    ),
    "a number made of a parameter": (
        lambda: ps.loop_grad(lambda t, x: float(t[0]) * x)(*torch_pair),
        TypeError,
        "the loss calls __float__ on a tensor that depends on the parameters, so the gradient "
        "would end there unnoticed: compute with tensors (torch.exp for math.exp, torch.stack for "
        "torch.tensor), or hold it fixed: ps.stop_gradient(x).",
    ),
    "random numbers in a torch loss": (
        lambda: ps.per_sample_grad(lambda t, x: (t * x.bernoulli()).sum())(*torch_pair),
        RuntimeError,
        "the loss draws random numbers, and for a batch it is not said whether all samples share "
        "them: draw them beforehand, one for each sample (such as a mask for dropout), and pass "
        "them as an argument that is batched.",
    ),
    # The options
    "chunk_size": (
        lambda: ps.per_sample_grad(ps.td_loss, chunk_size=0),
        ValueError,
        "per_sample_grad: chunk_size=0; give a number of samples, 1 or more, or None for all at "
        "once.",
    ),
    # Backends and arrays
    "backend": (
        lambda: ps.backend("tensorflow"),
        ValueError,
        "backend: 'tensorflow' is not one of numpy, torch, jax; choose one.",
    ),
    "package not installed": (
        without_torch,
        ImportError,
        "backend: the package torch is not installed; install it with: pip install torch",
    ),
    "64 bits in JAX's 32-bit mode": (
        jax_in_32_bits,
        ValueError,
        "asarray: the array is to be float64 and JAX is in its 32-bit mode; call "
        'jax.config.update("jax_enable_x64", True) first, or give a dtype such as "float32".',
    ),
    "namespace of no array": (
        lambda: ps.array_namespace([1.0]),
        TypeError,
        "array_namespace: list holds no array of NumPy, PyTorch or JAX; give it the parameters of "
        "the loss, as arrays.",
    ),
    "stop_gradient of a tree": (
        lambda: ps.stop_gradient({"a": theta}),
        TypeError,
        "stop_gradient: dict is not an array or a number; give one array at a time.",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_input_gets_one_sentence(name):
    trigger, kind, text = ERRORS[name]
    with pytest.raises(kind) as caught:
        trigger()
    assert str(caught.value) == text
    assert type(caught.value) is kind


@pytest.mark.parametrize("size", [-1, 0, 1.5, "2", True])
def test_every_chunk_size_that_is_no_count_is_refused(size):
    with pytest.raises(ValueError, match=f"chunk_size={size!r}; give a number of samples"):
        ps.per_sample_grad(ps.td_loss, chunk_size=size)


def test_lists_of_options_come_from_the_tables(monkeypatch):
    monkeypatch.setattr(backends, "BACKENDS", ("three", "four"))
    with pytest.raises(ValueError, match="is not one of three, four;"):
        ps.backend("numpy")


def test_an_error_inside_an_installed_backend_is_not_taken_for_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    monkeypatch.delitem(sys.modules, "persample.backends.jax_backend", raising=False)
    with pytest.raises(ModuleNotFoundError, match="jax.numpy"):
        ps.backend("jax")


# The same sentence in every backend, however the rows are computed.
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loss_of_many_numbers_is_refused_everywhere_alike(backend, way, light_compiler):
    wrong = WAYS[way](lambda theta, x: theta * x)
    with pytest.raises(ValueError, match=r"the loss <lambda> returned an array of shape \(3,\)"):
        wrong(arrays(theta, backend), arrays(states, backend))


@pytest.mark.parametrize("backend", BACKENDS)
def test_integer_parameters_are_refused_everywhere(backend):
    asarray = ps.backend(backend).asarray
    with pytest.raises(TypeError, match="a parameter is (torch.)?int64; gradients need floating"):
        rows(asarray([1, 2, 3]), asarray(states), asarray(rewards))


# What is not ours to word, in the kind and the words of each backend.
def branching_loss(theta, x, y):
    return ps.squared_loss(theta, x, y) * (1.0 if y > 0 else 2.0)


BRANCH = {
    "numpy": (TypeError, "a Python value was asked of BatchTracer"),
    "torch": (RuntimeError, "data-dependent control flow"),
    "jax": (TypeError, "Attempted boolean conversion of traced array"),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_python_branch_on_a_sample_works_by_loop_and_is_refused_by_vmap(backend):
    given = [arrays(x, backend) for x in (theta, states, rewards)]
    by_loop = ps.to_numpy(ps.loop_grad(branching_loss)(*given))
    factor = np.where(rewards > 0, 1.0, 2.0)[:, None]
    np.testing.assert_allclose(by_loop, factor * rows(theta, states, rewards), rtol=1e-9)
    kind, text = BRANCH[backend]
    with pytest.raises(kind, match=text):
        ps.per_sample_grad(branching_loss)(*given)


def test_an_error_of_the_loss_comes_out_of_torch_compile_as_it_is(light_compiler):

    def failing(theta, x):
        raise KeyError("the reader's own")

    given = arrays((theta, states), "torch")
    with pytest.raises(KeyError, match="the reader's own"):
        ps.per_sample_grad(failing, jit=True)(*given)


def test_what_only_the_compiler_refuses_is_said_by_the_compiler(light_compiler):
    def branching_on_a_parameter(theta, x, y):
        return ps.squared_loss(theta, x, y) * (1.0 if theta[0] > 0 else 2.0)

    given = arrays((theta, states, rewards), "torch")
    ps.per_sample_grad(branching_on_a_parameter)(*given)
    with pytest.raises(Exception, match="Data-dependent branching"):
        ps.per_sample_grad(branching_on_a_parameter, jit=True)(*given)


# Completeness.
MODULES = [arrays_module, batches, checks, per_sample, backends]
MODULES += [sys.modules[type(ps.backend(name)).__module__] for name in BACKENDS]


def messages(module):
    """Yield (line, pattern) of every raise with a message in a module."""
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            text = node.exc.args[0]
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            fixed = [re.escape(p.value) if isinstance(p, ast.Constant) else ".*" for p in parts]
            yield node.lineno, "".join(fixed)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_raise_is_in_the_table(module):
    texts = [text for _, _, text in ERRORS.values()]
    missing = [
        line
        for line, pattern in messages(module)
        if not any(re.fullmatch(pattern, text) for text in texts)
    ]
    assert missing == []


def test_the_table_of_messages_is_not_empty():
    assert sum(len(list(messages(module))) for module in MODULES) >= 20
    assert B > 2
