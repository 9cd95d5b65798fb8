"""Leaves of the parameters that have no gradient: the error names their path and a remedy."""

import re
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest
import torch
from torch import nn

import persample as ps
from persample.backends import BACKENDS
from support.cases import arrays
from support.layer_models import Made, oracle, record_of
from support.missing import MISSING
from support.tolerances import FLOAT32, assert_close

if "jax" not in MISSING:
    import jax
    import jax.numpy as jnp

B, D = 3, 4
W = np.linspace(-1.0, 1.0, D)
X = np.linspace(-2.0, 3.0, B * D).reshape(B, D)


class Dense(NamedTuple):
    w: Any
    activation: Any


@dataclass
class Block:
    dense: Any
    scale: Any


optree.register_pytree_node(
    Block,
    lambda block: ((block.dense, block.scale), None, ("dense", "scale")),
    lambda _, parts: Block(*parts),
    path_entry_type=optree.GetAttrEntry,
    namespace=optree.registry.__GLOBAL_NAMESPACE,
)
if "jax" not in MISSING:
    jax.tree_util.register_dataclass(Block, ["dense", "scale"], [])

# Where a leaf stands: how the tree is made, how the loss finds the weights, words of the path.
PLACES = {
    "dict": (lambda w, leaf: {"w": w, "part_b": leaf}, lambda p: p["w"], "part_b"),
    "list": (lambda w, leaf: [w, w, leaf], lambda p: p[0], r"\[2\]"),
    "tuple": (lambda w, leaf: ({"deep": (w, leaf)},), lambda p: p[0]["deep"][0], r"deep.*\[1\]"),
    "namedtuple": (
        lambda w, leaf: {"layers": [Dense(w, leaf)]},
        lambda p: p["layers"][0].w,
        r"layers.*\[0\]\.activation",
    ),
    "dataclass": (
        lambda w, leaf: [Block({"w": w}, w), Block({"w": w}, leaf)],
        lambda p: p[1].dense["w"],
        r"\[1\]\.scale",
    ),
    "attribute on the way": (
        lambda w, leaf: {"b": Block(Dense(w, leaf), None)},
        lambda p: p["b"].dense.w,
        r"b.*\.dense\.activation",
    ),
}
REAL = "(?=.*complex)(?=.*real)"  # two real arrays, or view_as_real
# It is no parameter, and has no place among them.
OUT = r"\bout\b|outside|\bapart\b|separate|partition|split|(own|an) argument|closure|functools"
FLOAT = 'asarray(x, "float64")'
of = lambda x: lambda backend: ps.backend(backend).asarray(np.array(x))  # noqa: E731
# Name -> (the leaf in a backend, words of the cure, and what would be no cure).
LEAVES = {
    "complex array": (of([1 + 2j, 0.5 - 1j]), REAL, FLOAT),
    "complex number of a backend": (of(1 + 2j), REAL, FLOAT),
    "half of a complex": (of(np.array([1j], np.complex64)), REAL, FLOAT),
    "Python's complex": (lambda backend: 1 + 2j, REAL, FLOAT),
    "step counter": (of(3), OUT, None),
    "indices": (of([0, 2, 1]), OUT, None),
    "short integers": (of(np.array([3, 4], np.uint8)), OUT, None),
    "Python counter": (lambda backend: 3, OUT, None),
    "mask": (of([True, False]), OUT, None),
    "flag": (lambda backend: True, OUT, None),
    "name": (lambda backend: "tanh", OUT, "asarray"),
    "function": (lambda backend: np.tanh, OUT, "asarray"),
    "lambda": (lambda backend: lambda x: x, OUT, "asarray"),
    "bound method": (lambda backend: X.clip, OUT, "asarray"),
    "dtype": (lambda backend: np.float64, OUT, "asarray"),
}
CALLS = {
    "rows": ps.per_sample_grad,
    "losses": ps.per_sample_value_and_grad,
    "loop": ps.loop_grad,
    "mean": ps.mean_grad,
    "jit": partial(ps.per_sample_grad, jit=True),
}


def refused(call, path, cure, no_cure=None):
    """Assert that call() raises a TypeError with ``path`` and ``cure``, without ``no_cure``."""
    with pytest.raises(TypeError, match="^[^\n]+$") as caught:
        call()
    text = str(caught.value)
    assert re.search(path, text), text
    assert re.search(cure, text), text
    assert no_cure is None or no_cure not in text, text
    return text


# Each leaf in each backend, at one place after the other, by one way after the other.
TRIED = [
    (backend, leaf, [*PLACES][(n + m) % len(PLACES)], [*CALLS][(n + 2 * m) % len(CALLS)])
    for n, leaf in enumerate(LEAVES)
    for m, backend in enumerate(BACKENDS)
]


