"""PyTorch only: Python numbers made from a parameter, and torch.compile.

Each of these programs once gave wrong rows without an error, or an unclear error.
"""

import math

import numpy as np
import pytest

import persample as ps
from support.cases import B, arrays, rewards, squared_rows, states, theta
from support.tolerances import assert_close

torch = pytest.importorskip("torch")
torch_backend = pytest.importorskip("persample.backends.torch_backend")

# A number or a fresh tensor made of a parameter ends the gradient.
MADE = {
    "float": lambda t, x: float(t[0]) * t[1] * x,
    "math.exp": lambda t, x: math.exp(t[0]) * t[1] * x,
    "complex": lambda t, x: complex(t[0]).real * t[1] * x,
    "item": lambda t, x: (t[0] * t[1]).item() * t[1] * x,
    "tolist": lambda t, x: t.tolist()[0] * t[1] * x,
    "torch.tensor": lambda t, x: torch.tensor(t[0]) * t[1] * x,
    "torch.tensor of a list": lambda t, x: torch.tensor([t[0], t[1]]).sum() * t[1] * x,
    "torch.tensor by name": lambda t, x: torch.tensor(data=[t[0], 1.0]).sum() * t[1] * x,
    "torch.asarray": lambda t, x: torch.asarray(obj=[t[0], t[1]]).sum() * t[1] * x,
    "new_tensor": lambda t, x: x.new_tensor([t[0], 1.0]).sum() * t[1] * x,
    "numpy": lambda t, x: torch.as_tensor(np.exp(t.numpy()))[0] * t[1] * x,
    "a numpy function": lambda t, x: torch.as_tensor(np.exp(t))[0] * t[1] * x,
}


@pytest.mark.parametrize("name", MADE)
def test_a_number_made_of_a_parameter_is_refused(name):
    given = arrays((theta, rewards), "torch")
    for function in (ps.per_sample_grad, ps.loop_grad, ps.mean_grad):
        with pytest.raises(TypeError, match="gradient would end there unnoticed: .*stop_gradient"):
            function(MADE[name])(*given)


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_a_number_made_of_what_is_held_fixed_is_taken():
    scale = torch.tensor(3.0, requires_grad=True)  # not what is differentiated

    def loss(t, x):
        fixed = ps.stop_gradient(t[0]).item() * float(scale) * x.new_tensor([1.0, 2.0])[1]
        return fixed * torch.as_tensor(t)[1] * torch.tensor(data=[1.0, 2.0])[0] * x

    exact = np.zeros((B, 3))
    exact[:, 1] = theta[0] * rewards * 3 * 2
    for rows_of in (ps.per_sample_grad(loss), ps.loop_grad(loss)):
        assert_close(ps.to_numpy(rows_of(*arrays((theta, rewards), "torch"))), exact)


def test_parameters_of_a_model_are_taken_and_their_grad_is_left_alone():
    parameter = torch.nn.Parameter(torch.from_numpy(theta))
    rows = ps.per_sample_grad(ps.squared_loss)(parameter, *arrays((states, rewards), "torch"))
    assert_close(ps.to_numpy(rows), squared_rows(theta, states, rewards))
    assert parameter.grad is None


# torch.compile.
def test_an_int_as_a_factor(light_compiler):
    """Compile with several ints, which PyTorch's compiler would turn into a symbolic size."""
    loss = lambda theta, x, y, k: ps.squared_loss(theta, x, y) * k  # noqa: E731
    rows_of = ps.per_sample_grad(loss, (None, 0, 0, None), jit=True)
    for k in (1, 2, 3):
        rows = rows_of(*arrays((theta, states, rewards), "torch"), k)
        assert_close(ps.to_numpy(rows), k * squared_rows(theta, states, rewards))


def test_an_error_of_the_loss_comes_out_of_torch_compile_as_it_is(light_compiler):
    def failing(theta, x):
        raise KeyError("the reader's own")

    with pytest.raises(KeyError, match="the reader's own"):
        ps.per_sample_grad(failing, jit=True)(*arrays((theta, states), "torch"))


def test_what_only_the_compiler_refuses_is_said_by_the_compiler(light_compiler):
    def branching_on_a_parameter(theta, x, y):
        return ps.squared_loss(theta, x, y) * (1.0 if theta[0] > 0 else 2.0)

    given = arrays((theta, states, rewards), "torch")
    ps.per_sample_grad(branching_on_a_parameter)(*given)
    with pytest.raises(Exception, match="Data-dependent branching"):
        ps.per_sample_grad(branching_on_a_parameter, jit=True)(*given)


def test_more_functions_are_compiled_than_the_limit_for_one_code_object(light_compiler):
    """Compile more functions than recompile_limit: each must have a code object of its own."""
    x = torch.ones(2)
    for k in range(torch._dynamo.config.recompile_limit + 2):
        scaled = ps.backend("torch").jit(torch.vmap(lambda x, k=k: x * float(k + 0.5)))
        assert_close(ps.to_numpy(scaled(x)), [k + 0.5, k + 0.5])


@pytest.mark.parametrize("there", [None, "g++", "clang++", "c++", "cl", "gcc"])
def test_torch_compiles_without_a_c_compiler_too(there, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(torch_backend.shutil, "which", lambda name: name if name == there else "")
    is_found = there not in (None, "gcc")  # gcc alone compiles C
    assert torch_backend.BACKEND.compiler() == ("inductor" if is_found else "aot_eager")
    monkeypatch.setenv("CXX", "/opt/c++")
    assert torch_backend.BACKEND.compiler() == "inductor"
