"""The three backends and the toy backend have the same methods with the same behaviour."""

import inspect
import sys

import numpy as np
import pytest

import persample as ps
from persample import backends
from persample.arrays import backend_of
from persample.backends import BACKENDS, Backend
from support.cases import arrays, states, theta
from support.tolerances import assert_close

pytestmark = pytest.mark.usefixtures("light_compiler")


@pytest.fixture(params=BACKENDS)
def own(request):
    return ps.backend(request.param)


def dtype_of(x):
    return str(x.dtype).removeprefix("torch.")


def test_a_method_is_documented_and_takes_the_same_arguments_everywhere(own):
    """Skip JAX's transforms, which are JAX's own functions and take more arguments."""
    assert isinstance(own, Backend)
    for method, f in vars(Backend).items():
        if not callable(f) or method[0] == "_":
            continue
        assert inspect.getdoc(f)
        given = getattr(own, method)
        if getattr(given, "__module__", "persample").startswith("persample.backends"):
            assert [*inspect.signature(given).parameters] == [*inspect.signature(f).parameters][1:]


# Arrays.
def test_asarray_makes_the_dtype_that_is_named_or_leaves_that_of_an_array(own):
    x = own.asarray([[1.0, 2], [3, 4]])
    assert dtype_of(x) == "float64"
    assert_close(own.to_numpy(x), [[1.0, 2], [3, 4]])
    assert tuple(own.asarray(1.0).shape) == ()
    for dtype in ("float32", "float64", "int64"):
        for given in ([1.0, 2.0], np.array([1.0, 2.0]), own.asarray([1.0, 2.0])):
            converted = own.asarray(given, dtype)
            assert dtype_of(converted) == dtype
            assert_close(own.to_numpy(converted), [1.0, 2.0])
    assert dtype_of(own.asarray(np.ones(2, np.float32))) == "float32"
    x = own.asarray([1.0], "float32")
    assert own.asarray(x) is x


def test_arrays_and_tracers_name_their_backend(own):
    x, seen = arrays(theta, own.name), []
    assert backend_of(1.0, {"a": [None, (x,)]}, "text") == own.name
    own.vmap(own.grad(lambda x: seen.append(backend_of(x)) or x * x))(x)
    assert set(seen) == {own.name}
    xp = ps.array_namespace({"params": [x]})
    for result in (xp.concat([x, x]), xp.permute_dims(xp.stack([x, x]), (1, 0)), xp.tanh(x)):
        assert backend_of(result) == own.name


