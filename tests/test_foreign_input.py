"""Foreign and bad input: in every backend and every way the right rows, or one clear sentence.

Each program below once gave wrong rows in silence, or an error that said nothing.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import pytest

import persample as ps
from persample.backends import BACKENDS

from .cases import WAYS, B, arrays, rewards, squared_rows, states, theta
from .tolerances import assert_close

pytestmark = pytest.mark.usefixtures("light_compiler")
each_way = pytest.mark.parametrize("way", WAYS)
each_backend = pytest.mark.parametrize("backend", BACKENDS)


# What is not an array of a backend, or more than one: refused by name.
class Series:
    """A column with an index of its own, as pandas has it: series[i] looks for the label i."""

    def __init__(self, values, index):
        self.values, self.index = np.asarray(values), list(index)
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __getitem__(self, label):
        return self.values[self.index.index(label)]


@dataclasses.dataclass
class Weights:
    w: object


class Units(np.ndarray):
    """Any subclass of NumPy's array."""


def of_python_objects(x):
    return x.astype(object)


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


REFUSED = {
    "a shuffled series as data": (
        (theta, states, Series(rewards, range(B)[::-1])),
        r"argument 2 holds a Series of \w+, which is no array of a backend .*np.asarray\(x\)",
    ),
    "a series as parameters": (
        (Series(theta, range(3)), states, rewards),
        "argument 0 holds a Series of ",
    ),
    "a masked array": (
        (theta, np.ma.array(states, mask=states > 0), rewards),
        r"argument 1 holds a MaskedArray, a subclass of NumPy's array .*give x.filled\(value\)",
    ),
    "a matrix": (
        (theta, states.view(np.matrix), rewards),
        r"argument 1 holds a matrix, a subclass .*give np.asarray\(x\)",
    ),
    "another subclass": (
        (theta.view(Units), states, rewards),
        r"argument 0 holds a Units, a subclass .*give np.asarray\(x\)",
    ),
    "an array of objects": (
        (theta, of_python_objects(states), rewards),
        "argument 1 holds an array of type object; give an array of numbers",
    ),
    "an array of text": (
        (theta, states, rewards.astype(str)),
        "argument 2 holds an array of type <U32; give an array of numbers",
    ),
    "parameters in the other byte order": (
        (swapped(theta), states, rewards),
        r"argument 0 holds an array of type [<>]f8, whose bytes are in another order",
    ),
    "data in the other byte order": (
        (theta, swapped(states), rewards),
        r'give x.astype\(x.dtype.newbyteorder\("="\)\)',
    ),
    "a dataclass": (
        (Weights(theta), states, rewards),
        "argument 0 holds a Weights, a dataclass, which is no tree; register it .*or give a dict",
    ),
}


@each_way
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_array_is_refused_by_name(name, way):
    given, text = REFUSED[name]
    with pytest.raises(TypeError, match=f"^(per_sample_grad|loop_grad): .*{text}"):
        WAYS[way](ps.squared_loss)(*given)
    with pytest.raises(TypeError, match=f"^mean_grad: .*{text}"):
        ps.mean_grad(ps.squared_loss)(*given)


@each_way
def test_a_call_that_went_well_before_does_not_open_the_door_for_a_subclass(way):
    rows_of = WAYS[way](ps.squared_loss)
    rows_of(theta, states, rewards)
    with pytest.raises(TypeError, match="argument 1 holds a matrix"):
        rows_of(theta, states.view(np.matrix), rewards)
    with pytest.raises(TypeError, match="bytes are in another order"):
        rows_of(theta, swapped(states), rewards)


@each_way
def test_a_subclass_of_a_tensor_is_refused(way):
    torch = pytest.importorskip("torch")

    class Image(torch.Tensor):
        pass

    given = arrays((theta, states, rewards), "torch")
    with pytest.raises(
        TypeError, match=r"argument 1 holds a Image, a subclass of Tensor .*give x"
    ):
        WAYS[way](ps.squared_loss)(given[0], given[1].as_subclass(Image), given[2])
    rows = WAYS[way](ps.squared_loss)(torch.nn.Parameter(given[0]), *given[1:])
    assert_close(ps.to_numpy(rows), squared_rows(theta, states, rewards))


def test_a_deleted_array_of_jax_is_named():
    rows_of = ps.per_sample_grad(ps.squared_loss, (0, 0, 0))
    thetas, x, y = arrays((theta + states, states, rewards), "jax")
    thetas.delete()
    for _ in range(2):
        with pytest.raises(TypeError, match="argument 0 holds a deleted JAX array"):
            rows_of(thetas, x, y)


# What all backends take alike.
class Line(NamedTuple):
    slope: object
    offset: object


def line_loss(params, x, y):
    """Half the squared error of slope . x, plus offset where there is one."""
    error = ps.array_namespace(params.slope).matmul(params.slope, x) - y
    error = error if params.offset is None else error + params.offset
    return 0.5 * error * error


