"""Generated calls of per_sample_grad, of its kin, and of the engine's transforms.

Half are ordinary and must give the oracle's rows. In the other half something is foreign, special
or wrong. The oracle shares no transform with the package: torch.autograd, sample by sample.
"""

import contextlib
import dataclasses
import os
import warnings
from functools import partial
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before jax is imported

import jax
import numpy as np
import torch
from fuzz_losses import Pair, Problem, problem
from fuzz_outcomes import Outcome, Wrong, compare, judged

import persample as ps
from persample import trees
from persample.backends import torch_backend

jax.config.update("jax_enable_x64", True)

BACKENDS = ("numpy", "torch", "jax")
SHARES = (0.66, 0.31, 0.03)  # JAX compiles each operation for each shape: the slowest
TOLERANCES = {"float64": 1e-9, "float32": 3e-5, "float16": 3e-2, "bfloat16": 2e-1}
SIZES = (1, 2, 3, 5)
JAX_SIZES = (1, 3)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-30)


class Own(Exception):
    """An error of the user's own, raised in a loss: it must come out as it is."""


@dataclasses.dataclass
class Weights:
    w: Any


class Column:
    """What pandas has: an array with an index of its own."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __getitem__(self, label):
        return self.values[::-1][label]


class Units(np.ndarray):
    """A subclass of NumPy's array."""


# Arrays of the three backends.
def carried(tree: Any, name: str) -> Any:
    """Return the tree with NumPy arrays as arrays of a backend; other leaves stay."""
    asarray = ps.backend(name).asarray
    return trees.tree_map(lambda x: asarray(x) if isinstance(x, np.ndarray) else x, tree)


def tensors(tree):
    return trees.tree_map(lambda x: torch.tensor(x) if isinstance(x, np.ndarray) else x, tree)


def oracle(case: Problem) -> tuple[list, np.ndarray]:
    """Return (rows, losses) by torch.autograd: one sample after the other, leaf by leaf."""
    arguments = (case.params, *case.data)
    axes = case.in_axes or (None,) + (0,) * len(case.data)
    batched = [x for x, axis in zip(arguments, axes, strict=True) if axis == 0]
    size = len(trees.flatten(batched)[0][0])
    rows, losses = [], []
    for i in range(size):
        one = [
            x if axis is None else trees.tree_map(lambda leaf, i=i: np.asarray(leaf[i]), x)
            for x, axis in zip(arguments, axes, strict=True)
        ]
        leaves, structure = trees.flatten(tensors(one[0]))
        leaves = [leaf.requires_grad_() for leaf in leaves]
        value = case.loss(trees.unflatten(structure, leaves), *map(tensors, one[1:]))
        gradients = torch.autograd.grad(value, leaves, materialize_grads=True)
        rows.append(
            [g.float().numpy() if g.dtype is torch.bfloat16 else g.numpy() for g in gradients]
        )
        losses.append(value.item())
    return [np.stack(column) for column in zip(*rows, strict=True)], np.array(losses)


def by_itself(case: Problem, name: str) -> list:
    """Return the rows by the backend's own gradient of one sample after the other.

    For special values: there the backends have conventions of their own, 0 at a kink or 1.
    """
    gradient = {"numpy": ps.engine.grad, "torch": torch.func.grad, "jax": jax.grad}[name]
    arguments = carried((case.params, *case.data), name)
    axes = case.in_axes or (None,) + (0,) * len(case.data)
    batched = [x for x, axis in zip(arguments, axes, strict=True) if axis == 0]
    rows = []
    for i in range(len(trees.flatten(batched)[0][0])):
        one = [
            x if axis is None else trees.tree_map(lambda leaf, i=i: leaf[i], x)
            for x, axis in zip(arguments, axes, strict=True)
        ]
        leaves, structure = trees.flatten(one[0])
        f = lambda xs, one=one, s=structure: case.loss(trees.unflatten(s, xs), *one[1:])  # noqa: E731
        rows.append(trees.flatten(ps.to_numpy(gradient(f)(leaves)))[0])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _infinite_as(got, mean):
    """Return the mean of the rows, infinite where it is nan and got is infinite.

    A shared operation gets the sum of the samples' cotangents: (0 + 1) * inf is infinite where
    the mean of the rows, 0 * inf and 1 * inf, is nan. Every framework does so.
    """
    leaves = map(_plain, trees.flatten(got)[0])
    return [np.where(np.isinf(x) & np.isnan(m), x, m) for x, m in zip(leaves, mean, strict=True)]