def test_numpy_scalars_and_tape_tensors_belong_to_numpy():
    assert backend_of(np.float32(1)) == backend_of(ps.tape.tensor([1.0])) == "numpy"
    assert ps.array_namespace([None, 1.0, np.ones(2)]) is np  # the first array decides
    assert ps.array_namespace(np.float64(1)) is np


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_an_array_of_a_package_that_is_not_loaded_cannot_exist(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    assert backend_of(theta) == "numpy"


def test_stop_gradient_keeps_the_value_and_drops_the_derivative(own):
    f = lambda x: ps.stop_gradient(x) * x  # noqa: E731, d/dx = x with the factor held fixed
    found = own.value_and_grad(f)(own.asarray(3.0))
    assert_close(ps.to_numpy(found), (9.0, 3.0))
    assert_close(ps.to_numpy(own.grad(own.grad(f))(own.asarray(3.0))), 0.0)
    for x in (1, 2.5, np.float64(3), theta):
        assert ps.stop_gradient(x) is x


def test_to_numpy_converts_every_array_of_a_tree_and_leaves_the_graph_behind(own):
    plain = ps.to_numpy({"a": arrays(theta, own.name), "b": [own.asarray(2.0, "float32")]})
    assert type(plain["a"]) is np.ndarray
    assert plain["b"][0].dtype == np.float32
    assert_close(plain, {"a": theta, "b": [2.0]})
    assert ps.to_numpy({"a": [None], "b": 1}) == {"a": [None], "b": 1}
    for make in (ps.tape.tensor, pytest.importorskip("torch").tensor):
        assert_close(ps.to_numpy(make([1.0, 2.0], requires_grad=True) * 2), [2.0, 4.0])


# Transforms.
def test_value_and_grad_with_every_option(own):
    def f(x, y):
        return x * x * y, {"double": 2 * x, "y": (y,)}

    x, y = own.asarray(3.0), own.asarray(5.0)
    plain = lambda x, y: f(x, y)[0]  # noqa: E731
    for argnums, slopes in ((0, 30.0), (1, 9.0), ((1,), (9.0,)), ((1, 0), (9.0, 30.0))):
        assert_close(ps.to_numpy(own.grad(plain, argnums)(x, y)), slopes)
        (value, aux), found = own.value_and_grad(f, argnums, has_aux=True)(x, y)
        assert_close(ps.to_numpy([value, found]), [45.0, slopes])
        assert_close(ps.to_numpy(aux), {"double": 6.0, "y": (5.0,)})
    # aux of an outer variable, and aux that is itself differentiated: d/dx (2 x + x y) = 2 + y
    outer = lambda x: own.value_and_grad(lambda y: f(x, y), has_aux=True)(y)  # noqa: E731
    total = own.grad(lambda x: outer(x)[0][1]["double"] + outer(x)[1] * y / x)(x)
    assert_close(ps.to_numpy(total), 2.0 + 5.0)


def test_what_is_inside_a_transform_is_traced(own):
    like, seen = own.asarray([1.0, 2.0], "float32"), []
    memory = own.empty((4, 2), like)
    assert (tuple(memory.shape), memory.dtype) == ((4, 2), like.dtype)
    assert own.refusal(like) is None
    assert not own.is_traced(like)
    transforms = own.grad, lambda f: own.vmap(own.grad(f)), own.vmap
    for transform, x in zip(transforms, (3.0, [3.0], [3.0]), strict=True):
        transform(lambda x: seen.append(own.is_traced(x)) or x * x)(own.asarray(x))
    assert seen == [True] * 3


@pytest.mark.parametrize("jit", [False, True])
def test_a_float_keeps_its_digits_beside_arrays_of_two_dtypes(jit):
    """Use 0.1, which differs from its float32 value in the ninth digit."""
    loss = lambda w, x, g: (x * g).sum() + 0 * w.sum()  # noqa: E731
    both = ps.per_sample_value_and_grad(loss, (None, 0, None), jit=jit)
    losses, _ = both(np.ones(2, np.float32), np.ones((3, 2)), 0.1)
    assert losses.tolist() == [0.2] * 3


# A fourth backend.
def line_loss(params, x, y):
    xp = ps.array_namespace(params)
    error = xp.tanh(xp.matmul(params["w"], x)) + params["b"] - y
    return 0.5 * error * error


def test_a_backend_is_one_file_and_one_row(monkeypatch):
    row = backends.Row("support.toy_backend", "numpy", (("support.toy_backend", "Array"),))
    monkeypatch.setitem(backends.BACKENDS, "toy", row)
    toy = ps.backend("toy")
    plain = {"w": theta, "b": np.array(0.3)}, states, states[:, 0]
    exact, given = ps.per_sample_grad(line_loss)(*plain), toy.tree_map(toy.asarray, plain)
    for rows_of in (ps.per_sample_grad(line_loss, jit=True), ps.loop_grad(line_loss)):
        assert_close(ps.to_numpy(rows_of(*given)), exact)
    both = ps.per_sample_value_and_grad(line_loss, chunk_size=3)
    losses = 0.5 * (np.tanh(states @ theta) + 0.3 - states[:, 0]) ** 2
    assert_close(ps.to_numpy(both(*given)), (losses, exact))
    mean = ps.to_numpy(ps.mean_grad(line_loss)(*given))
    assert_close(mean, {key: x.mean(0) for key, x in exact.items()})
    with pytest.raises(TypeError, match=r"mix arrays of toy \(argument 0\) and numpy"):
        both(given[0], *plain[1:])
    with pytest.raises(ValueError, match="is not one of numpy, torch, jax, toy;"):
        ps.backend("other")


def test_a_program_of_the_numpy_backend_is_called_by_the_name_of_the_loss():
    own = ps.backend("numpy")
    compiled = ps.engine.jit(own.vmap(own.grad(ps.td_loss), (None, 0, 0, 0)))
    source = compiled.source(np.ones(3), np.ones((4, 3)), np.ones(4), np.ones((4, 3)))
    assert source.startswith("def td_loss(theta, s, r, s_next):")
