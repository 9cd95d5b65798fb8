"""Wrong calls in every backend and by every function: a sentence that says where.

None gives a number, and none an error of a framework's own; test_errors has the sentences.
"""

import re

import numpy as np
import pytest

import persample as ps
from persample.backends import BACKENDS

from .cases import arrays, rewards, states, theta
from .test_errors import Series, Weights

FUNCTIONS = ("per_sample_grad", "per_sample_value_and_grad", "loop_grad", "mean_grad")


class Units(np.ndarray):
    """A subclass of NumPy's array."""


# What stands in place of a NumPy array, as a parameter or as data.
ARRAYS = {
    "a masked array": np.ma.array,
    "a subclass": lambda x: x.view(Units),
    "objects": lambda x: x.astype(object),
    "text": lambda x: np.full(x.shape, "text"),
    "dates": lambda x: np.full(x.shape, "2026-01-01", "datetime64[D]"),
    "another byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "an array with an index": lambda x: Series(),
    "a dataclass": Weights,
    "a float": lambda x: 0.5,
    "a word": lambda x: "word",
}
PARAMETERS = {
    "whole parameters": lambda x: np.ones(x.shape, "int64"),
    "complex parameters": lambda x: x.astype("complex128"),
    "masks as parameters": lambda x: x > 0,
}
LOSSES = {
    "a vector": lambda m, x: m.stack([x, x]),
    "nothing": lambda m, x: None,
    "a float": lambda m, x: 0.5,
    "a list": lambda m, x: [x],
    "a function": lambda m, x: np.sum,
    "a whole number": lambda m, x: m.astype(x, m.int64),
    "true or false": lambda m, x: x > 0,
}
AUX = {
    "no pair": lambda m, x: x,
    "a list of two": lambda m, x: [x, x],
    "three": lambda m, x: (x, x, x),
    "aux of Python": lambda m, x: (x, {"a": 0.5}),
    "a vector and aux": lambda m, x: (m.stack([x, x]), x),
}
AXES = [(None, 0), (None, 0, 0, 0), (None, 7, 0), (None, -5, 0), (None, 0.0, 0), (None, "0", 0)]
AXES += [(None, True, 0), (None, {"other": 0}, 0), (None, [[0]], 0), ({"w": (0,)}, 0, 0)]
AXES += [({"c": 0}, 0, 0), (None, None, None), "0", 0.0, True, {"x": 0}]


def loss(params, x, y):
    return ps.squared_loss(params["w"], x, y)


def refused(given, loss=loss, in_axes=None, functions=FUNCTIONS, **options):
    """Make a wrong call by every function: an error of a documented type that says where."""
    for name in functions:
        with pytest.raises((ValueError, TypeError)) as caught:
            getattr(ps, name)(loss, in_axes, **options)(*given)
        assert re.match(rf"({name}: |the loss ).{{30}}", str(caught.value)), caught.value


def right(backend):
    return arrays(({"w": theta}, states, rewards), backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", [*ARRAYS, *PARAMETERS])
def test_wrong_arrays(what, backend):
    params, x, y = right(backend)
    change = {**ARRAYS, **PARAMETERS}[what]
    refused(({"w": change(theta)}, x, y))
    if what in ARRAYS:
        refused((params, change(states), y))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", [*LOSSES, *AUX])
def test_wrong_losses(what, backend):
    change = {**LOSSES, **AUX}[what]
    wrong = lambda p, *given: change(ps.array_namespace(p), loss(p, *given))  # noqa: E731
    options = {"functions": FUNCTIONS[:2], "has_aux": True} if what in AUX else {}
    refused(right(backend), wrong, **options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("in_axes", AXES, ids=str)
def test_wrong_axes(in_axes, backend):
    refused(right(backend), in_axes=in_axes)


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_batches(backend):
    params, x, y = right(backend)
    for given in ((), (params, x, y[:2]), (params, x[:0], y[:0]), (params, x, y[0])):
        refused(given)
    other = arrays(rewards, "torch" if backend == "numpy" else "numpy")
    refused((params, x, other))