# One way to ask for rows, with everything that it returns compared.
def ask(case: Problem, name: str, way: str, options: dict, expected, losses, tolerance) -> None:
    """Run the call and raise Wrong where the answer is not the oracle's."""
    arguments = carried((case.params, *case.data), name)
    asked = dict(options)
    reused = asked.pop("out", False)
    compare_rows = partial(_compare_rows, case.params, name)
    if way == "mean_grad":
        got = ps.mean_grad(case.loss, case.in_axes, **asked)(*arguments)
        with np.errstate(all="ignore"):
            mean = [x.astype(np.float64).mean(0) for x in expected]
        return compare_rows(got, _infinite_as(got, mean), tolerance)
    if way == "loop_grad":
        return compare_rows(ps.loop_grad(case.loss, case.in_axes)(*arguments), expected, tolerance)
    if way.startswith("engine"):
        axes = case.in_axes or (None,) + (0,) * len(case.data)
        rows_of = ps.engine.vmap(ps.engine.grad(case.loss), axes)
        rows_of = ps.engine.jit(rows_of) if way == "engine jit" else rows_of
        return compare_rows(rows_of(*arguments), expected, tolerance)
    loss = case.loss
    if asked.get("has_aux"):
        loss = lambda *given: (case.loss(*given), trees.flatten(given[0])[0][0] * 2.0)  # noqa: E731
    values = asked.pop("values", False)
    function = ps.per_sample_value_and_grad if values else ps.per_sample_grad
    rows_of = function(loss, case.in_axes, **asked)
    result = rows_of(*arguments)
    if reused:  # the rows of the call before, read-only now and then
        rows = result[1] if values else result
        rows = rows[0] if asked.get("has_aux") and not values else rows
        result = rows_of(*arguments, out=rows)
    rows, values, aux = _taken_apart(result, asked, values)
    compare_rows(rows, expected, tolerance)
    if values is not None and losses is not None:
        compare("values", ps.to_numpy(values), losses, tolerance)
    if aux is not None:
        first = trees.flatten(case.params)[0][0]
        compare("aux", _plain(aux), np.stack([first * 2.0] * len(expected[0])), tolerance)
    return None


def _taken_apart(result, asked, values):
    """Return (rows, values, aux) of what per_sample_grad returns with these options."""
    if values and asked.get("has_aux"):
        (losses, aux), rows = result
        return rows, losses, aux
    if values:
        return result[1], result[0], None
    if asked.get("has_aux"):
        return result[0], None, result[1]
    return result, None, None


def _plain(x):
    x = x.float() if isinstance(x, torch.Tensor) and x.dtype is torch.bfloat16 else x
    return np.asarray(ps.to_numpy(x))


def _compare_rows(params, name, rows, expected, tolerance):
    leaves, structure = trees.flatten(rows)
    if structure != trees.flatten(params)[1]:
        raise Wrong(f"the rows are a tree {structure}")
    for x in leaves:
        if (kind := ps.arrays.backend_of(x)) != name:
            raise Wrong(f"the rows are arrays of {kind}")
    for k, (x, needed, p) in enumerate(
        zip(leaves, expected, trees.flatten(params)[0], strict=True)
    ):
        if str(x.dtype).removeprefix("torch.") != str(p.dtype):
            raise Wrong(f"leaf {k} is {x.dtype}, needed {p.dtype}")
        compare(f"leaf {k}", _plain(x), needed, tolerance)


# Calls that are right.
def ordinary(rng: np.random.Generator) -> Outcome:
    """An ordinary problem, asked in one of all ways."""
    name, dtype, case = _drawn(rng)
    way, options = _way(rng, name)
    what = f"{name}, {way} {options}: {case.words}"

    def run():
        expected, losses = oracle(case)
        ask(case, name, way, options, expected, losses, TOLERANCES[dtype])

    return judged(what, run, may_refuse=False)


def special(rng: np.random.Generator) -> Outcome:
    """NaN, infinities, huge and tiny numbers, ties and zeros."""
    name, dtype, case = _drawn(rng, ("float64", "float32"))
    arrays = [x for x in trees.flatten((case.params, *case.data))[0] if x.dtype.kind == "f"]
    for _ in range(int(rng.integers(1, 4))):
        x = arrays[int(rng.integers(len(arrays)))]
        x.flat[int(rng.integers(x.size))] = rng.choice(SPECIAL)
    way, options = _way(rng, name)
    tolerance = TOLERANCES[dtype]
    expected = by_itself(case, name)
    if options.get("has_aux"):
        options.pop("has_aux")
    what = f"{name}, {way} {options}, special values: {case.words}"
    return judged(
        what, lambda: ask(case, name, way, options, expected, None, tolerance), may_refuse=False
    )


