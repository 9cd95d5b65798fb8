"""Generated calls that are wrong: each is refused in a sentence that says where.

A call that is right is drawn, and one thing in it is changed: it may give no number, and no error
of a framework's own.
"""

import dataclasses
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from generated_losses import numbers, planted, problems
from generated_runs import WAYS, WITH_OPTIONS, calls, converted, quick, run_all  # noqa: F401
from hypothesis import assume
from hypothesis import strategies as st

import persample as ps

pytestmark = pytest.mark.usefixtures("quick")


class Units(np.ndarray):
    """A subclass of NumPy's array."""


@dataclasses.dataclass
class Weights:
    w: Any


class Column:
    """What pandas has: an array with an index of its own."""

    def __init__(self, x):
        self.x, self.shape, self.dtype = x, x.shape, x.dtype

    def __array__(self, dtype=None, copy=None):
        return self.x


# Which leaves, and what stands there instead of a NumPy array.
LEAVES = {
    "a masked array": ("any", np.ma.array),
    "a subclass": ("any", lambda x: x.view(Units)),
    "objects": ("any", lambda x: x.astype(object)),
    "text": ("any", lambda x: np.full(x.shape, "text")),
    "dates": ("any", lambda x: np.full(x.shape, "2026-01-01", "datetime64[D]")),
    "another byte order": ("any", lambda x: x.astype(x.dtype.newbyteorder())),
    "an array with an index": ("any", Column),
    "a dataclass": ("any", Weights),
    "whole parameters": ("param", lambda x: np.ones(x.shape, "int64")),
    "complex parameters": ("param", lambda x: x.astype("complex128")),
    "masks as parameters": ("param", lambda x: x > 0),
    "a float as a parameter": ("param", lambda x: 0.5),
    "a word as a parameter": ("param", lambda x: "parameter"),
    "a float for each sample": ("batched", lambda x: 0.5),
    "a word for each sample": ("batched", lambda x: "sample"),
    "one more sample": ("batched", lambda x: x),
    "another backend": ("any", lambda x: x),
}
LOSSES = {
    "a vector": lambda m, x: m.stack([x, x]),
    "one number in a vector": lambda m, x: m.reshape(x, (1,)),
    "nothing": lambda m, x: None,
    "a float": lambda m, x: 0.5,
    "text": lambda m, x: "loss",
    "a pair": lambda m, x: (x, x),
    "a list": lambda m, x: [x],
    "a dict": lambda m, x: {"loss": x},
    "a function": lambda m, x: np.sum,
    "a whole number": lambda m, x: m.astype(x, m.int64),
    "true or false": lambda m, x: x > 0,
}
AUX = {
    "no pair": lambda m, x: x,
    "a list of two": lambda m, x: [x, x],
    "three": lambda m, x: (x, x, x),
    "aux of Python": lambda m, x: (x, {"a": 0.5}),
    "aux that is text": lambda m, x: (x, "aux"),
    "a vector and aux": lambda m, x: (m.stack([x, x]), x),
}
AXES = {
    "an entry more": lambda draw, problem, axes: [*axes, 0],
    "an entry less": lambda draw, problem, axes: axes[:-1],
    "no such axis": lambda draw, problem, axes: _replaced(draw, problem, axes, 7, -5),
    "no axis": lambda draw, problem, axes: _replaced(draw, problem, axes, 0.0, "0", True),
    "no such tree": lambda draw, problem, axes: _replaced(
        draw, problem, axes, {"other": 0}, [[[[0]]]]
    ),
    "nothing batched": lambda draw, problem, axes: [None] * len(axes),
    "no tuple": lambda draw, problem, axes: draw(st.sampled_from(("0", 0.0, True, {"x": 0}))),
}
CHUNKS, CHUNK = (0, -1, 1.5, "2", True), st.none() | st.integers(1, 6)
OTHERS = ("no samples", "keywords", "no arguments", "chunk_size", "own parameters in mean_grad")


class Wrong(NamedTuple):
    what: str
    way: str
    loss: Any
    in_axes: Any
    options: dict
    arguments: list
    keywords: dict
    problem: Any


