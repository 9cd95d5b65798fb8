"""Three modules with the same names, the same signatures and the same meaning."""

import ast
import inspect
import types
from pathlib import Path

import numpy as np
import pytest
from missing import MISSING

import persample as ps
from persample import backends, trees
from persample.backends import BACKENDS, NAMES

from .cases import arrays, rewards, states, theta
from .tolerances import FINITE_DIFFERENCES, assert_close

FUNCTIONS = [name for name in NAMES if not name.isupper()]


@pytest.fixture(params=BACKENDS)
def module(request):
    return ps.backend(request.param)


pytestmark = pytest.mark.usefixtures("light_compiler")


def test_a_backend_has_exactly_the_names_of_the_contract(module):
    assert isinstance(module, types.ModuleType)
    assert set(module.__all__) == set(NAMES)
    assert len(module.__all__) == len(NAMES)


def test_the_docstring_of_backend_lists_the_names_for_its_user():
    text = " ".join(inspect.getdoc(ps.backend).split())
    assert ", ".join(NAMES[: NAMES.index("jit") + 1]) in text


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_knows_its_name(name):
    assert name == ps.backend(name).NAME


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_one_signature_and_a_docstring_everywhere(function):
    def shape(module):
        parameters = inspect.signature(getattr(module, function)).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    modules = [ps.backend(name) for name in BACKENDS if name not in MISSING]
    assert all(shape(module) == shape(modules[0]) for module in modules)
    assert all(inspect.getdoc(getattr(module, function)) for module in modules)


def test_asarray_makes_float64_of_python_numbers(module):
    x = module.asarray([[1.0, 2], [3, 4]])
    assert str(x.dtype).removeprefix("torch.") == "float64"
    assert_close(module.to_numpy(x), [[1.0, 2], [3, 4]])
    assert tuple(module.asarray(1.0).shape) == ()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_asarray_makes_the_dtype_that_is_named(module, dtype):
    for x in ([1.0, 2.0], np.array([1.0, 2.0]), module.asarray([1.0, 2.0])):
        converted = module.asarray(x, dtype)
        assert str(converted.dtype).removeprefix("torch.") == dtype
        assert_close(module.to_numpy(converted), [1.0, 2.0])


def test_asarray_leaves_the_dtype_of_an_array_alone(module):
    assert str(module.asarray(np.ones(2, np.float32)).dtype).removeprefix("torch.") == "float32"
    x = module.asarray([1.0], "float32")
    assert module.asarray(x) is x


def test_grad(module):
    f = lambda x, y: x * x * y  # noqa: E731
    x, y = module.asarray(3.0), module.asarray(5.0)
    assert_close(ps.to_numpy(module.grad(f)(x, y)), 30.0)
    assert_close(ps.to_numpy(module.grad(f, argnums=1)(x, y)), 9.0)
    assert_close(ps.to_numpy(module.grad(f, (1, 0))(x, y)), (9.0, 30.0))


def test_value_and_grad_gives_the_value_first(module):
    value, gradient = module.value_and_grad(lambda x: x * x)(module.asarray(3.0))
    assert_close(ps.to_numpy(value), 9.0)
    assert_close(ps.to_numpy(gradient), 6.0)


@pytest.mark.parametrize("in_axes", [(None, 0), [None, 0]])
def test_vmap_maps_what_is_marked(module, in_axes):
    dots = module.vmap(lambda x, y: ps.array_namespace(x).matmul(x, y), in_axes)
    assert_close(ps.to_numpy(dots(*arrays((theta, states), module.NAME))), states @ theta)


def test_vmap_maps_every_argument_by_default(module):
    sums = module.vmap(lambda x, y: ps.array_namespace(x).sum(x * y))
    assert_close(
        ps.to_numpy(sums(*arrays((states, 2 * states), module.NAME))), 2 * (states**2).sum(1)
    )


def test_transforms_nest(module):
    cube = lambda x: x * x * x  # noqa: E731
    second = module.jit(module.vmap(module.grad(module.grad(cube))))
    assert_close(ps.to_numpy(second(arrays(theta, module.NAME))), 6 * theta)


def test_value_and_grad_with_aux(module):
    def f(x, y):
        return x * x * y, {"double": 2 * x, "y": (y,)}

    x, y = module.asarray(3.0), module.asarray(5.0)
    (value, aux), slope = module.value_and_grad(f, has_aux=True)(x, y)
    assert_close(ps.to_numpy([value, slope]), [45.0, 30.0])
    assert_close(ps.to_numpy(aux), {"double": 6.0, "y": (5.0,)})
    for argnums, expected in (((1,), (9.0,)), ((1, 0), (9.0, 30.0))):
        (_, aux), slopes = module.value_and_grad(f, argnums, has_aux=True)(x, y)
        assert_close(ps.to_numpy(slopes), expected)
        assert_close(ps.to_numpy(aux["double"]), 6.0)
    (_, aux), slope = module.value_and_grad(f, 1, has_aux=True)(x, y)
    assert_close(ps.to_numpy([slope, aux["double"]]), [9.0, 6.0])
    # aux of an outer variable, and aux that is itself differentiated: d/dx (2 x + x y) = 2 + y
    outer = lambda x: module.value_and_grad(lambda y: f(x, y), has_aux=True)(y)  # noqa: E731
    total = module.grad(lambda x: outer(x)[0][1]["double"] + outer(x)[1] * y / x)(x)
    assert_close(ps.to_numpy(total), 2.0 + 5.0)