@pytest.mark.parametrize(("backend", "leaf", "place", "way"), TRIED)
def test_the_leaf_is_named_by_its_path_with_a_cure_of_its_own(backend, leaf, place, way):
    (make, read, path), (made, cure, no_cure) = PLACES[place], LEAVES[leaf]
    w, x = arrays((W, X), backend)
    run = CALLS[way](lambda p, x: (read(p) * x).sum())
    refused(lambda: run(make(w, made(backend)), x), path, cure, no_cure)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_without_the_leaf_the_rows_are_right(backend, place):
    make, read, _ = PLACES[place]
    w, x = arrays((W, X), backend)
    rows = ps.per_sample_grad(lambda p, x: (read(p) * x).sum())(make(w, None), x)
    assert_close(ps.to_numpy(read(rows)), X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parameter_that_is_the_whole_tree_is_named_too(backend):
    w, x = arrays((W + 1j * W, X), backend, "complex128")
    loss = lambda w, x: abs((w * x).sum()) ** 2  # noqa: E731
    refused(lambda: ps.per_sample_grad(loss)(w, x), "parameter", REAL, FLOAT)
    one, x = arrays((X[0] > 0, X), backend, "bool")
    refused(lambda: ps.per_sample_grad(loss)(one, x), "parameter", OUT)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_of_several_is_named_and_those_that_fit_are_not(backend):
    w, x = arrays((W, X), backend)
    tree = {"part_a": w, "part_b": {"w": w, "n": 3}, "part_c": [w, np.tanh]}
    with pytest.raises(TypeError) as caught:
        ps.per_sample_grad(lambda p, x: (p["part_a"] * x).sum())(tree, x)
    text = str(caught.value)
    assert re.search(r"part_b.*\bn\b", text) or re.search(r"part_c.*\[1\]", text)
    assert "part_a" not in text


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_of_each_sample_are_named_too(backend):
    """Batch the parameters, as of an ensemble; the error must contain the leaf's path."""
    w, x = arrays((np.stack(B * [W]), X), backend)
    count = ps.backend(backend).asarray(np.arange(B))
    rows = ps.per_sample_grad(lambda p, x: (p["net"]["w"] * x).sum(), (0, 0))
    refused(lambda: rows({"net": {"w": w, "count": count}}, x), "net.*count", OUT)


# Keys of JAX, and what its libraries keep beside the parameters.
def test_a_leaf_that_is_a_key_is_not_to_be_made_a_float():
    jax = pytest.importorskip("jax")
    w, x = arrays((W, X), "jax")
    rows = ps.per_sample_grad(lambda p, x: (p["w"] * x).sum())
    key, old = jax.random.key(0), jax.random.PRNGKey(0)
    for k in (key, jax.random.split(key, 2)):
        refused(lambda k=k: rows({"w": w, "rng": k}, x), "(?=.*rng)(?=.*key)", OUT, "asarray")
    refused(lambda: rows({"w": w, "rng": old}, x), "(?=.*rng)(?=.*(key|uint32))", OUT)


def test_the_state_of_a_flax_module_is_to_be_split():
    """Pass the whole state, whose leaves include random keys, and then the split weights."""
    nnx = pytest.importorskip("flax.nnx")
    layers = {
        "dense": nnx.Linear(D, 1, rngs=nnx.Rngs(0)),
        "drop": nnx.Dropout(0.5, rngs=nnx.Rngs(1)),
    }
    graph, state = nnx.split(nnx.Dict(layers))
    loss = lambda p, x: nnx.merge(graph, p, copy=True)["dense"](x)[0]  # noqa: E731
    x = jnp.asarray(X, "float32")
    refused(lambda: ps.per_sample_grad(loss)(state, x), "drop.*(key|count)", r"split|partition")
    graph, weights, rest = nnx.split(nnx.Dict(layers), nnx.Param, ...)
    loss = lambda p, x: nnx.merge(graph, p, rest, copy=True)["dense"](x)[0]  # noqa: E731
    rows = ps.per_sample_grad(loss)(weights, x)
    assert_close(np.asarray(rows["dense"]["kernel"][...])[..., 0], np.float32(X), FLOAT32)


def test_the_state_of_an_optimiser_has_a_count():
    optax = pytest.importorskip("optax")
    w, x = arrays((W, X), "jax")
    given = {"w": w, "optimiser": optax.adam(0.1).init(w)}
    rows = ps.per_sample_grad(lambda p, x: (p["w"] * x).sum())
    refused(lambda: rows(given, x), r"optimiser.*count", OUT)


def test_a_module_of_pytorch_among_the_parameters_is_a_function():
    w, x = arrays((W, X), "torch")
    rows = ps.per_sample_grad(lambda p, x: p["act"](p["w"] * x).sum())
    for act in (nn.Tanh(), torch.tanh, nn.functional.relu):
        refused(lambda act=act: rows({"w": w, "act": act}, x), "act", OUT, "asarray")


# Complex numbers: the cures, followed, give all of the gradient.
def real_pair(z):
    return np.stack([z.real, z.imag])


Z = np.array([1 + 2j, 0.5 - 1j, -1j, 2.0])
# |z . x|^2 has the derivative 2 Re(z . x) x in Re(z), and 2 Im(z . x) x in Im(z).
EXACT = 2 * real_pair(X @ Z).T[:, :, None] * X[:, None, :]


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_real_arrays_have_the_whole_gradient(backend):
    def loss(p, x):
        xp = ps.array_namespace(p)
        return xp.sum(p["re"] * x) ** 2 + xp.sum(p["im"] * x) ** 2

    re, im, x = arrays((Z.real, Z.imag, X), backend)
    for call in (ps.per_sample_grad, ps.loop_grad):
        rows = ps.to_numpy(call(loss)({"re": re, "im": im}, x))
        assert_close(np.stack([rows["re"], rows["im"]], 1), EXACT)


def test_view_as_real_and_a_complex_made_inside_have_it_too():
    given = torch.view_as_real(torch.from_numpy(Z)), torch.from_numpy(X)
    loss = lambda p, x: (torch.view_as_complex(p) * x).sum().abs() ** 2  # noqa: E731
    for call in (ps.per_sample_grad, ps.loop_grad):
        assert_close(call(loss)(*given).mT, EXACT)
    jax = pytest.importorskip("jax")
    made = lambda p, x: jax.numpy.abs(jax.numpy.sum((p[0] + 1j * p[1]) * x)) ** 2  # noqa: E731
    for call in (ps.per_sample_grad, ps.loop_grad):
        assert_close(np.asarray(call(made)(*arrays((real_pair(Z), X), "jax"))), EXACT)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_complex_data_are_no_parameter(backend):
    if backend in MISSING:
        pytest.skip(f"{backend} is not installed")
    w, z = arrays((W, X + 1j * X[::-1]), backend, "complex128")
    w = w.real
    found = ps.per_sample_grad(lambda w, z: abs((w * z).sum()) ** 2)(w, z)
    expected = 2 * ((X @ W)[:, None] * X + (X[::-1] @ W)[:, None] * X[::-1])
    assert_close(ps.to_numpy(found), expected)


# Whole models.
def spectral(m, x):
    """Filter a spectrum by a parameter, complex or as pairs of reals, then apply a layer."""
    filtered = torch.fft.fft(x) * (m.f if m.f.is_complex() else torch.view_as_complex(m.f))
    return m.out(filtered.abs())


def filter_model(complex_one):
    torch.manual_seed(0)
    f = torch.randn(D, 2, dtype=torch.float64)
    f = torch.view_as_complex(f) if complex_one else f
    return Made(spectral, f=nn.Parameter(f), out=nn.Linear(D, 2).double())


def layers(*parts):
    return nn.Sequential(*parts)


COMPLEX = {
    "Linear": (lambda: layers(nn.Linear(2, 2), nn.Linear(2, 1, dtype=torch.cfloat)), r"1\.weight"),
    "Conv": (lambda: nn.ModuleDict({"c": nn.Conv1d(1, 1, 2, dtype=torch.cdouble)}), r"c\.weight"),
    "filter": (lambda: filter_model(True), r"\bf\b"),
    "list": (lambda: layers(nn.ParameterList([torch.ones(2), torch.ones(2) * 1j])), r"0\.1"),
    "Bilinear": (lambda: Made(spectral, a=nn.Bilinear(2, 2, 1, dtype=torch.cfloat)), r"a\.weight"),
}


@pytest.mark.parametrize(("make", "name"), COMPLEX.values(), ids=COMPLEX)
def test_a_complex_parameter_of_a_model_is_no_lazy_layer(make, name):
    text = refused(lambda: ps.record(make()).__enter__(), name, REAL, "lazy")
    assert "initialised" not in text


def test_a_lazy_layer_of_a_model_is_not_complex():
    model = nn.Sequential(nn.Linear(D, 2), nn.LazyLinear(3))
    text = refused(lambda: ps.record(model).__enter__(), r"1\.weight", "run", "complex")
    assert "batch" in text
    model(torch.randn(B, D))
    assert record_of(model, torch.randn(B, D)).rows()["1.weight"].shape == (B, 3, 2)


def test_a_complex_parameter_that_is_frozen_takes_no_part():
    model, x = filter_model(True), torch.from_numpy(X)
    model.f.requires_grad_(False)
    assert_close(record_of(model, x).rows(), oracle(model, x))


@pytest.mark.filterwarnings("ignore:record. at")
def test_the_same_model_with_a_real_pair_has_rows_and_both_parts_are_in_them():
    model, x = filter_model(False), torch.from_numpy(X)
    rows = record_of(model, x).rows()
    assert_close(rows, oracle(model, x))
    assert (rows["f"].abs().amax((0, 1)) > 1e-3).all()
