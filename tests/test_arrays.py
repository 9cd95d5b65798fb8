"""Which backend arrays belong to, their namespace, stop_gradient and to_numpy."""

import sys

import numpy as np
import pytest

import persample as ps
from persample.arrays import backend_of
from persample.backends import BACKENDS

from .cases import arrays, theta
from .tolerances import assert_close


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_name_their_backend(backend):
    x = arrays(theta, backend)
    assert backend_of(x) == backend
    assert backend_of(1.0, {"a": [None, (x,)]}, "text") == backend


def test_numpy_scalars_and_tracers_and_tensors_belong_to_numpy():
    assert backend_of(np.float32(1)) == "numpy"
    assert backend_of(ps.tape.tensor([1.0])) == "numpy"
    ps.engine.grad(lambda x: x if backend_of(x) == "numpy" else None)(1.0)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_tracers_belong_to_their_backend(backend):
    module, seen = ps.backend(backend), []

    def loss(x):
        seen.append(backend_of(x))
        return x * x

    module.vmap(module.grad(loss))(arrays(theta, backend))
    assert set(seen) == {backend}


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_an_array_of_a_package_that_is_not_loaded_cannot_exist(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    assert backend_of(theta) == "numpy"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_namespace_computes_in_the_backend(backend):
    x = arrays(theta, backend)
    xp = ps.array_namespace({"params": [x]})
    for result in (xp.concat([x, x]), xp.permute_dims(xp.stack([x, x]), (1, 0)), xp.tanh(x)):
        assert backend_of(result) == backend


def test_the_first_array_of_a_tree_decides():
    assert ps.array_namespace([None, 1.0, np.ones(2)]) is np
    assert ps.array_namespace(np.float64(1)) is np


@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_gradient_keeps_the_value_and_drops_the_derivative(backend):
    module = ps.backend(backend)
    f = lambda x: ps.stop_gradient(x) * x  # noqa: E731, d/dx = x with the factor held fixed
    value, slope = module.value_and_grad(f)(module.asarray(3.0))
    assert_close(ps.to_numpy(value), 9.0)
    assert_close(ps.to_numpy(slope), 3.0)
    second = module.grad(module.grad(f))(module.asarray(3.0))
    assert_close(ps.to_numpy(second), 0.0)


@pytest.mark.parametrize("x", [1, 2.5, np.float64(3), theta])
def test_stop_gradient_of_what_has_no_derivative_is_itself(x):
    assert ps.stop_gradient(x) is x


@pytest.mark.parametrize("backend", BACKENDS)
def test_to_numpy_converts_every_array_of_a_tree(backend):
    tree = {"a": arrays(theta, backend), "b": [arrays(np.float32(2), backend, "float32")]}
    plain = ps.to_numpy(tree)
    assert type(plain["a"]) is np.ndarray
    assert plain["b"][0].dtype == np.float32
    assert_close(plain, {"a": theta, "b": [2.0]})


def test_to_numpy_leaves_the_graph_behind():
    torch = pytest.importorskip("torch")

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert_close(ps.to_numpy(x * 2), [2.0, 4.0])
    y = ps.tape.tensor([1.0, 2.0], requires_grad=True)
    assert_close(ps.to_numpy(y * 2), [2.0, 4.0])