def test_memory_for_rows_is_like_the_parameters(module):
    like = module.asarray([1.0, 2.0], "float32")
    memory = module.empty((4, 2), like)
    assert tuple(memory.shape) == (4, 2)
    assert memory.dtype == like.dtype
    assert not module.traced(like)
    assert module.refusal(like) is None
    seen = []
    module.grad(lambda x: seen.append(module.traced(x)) or x * x)(module.asarray(3.0))
    assert seen == [True]


def test_an_array_shares_memory_with_itself_and_not_with_another(module):
    x, y = module.asarray([1.0, 2.0]), module.asarray([1.0, 2.0])
    assert module.shared(x, x)
    assert not module.shared(x, y)
    assert not module.shared(x, np.ones(2))


# A fourth backend.
@pytest.fixture
def toy(monkeypatch):
    """Register the backend of toy_backend.py: one row."""
    row = backends.Row("tests.toy_backend", "numpy", (("tests.toy_backend", "Toy"),))
    monkeypatch.setitem(backends.BACKENDS, "toy", row)
    return ps.backend("toy")


def line_loss(params, x, y):
    xp = ps.array_namespace(params)
    error = xp.tanh(xp.matmul(params["w"], x)) + params["b"] - y
    return 0.5 * error * error


def test_a_backend_is_one_file_and_one_row(toy):
    assert set(NAMES) <= set(dir(toy))
    w, b, y = theta, np.array(0.3), states[:, 0]
    exact = ps.per_sample_grad(line_loss)({"w": w, "b": b}, states, y)
    plain = {"w": w, "b": b}, states, y
    given = trees.tree_map(toy.asarray, plain)
    for rows in (
        ps.per_sample_grad(line_loss)(*given),
        ps.per_sample_grad(line_loss, jit=True, chunk_size=2)(*given),
        ps.loop_grad(line_loss)(*given),
    ):
        assert_close(ps.to_numpy(rows), exact, FINITE_DIFFERENCES)
    rows_of = ps.per_sample_value_and_grad(line_loss, chunk_size=3)
    _, rows = rows_of(*trees.tree_map(toy.asarray, ({"w": 2 * w, "b": b}, states, y)))
    losses, again = rows_of(*given, out=rows)
    assert all(again[key] is rows[key] for key in rows)
    assert_close(ps.to_numpy(again), exact, FINITE_DIFFERENCES)
    assert_close(ps.to_numpy(losses), 0.5 * (np.tanh(states @ w) + b - y) ** 2)
    mean = ps.to_numpy(ps.mean_grad(line_loss)(*given))
    assert_close(mean, {key: x.mean(0) for key, x in exact.items()}, FINITE_DIFFERENCES)
    with pytest.raises(TypeError, match=r"mix arrays of toy \(argument 0\) and numpy"):
        rows_of(given[0], states, y)


def test_a_fourth_backend_does_not_write_over_what_it_reads(toy):
    """As in NumPy: the memory of an argument, of a captured array, and of another row."""
    w, x, y = toy.asarray(theta), toy.asarray(states), toy.asarray(rewards)
    rows_of = ps.per_sample_grad(ps.squared_loss, chunk_size=1)
    kept = x.data.copy()
    with pytest.raises(ValueError, match="out shares memory with argument 1, so writing"):
        rows_of(w, x, y, out=toy.Toy(x.data[::-1]))
    outside = lambda w, a, b: ps.squared_loss(w, a, b) + 0.0 * x[0][0]  # noqa: E731
    with pytest.raises(ValueError, match="out shares memory with x, which the loss uses"):
        ps.per_sample_grad(outside)(w, toy.asarray(states), y, out=x)
    assert_close(x.data, kept)
    twice = lambda p, a, b: ps.squared_loss(p["a"] + p["b"] * 2.0, a, b)  # noqa: E731
    given, same = ({"a": w, "b": w}, x, y), np.zeros(states.shape)
    rows = ps.per_sample_grad(twice)(*given, out={"a": toy.Toy(same), "b": toy.Toy(same)})
    assert_close(rows["b"].data, 2.0 * rows["a"].data, FINITE_DIFFERENCES)


def test_no_module_above_asks_for_a_backend_by_name():
    root = Path(ps.__file__).parent
    names = [
        "per_sample",
        "plans",
        "checks",
        "captured",
        "arrays",
        "memory",
        "batches",
        "trees",
        "statistics",
        "losses",
    ]
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
    assert torch_backend.compiler() == ("inductor" if is_found else "aot_eager")
    monkeypatch.setenv("CXX", "/opt/c++")
    assert torch_backend.compiler() == "inductor"