def _drawn(rng, dtypes=("float64", "float64", "float32", "float32", "float16")):
    name = str(rng.choice(BACKENDS, p=SHARES))
    dtype = str(rng.choice(dtypes))
    sizes = JAX_SIZES if name == "jax" else SIZES
    return name, dtype, problem(rng, dtype, int(rng.choice(sizes)))


def _way(rng, name):
    """Return (way, options)."""
    ways = ["per_sample_grad"] * 5 + ["loop_grad", "mean_grad"]
    ways += ["engine", "engine jit"] if name == "numpy" else []
    way = str(rng.choice(ways))
    options: dict = {}
    chance = {"numpy": 0.5, "torch": 0.01, "jax": 0.5}[name]
    if way in ("per_sample_grad", "mean_grad") and rng.random() < chance:
        options["jit"] = True
    if way == "per_sample_grad":
        if rng.random() < 0.3:
            options["chunk_size"] = int(rng.integers(1, 7))
        for option, share in (("has_aux", 0.2), ("values", 0.2), ("out", 0.2)):
            if rng.random() < share:
                options[option] = True
    return way, options


# Calls that something is foreign or wrong in. Each row: which of the leaves it changes ("params",
# "data" or "either"), and the change of one NumPy array. All must be refused by name.
FOREIGN = {
    "a masked array": ("either", lambda x: np.ma.array(x, mask=x > 0)),
    "a matrix": ("either", lambda x: x.reshape(*(x.shape[:1] or (1,)), -1).view(np.matrix)),
    "a subclass": ("either", lambda x: x.view(Units)),
    "an array of objects": ("either", lambda x: x.astype(object)),
    "the other byte order": ("either", lambda x: x.astype(np.dtype("f8").newbyteorder())),
    "text": ("either", lambda x: np.full(x.shape, "a")),
    "dates": ("data", lambda x: np.full(x.shape, np.datetime64("2020-01-01"))),
    "records": ("either", lambda x: np.zeros(x.shape, [("a", float), ("b", int)])),
    "a record array": ("data", lambda x: np.zeros(x.shape, [("a", float)]).view(np.recarray)),
    "a column with an index": ("either", Column),
    "a dataclass": ("either", Weights),
    "whole parameters": ("params", lambda x: np.asarray(x, np.int64)),
    "parameters in bytes": ("params", lambda x: np.asarray(x * 0 + 1, np.uint8)),
    "parameters true or false": ("params", lambda x: np.asarray(x > 0)),
    "complex parameters": ("params", lambda x: np.asarray(x, np.complex128)),
    "a number for a parameter": ("params", lambda x: 0.5),
    "text for a parameter": ("params", lambda x: "w"),
    "a generator": ("either", lambda x: (v for v in [1.0])),
    "a set": ("either", lambda x: {1.0}),
    "an object": ("params", lambda x: object()),
    "a function": ("params", lambda x: np.sin),
    "nested lists of numbers": ("data", lambda x: x.tolist()),
    "a 0-d batch": ("data", lambda x: np.asarray(0.5)),
    "one sample more": ("data", lambda x: np.concatenate([x, x[:1]])),
    "no samples": ("data", lambda x: x[:0]),
    "an array of another backend": ("either", None),
    "a memory view": ("params", lambda x: memoryview(np.ascontiguousarray(x))),
}
# What the engine's own transforms take for the numbers that it is.
NUMBERS = (
    *("a number for a parameter", "a memory view", "a subclass", "nested lists of numbers"),
    *("an array of another backend", "a column with an index", "the other byte order"),
)


def foreign(rng: np.random.Generator) -> Outcome:
    """A leaf of the arguments is what no backend takes."""
    name, _, case = _drawn(rng, ("float64", "float32"))
    kind = str(rng.choice(list(FOREIGN)))
    where, change = FOREIGN[kind]
    if kind in ("one sample more",):
        name, case = "numpy", _with_two_batched(rng)
    way, options = _way(rng, name)
    if way.startswith("engine") and kind in NUMBERS:
        way = "per_sample_grad"
    arguments = list(carried((case.params, *case.data), name))
    axes = case.in_axes or (None,) + (0,) * len(case.data)
    changed = {"params": [0], "data": [1], "either": [0, 1]}[where]
    n = int(rng.choice(changed))
    source = trees.flatten((case.params, *case.data)[n])[0]
    if change is None:
        others = [other for other in ("numpy", "torch") if other != name]
        change = ps.backend(str(rng.choice(others))).asarray
    leaves, structure = trees.flatten(arguments[n])
    k = int(rng.integers(len(leaves)))
    leaves[k] = change(source[k])
    if kind == "no samples" and axes[n] == 0:
        leaves = [leaf[:0] for leaf in leaves]
    arguments[n] = trees.unflatten(structure, leaves)
    what = f"{name}, {way} {options}, {kind} in argument {n}: {case.words}"
    return judged(what, lambda: _bare_call(case.loss, case.in_axes, way, options, arguments), True)


