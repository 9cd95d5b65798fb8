"""What bad input gets: one sentence. The table has a row for every ``raise`` of these modules.

A row whose name has no space is quoted in full on the page of errors, under that name.
"""

import ast
import dataclasses
import re
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import persample as ps
from persample import arrays as arrays_module
from persample import backends, batches, checks, per_sample
from persample.backends import BACKENDS

from .cases import arrays, rewards, states, theta
from .precision import enable_x64

torch = pytest.importorskip("torch")  # most messages are those of a call with its arrays
rows, mean = ps.per_sample_grad(ps.squared_loss), ps.mean_grad(ps.squared_loss)
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
    """Return the arguments of a call, one of them an array whose memory was given away."""
    given = arrays((theta + states, states, rewards), "jax")
    given[0].delete()
    return given


def without_torch():
    """Ask for a backend whose package cannot be imported."""
    names = ("torch", "persample.backends.torch_backend")
    kept = {name: sys.modules.pop(name) for name in names}
    sys.modules["torch"] = None  # Python's own way of saying that a module is not there
    try:
        ps.backend("torch")
    finally:
        sys.modules.update(kept)


def returning(value, **options):
    """Call with a loss that returns something else."""
    return lambda: ps.per_sample_grad(lambda t, x: value, **options)(theta, states)


# What to do, and how the error begins; " ... " stands for more words.
ERRORS = {
    # What the call is made of
    "no-array": (
        lambda: rows([1.0], [[2.0]], [3.0]),
        "TypeError: per_sample_grad: the arguments (list, list, list) hold no array",
    ),
    "mixed": (
        lambda: rows(theta, torch_states, rewards),
        "TypeError: per_sample_grad: the arguments mix ... (argument 0) and torch (argument 1);",
    ),
    "two backends in one tree": (
        lambda: arrays_module.backend_of({"a": theta, "b": torch_states}),
        "TypeError: backend_of: the arguments mix ... (argument 0) and torch (argument 0);",
    ),
    "keywords": (
        lambda: td_rows(theta, states, rewards, states, gamma=0.9),
        "TypeError: per_sample_grad: the call has the keyword arguments gamma;",
    ),
    "list": (
        lambda: mean(theta, states, [1.0, 2.0]),
        "TypeError: mean_grad: argument 2 is batched and holds 1.0, a Python value",
    ),
    "integer": (
        lambda: rows(np.array([1, 2, 3]), states, rewards),
        "TypeError: per_sample_grad: a parameter is int64; gradients need floating-point arrays",
    ),
    "list-parameters": (
        lambda: rows([0.1, 0.2, 0.3], states, rewards),
        "TypeError: per_sample_grad: a parameter is a Python float; gradients need",
    ),
    "parameter-kind": (
        lambda: rows({"a": theta, "b": "text"}, states, rewards),
        "TypeError: per_sample_grad: a parameter is a str; give floating-point arrays",
    ),
    # Arrays that are refused
    "foreign": (
        lambda: rows(theta, states, Series()),
        "TypeError: per_sample_grad: argument 2 holds a Series of tests, which is no array",
    ),
    "dataclass": (
        lambda: rows(Weights(theta), states, rewards),
        "TypeError: per_sample_grad: argument 0 holds a Weights, a dataclass, which is no tree;",
    ),
    "subclass": (
        lambda: rows(theta, np.ma.array(states, mask=states > 0), rewards),
        "TypeError: per_sample_grad: argument 1 holds a MaskedArray, ... give x.filled(value).",
    ),
    "a matrix": (
        lambda: mean(theta, states.view(np.matrix), rewards),
        "TypeError: mean_grad: argument 1 holds a matrix, a subclass ... give np.asarray(x).",
    ),
    "subclass-torch": (
        lambda: rows(torch_theta, torch_states.as_subclass(Image), torch_rewards),
        "TypeError: per_sample_grad: argument 1 holds a Image, a subclass of Tensor whose",
    ),
    "an array of text": (
        lambda: rows(theta, states, rewards.astype(str)),
        "TypeError: per_sample_grad: argument 2 holds an array of type <U32; give an array of",
    ),
    "the other byte order": (
        lambda: rows(theta, states.astype(states.dtype.newbyteorder()), rewards),
        "TypeError: per_sample_grad: argument 1 holds an array of type >f8, whose bytes",
    ),
    "deleted": (
        lambda: with_axes((0, 0, 0))(*deleted()),
        "TypeError: per_sample_grad: argument 0 holds a deleted JAX array.",
    ),
    # The batch
    "zero-d": (
        lambda: rows(theta, states, rewards[0]),
        "ValueError: per_sample_grad: argument 2 is 0-d, so it has no axis 0 that counts samples;",
    ),
    "sizes": (
        lambda: rows(theta, states, rewards[:2]),
        "ValueError: per_sample_grad: the batch sizes differ: 5 (argument 1), 2 (argument 2);",
    ),
    "empty": (
        lambda: rows(theta, states[:0], rewards[:0]),
        "ValueError: per_sample_grad: the batch is empty;",
    ),
    # in_axes
    "axes-length": (
        lambda: with_axes((None, 0))(theta, states, rewards),
        "ValueError: per_sample_grad: in_axes has 2 entries, the call has 3 arguments;",
    ),
    "axes-entry": (
        lambda: with_axes((None, False, 0))(theta, states, rewards),
        "ValueError: per_sample_grad: in_axes has the entry False; each entry is an axis",
    ),
    "axes-fit": (
        lambda: with_axes((None, (0,), 0))(theta, states, rewards),
        "ValueError: per_sample_grad: in_axes has the entry (0,), which does not fit argument 1;",
    ),
    "axes-kind": (
        lambda: with_axes("00")(theta, states, rewards),
        "TypeError: per_sample_grad: in_axes is '00'; give a tuple with one entry",
    ),
    "none-batched": (
        lambda: with_axes((None, None, None))(theta, states[0], rewards[0]),
        "ValueError: per_sample_grad: in_axes marks no array as batched;",
    ),
    "mean-parameters": (
        lambda: ps.mean_grad(ps.squared_loss, (0, 0, 0))(states, states, rewards),
        "ValueError: mean_grad: in_axes[0] is 0, one set of parameters for each sample;",
    ),
    # The loss
    "scalar": (
        returning(theta),
        "ValueError: the loss <lambda> returned an array of shape (3,) for one sample; it must",
    ),
    "nothing": (
        returning(None),
        "ValueError: the loss <lambda> returned NoneType for one sample; it must",
    ),
    "not-floating": (
        lambda: ps.loop_grad(lambda t, x: ps.array_namespace(t).sum(t * x) > 0)(theta, states),
        "TypeError: the loss <lambda> returned bool for one sample; it must return a floating",
    ),
    "aux-pair": (
        lambda: with_axes(has_aux=True)(theta, states, rewards),
        "TypeError: the loss squared_loss returned an array of shape () ... with has_aux=True it",
    ),
    "aux-arrays": (
        returning((np.ones(()), {"n": 3}), has_aux=True),
        "TypeError: the loss <lambda> returned an aux that holds int;",
    ),
    "float-torch": (
        lambda: ps.loop_grad(lambda t, x: float(t[0]) * x)(torch_theta, torch_states),
        "TypeError: the loss calls __float__ on a tensor that depends on the parameters, so",
    ),
    "random": (
        lambda: ps.per_sample_grad(lambda t, x: x.bernoulli())(torch_theta, 0 * torch_rewards),
        "RuntimeError: the loss draws random numbers, and for a batch it is not said whether",
    ),
    # The options, backends and arrays
    "chunk-size": (
        lambda: ps.per_sample_grad(ps.td_loss, chunk_size=0),
        "ValueError: per_sample_grad: chunk_size=0; give a number of samples",
    ),
    "backend": (
        lambda: ps.backend("tensorflow"),
        "ValueError: backend: 'tensorflow' is not one of numpy, torch, jax;",
    ),
    "package": (
        without_torch,
        "ImportError: backend: the package torch is not installed; ... pip install torch",
    ),
    "float64": (
        jax_in_32_bits,
        "ValueError: asarray: the array is to be float64 and JAX is in its 32-bit mode;",
    ),
    "namespace of no array": (
        lambda: ps.array_namespace([1.0]),
        "TypeError: array_namespace: list holds no array of NumPy, PyTorch or JAX;",
    ),
    "stop_gradient of a tree": (
        lambda: ps.stop_gradient({"a": theta}),
        "TypeError: stop_gradient: dict is not an array or a number;",
    ),
}