def _replaced(draw, problem, axes, *options):
    holds = [n for n, a in enumerate(problem.arguments) if any(map(problem.is_array, numbers(a)))]
    axes[draw(st.sampled_from(holds))] = draw(st.sampled_from(options))
    return axes


@st.composite
def wrong_calls(draw, backend):
    """Draw a call that is right, and change one thing."""
    what = draw(st.sampled_from([*LEAVES, *LOSSES, *AUX, *AXES, *OTHERS]))
    way = draw(st.sampled_from(WAYS))
    way = WITH_OPTIONS[0] if what in AUX or what == "chunk_size" else way
    way = "mean_grad" if what == "own parameters in mean_grad" else way
    problem = draw(problems(False, way == "mean_grad"))
    values = problem.values(0, 0 if what == "no samples" else draw(st.integers(1, 5)))
    changed = None
    if what in LEAVES:
        changed = draw(st.sampled_from(_places(problem, LEAVES[what][0])))
        changed = changed, _changed(what, backend, values[changed], problem.leaves[changed].axis)
    given = [converted(backend, x) for x in values]
    if changed is not None:
        given[changed[0]] = changed[1]
    axes = AXES.get(what, lambda draw, problem, axes: axes)(draw, problem, list(problem.axes()))
    axes = [0, *axes[1:]] if what == "own parameters in mean_grad" else axes
    options: dict = {"has_aux": True} if what in AUX else {}
    if way != "loop_grad" and backend != "torch":
        options["jit"] = draw(st.booleans())
    if way in WITH_OPTIONS:
        wrong = st.sampled_from(CHUNKS)
        options["chunk_size"] = draw(wrong if what == "chunk_size" else CHUNK)
    arguments = [planted(template, given.__getitem__) for template in problem.arguments]
    arguments = [] if what == "no arguments" else arguments
    keywords = {"scale": 2.0} if what == "keywords" else {}
    loss = _spoiled(problem.loss(), {**LOSSES, **AUX}.get(what))
    return (Wrong(what, way, loss, axes, options, arguments, keywords, problem),)


def _places(problem, which):
    """Return the leaves that may be changed."""
    leaves = [
        (n, leaf) for n, leaf in enumerate(problem.leaves) if leaf.kind in ("param", "float")
    ]
    found = {
        "any": [n for n, _ in leaves],
        "param": problem.params,
        "batched": [n for n, leaf in leaves if leaf.axis is not None],
    }[which]
    assume(found)
    return found


def _changed(what, backend, x, axis):
    """Return what stands instead of a NumPy array."""
    if what == "another backend":
        return converted("torch" if backend == "numpy" else "numpy", x)
    if what == "one more sample":
        return converted(backend, np.concatenate([x, np.take(x, [0], axis)], axis))
    return LEAVES[what][1](np.asarray(x))


def _spoiled(loss, change):
    """Return the loss with a wrong result."""
    if change is None:
        return loss
    return lambda *given: change(ps.array_namespace(given[0]), loss(*given))


def check_refused(call):
    """Make a wrong call: an error of a documented type, in a sentence that says where."""
    batched = [leaf for leaf in call.problem.leaves if leaf.axis is not None]
    assume(call.what != "one more sample" or len(batched) > 1)
    make = lambda: getattr(ps, call.way)(call.loss, call.in_axes, **call.options)  # noqa: E731
    with pytest.raises((ValueError, TypeError, NotImplementedError)) as caught:
        make()(*call.arguments, **call.keywords)
    assert re.match(rf"({call.way}: |the loss ).{{30}}", str(caught.value)), caught.value


@calls(numpy=(200, 2200), torch=(40, 278), jax=(20, 60))
def test_wrong_calls_are_refused_in_words(name, count, record_property):
    run_all(record_property, "refused, as they must be", count, wrong_calls(name), check_refused)


@pytest.mark.parametrize("way", sorted(set(WAYS)))
def test_an_error_of_the_losss_own_comes_out(way):
    def loss(p, x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="^mine$"):
        getattr(ps, way)(loss)(np.ones(2), np.ones((3, 2)))
