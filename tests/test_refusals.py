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


# What stands in place of a NumPy array: as a parameter or as data, then as a parameter alone.
ARRAYS = [
    *(np.ma.array, lambda x: x.view(Units), lambda x: x.astype(object), Weights),
    *(lambda x: np.full(x.shape, "text"), lambda x: x.astype(x.dtype.newbyteorder())),
    *(lambda x: np.full(x.shape, "2026-01-01", "datetime64[D]"), lambda x: Series()),
    *(lambda x: 0.5, lambda x: "word"),
]
PARAMETERS = [lambda x: np.ones(x.shape, int), lambda x: x + 0j, lambda x: x > 0]
# What a loss returns in place of the number x; then in place of it and of an aux.
LOSSES = [
    *(lambda m, x: m.stack([x, x]), lambda m, x: None, lambda m, x: 0.5, lambda m, x: [x]),
    *(lambda m, x: np.sum, lambda m, x: m.astype(x, m.int64), lambda m, x: x > 0),
]
AUX = [
    *(lambda m, x: x, lambda m, x: [x, x], lambda m, x: (x, x, x)),
    *(lambda m, x: (x, {"a": 0.5}), lambda m, x: (m.stack([x, x]), x)),
]
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


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_wrong_call_is_refused_by_every_function(backend):
    params, x, y = given = arrays(({"w": theta}, states, rewards), backend)
    for change in ARRAYS:
        refused((params, change(states), y))
    for change in ARRAYS + PARAMETERS:
        refused(({"w": change(theta)}, x, y))
    for change in LOSSES + AUX:
        wrong = lambda p, *rest, c=change: c(ps.array_namespace(p), loss(p, *rest))  # noqa: E731
        options = {"functions": FUNCTIONS[:2], "has_aux": True} if change in AUX else {}
        refused(given, wrong, **options)
    for in_axes in AXES:
        refused(given, in_axes=in_axes)
    other = arrays(rewards, "torch" if backend == "numpy" else "numpy")
    for batch in ((), (params, x, y[:2]), (params, x[:0], y[:0]), (params, x, y[0])):
        refused(batch)
    refused((params, x, other))