def _with_two_batched(rng):
    while True:
        case = problem(rng, "float64", 3)
        if len(case.data) > 1 and (case.in_axes is None or case.in_axes.count(0) > 1):
            return case


def _bare_call(loss, in_axes, way, options, arguments, **keywords):
    options = {k: v for k, v in options.items() if k not in ("out", "has_aux")}
    if way == "mean_grad":
        return ps.mean_grad(loss, in_axes, **options)(*arguments, **keywords)
    if way == "loop_grad":
        return ps.loop_grad(loss, in_axes)(*arguments, **keywords)
    if way.startswith("engine"):  # the transforms themselves
        axes = in_axes if in_axes is not None else (None,) + (0,) * (len(arguments) - 1)
        rows_of = ps.engine.vmap(ps.engine.grad(loss), axes)
        rows_of = ps.engine.jit(rows_of) if way == "engine jit" else rows_of
        return rows_of(*arguments, **keywords)
    return ps.per_sample_grad(loss, in_axes, **options)(*arguments, **keywords)


AXES = {
    "too short": lambda axes: axes[:-1],
    "too long": lambda axes: (*axes, 0),
    "one": lambda axes: (*axes[:-1], 1),
    "the last": lambda axes: (*axes[:-1], -1),
    "true": lambda axes: (*axes[:-1], True),
    "zero, a float": lambda axes: (*axes[:-1], 0.0),
    "text": lambda axes: (*axes[:-1], "0"),
    "a number": lambda axes: 0,
    "text alone": lambda axes: "00",
    "nothing batched": lambda axes: (None,) * len(axes),
    "a tuple inside": lambda axes: (*axes[:-1], (0,)),
    "a dict": lambda axes: {"params": None},
}
CHUNKS = (0, -1, 1.5, "2", True, np.float64(2), [1], float("nan"), float("inf"))


def misused(rng: np.random.Generator) -> Outcome:
    """Wrong options: in_axes, chunk_size, keywords, out."""
    name, _, case = _drawn(rng, ("float64", "float32"))
    way, options = _way(rng, name)
    arguments = carried((case.params, *case.data), name)
    axes = case.in_axes or (None,) + (0,) * len(case.data)
    kind = str(rng.choice(["in_axes", "chunk_size", "keyword", "out", "out in an argument"]))
    run: Any
    if kind == "in_axes":
        key = str(rng.choice(list(AXES)))
        kind, wrong = f"in_axes {key}", AXES[key](axes)
        run = partial(_bare_call, case.loss, wrong, way, options, arguments)
    elif kind == "chunk_size":
        wrong = CHUNKS[int(rng.integers(len(CHUNKS)))]
        kind = f"chunk_size={wrong!r}"
        run = partial(
            _bare_call, case.loss, axes, "per_sample_grad", {"chunk_size": wrong}, arguments
        )
    elif kind == "keyword":
        run = partial(_bare_call, case.loss, axes, way, options, arguments, gamma=0.9)
    else:
        options = {k: v for k, v in options.items() if k in ("jit", "chunk_size")}
        out = _wrong_out(rng, case, name, arguments, kind, axes)
        run = partial(_bare_call, case.loss, axes, "per_sample_grad", options, arguments, out=out)
        way = "per_sample_grad"
    return judged(f"{name}, {way} {options}, {kind}: {case.words}", run, True)


def _wrong_out(rng, case, name, arguments, kind, axes):
    leaves, structure = trees.flatten(case.params)
    size = len(trees.flatten([x for x, a in zip(arguments, axes, strict=True) if a == 0])[0][0])
    rows = [np.zeros((size, *x.shape), x.dtype) for x in leaves]
    k = int(rng.integers(len(rows)))
    if kind == "out in an argument":  # of a size that fits no row, in JAX it is just that
        rows[k] = np.zeros((size + 1, *leaves[k].shape), leaves[k].dtype)
        return trees.unflatten(structure, carried(rows, name))
    wrong = [
        rows[k][:, None],
        rows[k].astype(np.float16),
        rows[k][:0],
        [],
        rows[k].tolist(),
        "rows",
        7,
        np.ma.array(rows[k]),
    ]
    rows[k] = wrong[int(rng.integers(len(wrong)))]
    rows = carried(rows, name) if not isinstance(rows[k], np.ma.MaskedArray) else rows
    return trees.unflatten(structure, rows)


