"""Three objects of one class: the same methods, with the same meaning."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest
from missing import MISSING

import persample as ps
from persample import backends
from persample.backends import BACKENDS, Backend

from .cases import arrays, states, theta
from .tolerances import FINITE_DIFFERENCES, assert_close


@pytest.fixture(params=BACKENDS)
def own(request):
    return ps.backend(request.param)


pytestmark = pytest.mark.usefixtures("light_compiler")


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_is_one_object_that_knows_its_name(name):
    assert isinstance(ps.backend(name), Backend)
    assert ps.backend(name) is ps.backend(name)
    assert ps.backend(name).name == name


METHODS = [name for name, f in vars(Backend).items() if callable(f) and name[0] != "_"]


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_documented_and_takes_the_same_arguments_everywhere(method):
    """JAX's transforms are its own, and take more than these."""
    wanted = [*inspect.signature(getattr(Backend, method)).parameters][1:]
    assert inspect.getdoc(getattr(Backend, method))
    for name in BACKENDS:
        if name not in MISSING and method in vars(type(ps.backend(name))):
            given = getattr(ps.backend(name), method)
            if getattr(given, "__module__", "persample").startswith("persample.backends"):
                assert [*inspect.signature(given).parameters] == wanted


def test_asarray_makes_float64_of_python_numbers(own):
    x = own.asarray([[1.0, 2], [3, 4]])
    assert str(x.dtype).removeprefix("torch.") == "float64"
    assert_close(own.to_numpy(x), [[1.0, 2], [3, 4]])
    assert tuple(own.asarray(1.0).shape) == ()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_asarray_makes_the_dtype_that_is_named(own, dtype):
    for x in ([1.0, 2.0], np.array([1.0, 2.0]), own.asarray([1.0, 2.0])):
        converted = own.asarray(x, dtype)
        assert str(converted.dtype).removeprefix("torch.") == dtype
        assert_close(own.to_numpy(converted), [1.0, 2.0])


def test_asarray_leaves_the_dtype_of_an_array_alone(own):
    assert str(own.asarray(np.ones(2, np.float32)).dtype).removeprefix("torch.") == "float32"
    x = own.asarray([1.0], "float32")
    assert own.asarray(x) is x


def test_grad(own):
    f = lambda x, y: x * x * y  # noqa: E731
    x, y = own.asarray(3.0), own.asarray(5.0)
    assert_close(ps.to_numpy(own.grad(f)(x, y)), 30.0)
    assert_close(ps.to_numpy(own.grad(f, argnums=1)(x, y)), 9.0)
    assert_close(ps.to_numpy(own.grad(f, (1, 0))(x, y)), (9.0, 30.0))


def test_value_and_grad_gives_the_value_first(own):
    value, gradient = own.value_and_grad(lambda x: x * x)(own.asarray(3.0))
    assert_close(ps.to_numpy(value), 9.0)
    assert_close(ps.to_numpy(gradient), 6.0)


@pytest.mark.parametrize("in_axes", [(None, 0), [None, 0]])
def test_vmap_maps_what_is_marked(own, in_axes):
    dots = own.vmap(lambda x, y: ps.array_namespace(x).matmul(x, y), in_axes)
    assert_close(ps.to_numpy(dots(*arrays((theta, states), own.name))), states @ theta)


def test_vmap_maps_every_argument_by_default(own):
    sums = own.vmap(lambda x, y: ps.array_namespace(x).sum(x * y))
    assert_close(
        ps.to_numpy(sums(*arrays((states, 2 * states), own.name))), 2 * (states**2).sum(1)
    )


def test_transforms_nest(own):
    cube = lambda x: x * x * x  # noqa: E731
    second = own.jit(own.vmap(own.grad(own.grad(cube))))
    assert_close(ps.to_numpy(second(arrays(theta, own.name))), 6 * theta)


def test_value_and_grad_with_aux(own):
    def f(x, y):
        return x * x * y, {"double": 2 * x, "y": (y,)}

    x, y = own.asarray(3.0), own.asarray(5.0)
    (value, aux), slope = own.value_and_grad(f, has_aux=True)(x, y)
    assert_close(ps.to_numpy([value, slope]), [45.0, 30.0])
    assert_close(ps.to_numpy(aux), {"double": 6.0, "y": (5.0,)})
    for argnums, expected in (((1,), (9.0,)), ((1, 0), (9.0, 30.0))):
        (_, aux), slopes = own.value_and_grad(f, argnums, has_aux=True)(x, y)
        assert_close(ps.to_numpy(slopes), expected)
        assert_close(ps.to_numpy(aux["double"]), 6.0)
    (_, aux), slope = own.value_and_grad(f, 1, has_aux=True)(x, y)
    assert_close(ps.to_numpy([slope, aux["double"]]), [9.0, 6.0])
    # aux of an outer variable, and aux that is itself differentiated: d/dx (2 x + x y) = 2 + y
    outer = lambda x: own.value_and_grad(lambda y: f(x, y), has_aux=True)(y)  # noqa: E731
    total = own.grad(lambda x: outer(x)[0][1]["double"] + outer(x)[1] * y / x)(x)
    assert_close(ps.to_numpy(total), 2.0 + 5.0)


def test_what_is_inside_a_transform_is_traced(own):
    like, seen = own.asarray([1.0, 2.0], "float32"), []
    memory = own.empty((4, 2), like)
    assert tuple(memory.shape) == (4, 2)
    assert memory.dtype == like.dtype
    assert own.refusal(like) is None
    assert not own.is_traced(like)
    transforms = own.grad, lambda f: own.vmap(own.grad(f)), own.vmap
    for transform, x in zip(transforms, (3.0, [3.0], [3.0]), strict=True):
        transform(lambda x: seen.append(own.is_traced(x)) or x * x)(own.asarray(x))
    assert seen == [True] * 3