@cache
def error(name):
    """Return the kind of error that a row raises, and what it says."""
    with pytest.raises(Exception) as caught:  # noqa: PT011, its kind is compared below
        ERRORS[name][0]()
    return f"{caught.type.__name__}: {caught.value}"


@pytest.mark.parametrize("name", ERRORS)
def test_bad_input_gets_one_sentence(name):
    parts = ERRORS[name][1].split(" ... ")
    assert re.match(".*".join(map(re.escape, parts)), error(name))


def messages(module):
    """Yield (line, pattern) of every raise with a message in a module."""
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            text = node.exc.args[0]
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            fixed = [re.escape(p.value) if isinstance(p, ast.Constant) else ".*" for p in parts]
            yield node.lineno, "".join(fixed)


def test_every_raise_is_in_the_table():
    modules = [arrays_module, batches, checks, per_sample, backends]
    modules += [sys.modules[type(ps.backend(name)).__module__] for name in BACKENDS]
    found = [(module, *where) for module in modules for where in messages(module)]
    said = [error(name).partition(": ")[2] for name in ERRORS]
    assert len(found) >= 20
    for module, line, pattern in found:
        assert any(re.fullmatch(pattern, text) for text in said), (module, line)


@pytest.mark.parametrize("size", [-1, 1.5, "2", True])
def test_every_chunk_size_that_is_no_count_is_refused(size):
    with pytest.raises(ValueError, match=f"chunk_size={size!r}; give a number of samples"):
        ps.per_sample_grad(ps.td_loss, chunk_size=size)


def test_an_error_inside_an_installed_backend_is_not_taken_for_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    monkeypatch.delitem(sys.modules, "persample.backends.jax_backend", raising=False)
    with pytest.raises(ModuleNotFoundError, match="jax.numpy"):
        ps.backend("jax")


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
