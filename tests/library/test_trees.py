"""Rows have the tree structure of the parameters, for every registered type of tree."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import persample as ps
from persample.backends import BACKENDS
from support.cases import B, arrays, rewards, states, theta
from support.missing import MISSING
from support.tolerances import assert_close

pytestmark = pytest.mark.usefixtures("light_compiler")


class Line(NamedTuple):
    w: Any
    b: Any


@dataclass
class Point:
    w: Any
    b: Any


optree.register_pytree_node(
    Point,
    lambda p: ((p.w, p.b), None),
    lambda _, parts: Point(*parts),
    namespace=optree.registry.__GLOBAL_NAMESPACE,
)
if "jax" not in MISSING:
    import jax

    jax.tree_util.register_dataclass(Point, ["w", "b"], [])

by_key = lambda p: (p["w"], p["b"])  # noqa: E731
by_name = lambda p: (p.w, p.b)  # noqa: E731
# name -> (how to make it of w and b, how to read them)
TREES = {
    "keys of two types": (lambda w, b: {"w": w, 1: None, "b": b}, by_key),
    "OrderedDict": (lambda w, b: OrderedDict(w=w, b=b), by_key),
    "registered dataclass": (Point, by_name),
    "nested": (lambda w, b: (Line({"w": w, "b": b}, None), {"z": {}}), lambda p: by_key(p[0].w)),
}


def line_loss(read, params, x, y):
    w, b = read(params)
    error = ps.array_namespace(params).matmul(w, x) + b - y
    return 0.5 * error * error


x = np.concatenate([states, np.ones((B, 1))], axis=1)
exact = (x @ [*theta, 0.3] - rewards)[:, None] * x


# Every tree in every backend, compiled in turn; torch.compile is slow, so it gets one.
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_come_in_the_container_of_the_parameters(name, backend):
    make, read = TREES[name]
    params, own = make(*arrays((theta, np.array(0.3)), backend)), ps.backend(backend)
    given, loss = (params, *arrays((states, rewards), backend)), partial(line_loss, read)
    jit = name == "nested" or (backend != "torch" and [*TREES].index(name) % 2 == 1)
    if name == "keys of two types" and backend == "jax":
        with pytest.raises(ValueError, match="[Cc]omparator|sort"):
            ps.per_sample_grad(loss)(*given)
        return
    rows, oracle = ps.per_sample_grad(loss, jit=jit)(*given), ps.loop_grad(loss)(*given)
    chunked = ps.per_sample_value_and_grad(loss, chunk_size=2)(*given)[1]
    for tree in (rows, oracle, chunked):
        assert type(tree) is type(params)
        assert own.flatten(tree)[1] == own.flatten(params)[1]
        w, b = map(ps.to_numpy, read(tree))
        assert_close(np.concatenate([w, b[:, None]], axis=1), exact)
    mean = ps.mean_grad(loss)(*given)
    assert_close([ps.to_numpy(g) for g in read(mean)], [exact[:, :3].mean(0), exact[:, 3].mean(0)])
    if isinstance(params, dict) and (backend != "jax" or name == "OrderedDict"):
        assert list(rows) == list(params)  # JAX sorts the keys of a dict


@pytest.mark.parametrize(("backend", "jit"), [("numpy", False), ("numpy", True), ("torch", False)])
def test_aux_keeps_the_order_of_a_dict(backend, jit):
    loss = lambda t, x: ((t * x).sum(), {"b": x, "a": OrderedDict(z=x, y=2 * x)})  # noqa: E731
    _, aux = ps.per_sample_grad(loss, jit=jit, has_aux=True)(*arrays((theta, states), backend))
    assert [*aux, *aux["a"]] == ["b", "a", "z", "y"]
    assert_close(ps.to_numpy(aux["a"]["y"]), 2 * states)