# A fourth backend.
@pytest.fixture
def toy(monkeypatch):
    """Register the backend of toy_backend.py: one row."""
    row = backends.Row("tests.toy_backend", "numpy", (("tests.toy_backend", "Array"),))
    monkeypatch.setitem(backends.BACKENDS, "toy", row)
    return ps.backend("toy")


def line_loss(params, x, y):
    xp = ps.array_namespace(params)
    error = xp.tanh(xp.matmul(params["w"], x)) + params["b"] - y
    return 0.5 * error * error


def test_a_backend_is_one_file_and_one_row(toy):
    plain = {"w": theta, "b": np.array(0.3)}, states, states[:, 0]
    exact, given = ps.per_sample_grad(line_loss)(*plain), toy.tree_map(toy.asarray, plain)
    for rows_of in (
        ps.per_sample_grad(line_loss),
        ps.per_sample_grad(line_loss, jit=True, chunk_size=2),
        ps.loop_grad(line_loss),
    ):
        assert_close(ps.to_numpy(rows_of(*given)), exact, FINITE_DIFFERENCES)
    both = ps.per_sample_value_and_grad(line_loss, chunk_size=3)
    losses, rows = ps.to_numpy(both(*given))
    assert_close(rows, exact, FINITE_DIFFERENCES)
    assert_close(losses, 0.5 * (np.tanh(states @ theta) + 0.3 - states[:, 0]) ** 2)
    mean = ps.to_numpy(ps.mean_grad(line_loss)(*given))
    assert_close(mean, {key: x.mean(0) for key, x in exact.items()}, FINITE_DIFFERENCES)
    with pytest.raises(TypeError, match=r"mix arrays of toy \(argument 0\) and numpy"):
        both(given[0], *plain[1:])


def test_no_module_above_asks_for_a_backend_by_name():
    root = Path(ps.__file__).parent
    names = ["per_sample", "checks", "arrays", "batches", "statistics", "losses"]
    for name in names:
        tree = ast.parse((root / f"{name}.py").read_text())
        for node in ast.walk(tree):
            parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            words = [p.value for p in parts if isinstance(p, ast.Constant)]
            assert not set(words) & set(BACKENDS), f"{name}.py, line {node.lineno}"


def test_grad_leaves_the_grad_of_a_torch_tensor_alone():
    torch = pytest.importorskip("torch")

    x = torch.tensor(3.0, requires_grad=True)
    ps.backend("torch").grad(lambda x: x * x)(x)
    assert x.grad is None


def test_torch_compiles_more_functions_than_its_limit_for_one_code_object():
    """Without a code object each, the ninth different function fails in torch 2.13."""
    torch = pytest.importorskip("torch")

    x = torch.ones(2)
    for k in range(torch._dynamo.config.recompile_limit + 2):
        scaled = ps.backend("torch").jit(torch.vmap(lambda x, k=k: x * float(k + 0.5)))
        assert_close(ps.to_numpy(scaled(x)), [k + 0.5, k + 0.5])


@pytest.mark.parametrize("there", [None, "g++", "clang++", "c++", "cl", "gcc"])
def test_torch_compiles_without_a_c_compiler_too(there, monkeypatch):
    torch_backend = pytest.importorskip("persample.backends.torch_backend")
    monkeypatch.undo()
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(torch_backend.shutil, "which", lambda name: name if name == there else "")
    is_found = there not in (None, "gcc")  # gcc alone compiles C
    assert torch_backend.BACKEND.compiler() == ("inductor" if is_found else "aot_eager")
    monkeypatch.setenv("CXX", "/opt/c++")
    assert torch_backend.BACKEND.compiler() == "inductor"


@pytest.mark.parametrize(
    "make",
    [
        lambda torch, t, x: torch.tensor(data=[t[0], 1.0]),
        lambda torch, t, x: torch.asarray(obj=[t[0], t[1]]),
        lambda torch, t, x: x.new_tensor([t[0], 1.0]),
    ],
)
def test_a_tensor_made_of_a_parameter_is_refused_however_it_is_given(make):
    torch = pytest.importorskip("torch")
    rows_of = ps.per_sample_grad(lambda t, x: (make(torch, t, x) * t * x).sum())
    with pytest.raises(TypeError, match="depends on the parameters, so the gradient would end"):
        rows_of(torch.ones(2), torch.ones(3, 2))


def test_a_tensor_made_of_numbers_is_not():
    torch = pytest.importorskip("torch")
    loss = lambda t, x: (t * torch.tensor(data=[1.0, 2.0]) * x.new_tensor([3.0, 4.0])).sum()  # noqa: E731
    rows = ps.per_sample_grad(loss)(torch.ones(2), torch.ones(3, 2))
    assert rows.tolist() == [[3.0, 8.0]] * 3


@pytest.mark.parametrize("jit", [False, True])
def test_a_float_keeps_its_digits_beside_arrays_of_two_dtypes(jit):
    """0.1 in float32 differs from 0.1 in the eighth digit."""
    rows_of = ps.per_sample_value_and_grad(
        lambda w, x, g: (x * g).sum() + 0 * w.sum(), (None, 0, None), jit=jit
    )
    losses, _ = rows_of(np.ones(2, np.float32), np.ones((3, 2)), 0.1)
    assert losses.tolist() == [0.2] * 3