# Losses that are wrong.
BAD_LOSSES = {
    "a vector": lambda p, x: p * x,
    "one number in a vector": lambda p, x: (p * x)[:1],
    "a number of Python": lambda p, x: 0.5,
    "nothing": lambda p, x: None,
    "text": lambda p, x: "loss",
    "a pair": lambda p, x: (ps.array_namespace(p).sum(p), x),
    "a dict": lambda p, x: {"loss": ps.array_namespace(p).sum(p)},
    "a list": lambda p, x: [ps.array_namespace(p).sum(p)],
    "a function": lambda p, x: np.sum,
    "a whole number": lambda p, x: ps.array_namespace(p).astype(
        ps.array_namespace(p).sum(p), ps.array_namespace(p).int64
    ),
    "true or false": lambda p, x: ps.array_namespace(p).sum(p) > 0,
}
ENGINE_LOSSES = {
    "a branch": lambda p, x: p[0] * 2.0 if p[0] * x[0] > 0 else p[1] * 3.0,
    "a float": lambda p, x: p[0] * float(p[1] * x[0]),
    "a NumPy function": lambda p, x: np.sum(np.unique(p * x)),
    "an assignment": lambda p, x: _assigned(p, x),
    "no such function": lambda p, x: ps.array_namespace(p).nonsense(p),
    "shapes that do not broadcast": lambda p, x: ps.array_namespace(p).sum(p[:2] * x),
    "no such axis": lambda p, x: ps.array_namespace(p).sum(
        ps.array_namespace(p).sum(p * x, axis=3)
    ),
    "an index out of range": lambda p, x: p[7] * x[0],
    "a mask as an index": lambda p, x: ps.array_namespace(p).sum(p[x > 0]),
    "a matrix product that does not fit": lambda p, x: ps.array_namespace(p).matmul(p[:2], x),
    "no such shape": lambda p, x: ps.array_namespace(p).sum(
        ps.array_namespace(p).reshape(p * x, (2, 2))
    ),
    "a loop over a tracer's range": lambda p, x: p[0] * sum(range(x[0] > 0)),
}


def _assigned(p, x):
    p[0] = x[0]
    return p[0]


def bad_losses(rng: np.random.Generator) -> Outcome:
    """The loss returns what is no loss, or asks for what cannot be had; or raises itself."""
    name = str(rng.choice(BACKENDS, p=SHARES))
    table = {**BAD_LOSSES, **ENGINE_LOSSES} if name == "numpy" else BAD_LOSSES
    kind = str(rng.choice(list(table)))
    way, options = _way(rng, name)
    if way == "loop_grad" and kind == "a loop over a tracer's range":
        kind = "a branch"  # there are no tracers in a plain loop: the loss's own error comes out
    p, x = rng.normal(size=3), rng.normal(size=(3, 3))
    arguments = carried((p, x), name)
    if rng.random() < 0.1:
        return _own_error(rng, name, way, options, arguments)
    run = partial(_bare_call, table[kind], None, way, options, arguments)
    must = not (way == "loop_grad" and kind in ("a branch", "a mask as an index"))
    must = must and not (way.startswith("engine") and kind == "a number of Python")  # gradient 0
    return judged(f"{name}, {way} {options}, the loss returns {kind}", run, must)


def _own_error(rng, name, way, options, arguments):
    def loss(p, x):
        raise Own("mine")

    def run():
        try:
            _bare_call(loss, None, way, options, arguments)
        except Own:
            return
        raise Wrong("the loss's own error did not come out")

    return judged(f"{name}, {way} {options}, the loss raises an error of its own", run)


CALLS = {ordinary: 0.5, special: 0.14, foreign: 0.16, misused: 0.1, bad_losses: 0.1}


def call(rng: np.random.Generator) -> Outcome:
    """Make one call from the generator and judge it."""
    make = list(CALLS)[int(rng.choice(len(CALLS), p=list(CALLS.values())))]
    with quiet():
        return make(rng)


@contextlib.contextmanager
def quiet():
    """No warnings of overflow and the like, and no code generator of PyTorch: it takes seconds."""
    compiler, torch_backend.compiler = torch_backend.compiler, lambda: "aot_eager"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch_backend.compiler = compiler


__all__ = ["Pair", "call"]