@each_way
@each_backend
def test_none_among_the_parameters_is_an_empty_place(backend, way):
    params = Line(arrays(theta, backend), None)
    rows = WAYS[way](line_loss)(params, *arrays((states, rewards), backend))
    assert type(rows) is Line
    assert rows.offset is None
    assert_close(ps.to_numpy(rows.slope), squared_rows(theta, states, rewards))


@each_backend
def test_none_among_the_parameters_with_every_option(backend):
    params = {"w": arrays(theta, backend), "b": [None]}
    loss = lambda p, x, y: (ps.squared_loss(p["w"], x, y), {"y": y})  # noqa: E731
    exact = squared_rows(theta, states, rewards)
    given = params, *arrays((states, rewards), backend)
    rows_of = ps.per_sample_value_and_grad(loss, has_aux=True, chunk_size=2)
    (values, aux), rows = rows_of(*given)
    assert rows["b"] == [None]
    assert_close(ps.to_numpy(rows["w"]), exact)
    assert_close(ps.to_numpy(values), 0.5 * (states @ theta - rewards) ** 2)
    assert_close(ps.to_numpy(aux["y"]), rewards)
    mean = ps.mean_grad(lambda *given: loss(*given)[0])(*given)
    assert mean["b"] == [None]
    assert_close(ps.to_numpy(mean["w"]), exact.mean(0))


def power_loss(theta, x, y, power, kind):
    xp = ps.array_namespace(theta)
    error = xp.matmul(theta, x) - y
    for _ in range(power - 1):
        error = error * (xp.matmul(theta, x) - y)
    return error if kind == "plain" else 2 * error


@each_way
@each_backend
def test_python_values_are_shared_by_all_samples(backend, way):
    given = arrays((theta, states, rewards), backend)
    rows_of = WAYS[way](power_loss, (None, 0, 0, None, None))
    error = (states @ theta - rewards)[:, None]
    for power in (1, 2, 3, 2):
        for kind, factor in (("plain", 1), ("doubled", 2), ("plain", 1)):
            exact = factor * power * error ** (power - 1) * states
            assert_close(ps.to_numpy(rows_of(*given, power, kind)), exact)


@each_backend
@pytest.mark.parametrize("jit", [False, True])
def test_an_int_as_a_factor(backend, jit):
    """PyTorch's compiler made a symbol of it, and failed with words about fake tensors."""
    loss = lambda theta, x, y, k: ps.squared_loss(theta, x, y) * k  # noqa: E731
    rows_of = ps.per_sample_grad(loss, (None, 0, 0, None), jit=jit)
    for k in (1, 2, 3, True, 0.5):
        rows = rows_of(*arrays((theta, states, rewards), backend), k)
        assert_close(ps.to_numpy(rows), k * squared_rows(theta, states, rewards))


# PyTorch: a number made of a parameter ends the gradient in silence.
def torch_programs():
    torch = pytest.importorskip("torch")

    return {
        "float": lambda t, x: float(t[0]) * t[1] * x,
        "math.exp": lambda t, x: math.exp(t[0]) * t[1] * x,
        "item": lambda t, x: (t[0] * t[1]).item() * t[1] * x,
        "tolist": lambda t, x: t.tolist()[0] * t[1] * x,
        "torch.tensor of a list": lambda t, x: torch.tensor([t[0], t[1]]).sum() * t[1] * x,
        "torch.tensor": lambda t, x: torch.tensor(t[0]) * t[1] * x,
        "numpy": lambda t, x: torch.as_tensor(np.exp(t.numpy()))[0] * t[1] * x,
        "a numpy function": lambda t, x: torch.as_tensor(np.exp(t))[0] * t[1] * x,
    }


@each_way
@pytest.mark.parametrize("name", torch_programs())
def test_a_number_made_of_a_parameter_is_refused_in_torch(name, way):
    given = arrays((theta, rewards), "torch")
    with pytest.raises(TypeError, match="gradient would end there unnoticed: .*stop_gradient"):
        WAYS[way](torch_programs()[name])(*given)
    with pytest.raises(TypeError, match="gradient would end there unnoticed"):
        ps.mean_grad(torch_programs()[name])(*given)


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
@each_way
def test_a_number_made_of_what_is_held_fixed_is_taken_in_torch(way):
    scale = arrays(np.array(3.0), "torch").requires_grad_()  # not what is differentiated
    fixed = lambda t, x: ps.stop_gradient(t[0]).item() * t[1] * x * float(scale)  # noqa: E731
    if way == "jit":
        pytest.skip("torch.compile takes no .item() in a batch")
    rows = WAYS[way](fixed)(*arrays((theta, rewards), "torch"))
    exact = np.zeros((B, 3))
    exact[:, 1] = theta[0] * rewards * 3
    assert_close(ps.to_numpy(rows), exact)


@pytest.mark.parametrize("jit", [False, True])
def test_random_numbers_in_a_torch_loss_are_refused_with_a_way_out(jit):
    torch = pytest.importorskip("torch")

    loss = lambda t, x: torch.nn.functional.dropout(t * x, 0.5).sum()  # noqa: E731
    with pytest.raises(RuntimeError, match="draws random numbers.*pass them as an argument"):
        ps.per_sample_grad(loss, jit=jit)(*arrays((theta, states), "torch"))
