"""Losses put together at random, with their parameters and one batch of data.

A loss is a sum of terms. Each takes one parameter and one argument, and gives one number. The
same loss runs in the namespace of NumPy's engine, of PyTorch and of JAX.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from persample import array_namespace, stop_gradient

Pair = namedtuple("Pair", "first second")


class Problem(NamedTuple):
    loss: Any  # (params, *sample) -> one number
    params: Any  # a tree of NumPy arrays, perhaps with None
    data: tuple  # trees of NumPy arrays with a leading axis of samples, or shared values
    in_axes: tuple | None
    words: str


# A term: (parameter's shape, argument's shape and kind, function of (xp, p, x)). Every function
# keeps ordinary numbers between about -10 and 10.
VECTOR, MATRIX, NUMBER = (3,), (2, 3), ()
TERMS = {
    "inner product": (VECTOR, VECTOR, lambda m, p, x: m.tanh(m.sum(p * x))),
    "matmul": (MATRIX, VECTOR, lambda m, p, x: m.sum(m.tanh(m.matmul(p, x)))),
    "matmul, two matrices": (
        MATRIX,
        MATRIX,
        lambda m, p, x: m.mean(m.matmul(p, m.matrix_transpose(x)) ** 2),
    ),
    "outer": (VECTOR, NUMBER, lambda m, p, x: m.sum(m.exp(m.tanh(p * x)))),
    "number": (NUMBER, NUMBER, lambda m, p, x: (p - x) ** 2),
    "number of a vector": (NUMBER, VECTOR, lambda m, p, x: m.mean((p * x - 1.0) ** 2)),
    "softmax": (
        MATRIX,
        VECTOR,
        lambda m, p, x: -m.sum(_log_softmax(m, m.matmul(p, x)) * m.tanh(m.matmul(p, x))),
    ),
    "maximum": (VECTOR, VECTOR, lambda m, p, x: m.max(p * 1.3 + x)),
    "relu": (MATRIX, MATRIX, lambda m, p, x: m.sum(m.maximum(p + x, m.zeros_like(p)))),
    "absolute": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.abs(p - 0.37 * x))),
    "where": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.where(x > 0.1, p * p, m.tanh(p)))),
    "logarithm": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.log(1.5 + (p * x) ** 2))),
    "log1p": (VECTOR, NUMBER, lambda m, p, x: m.mean(m.log1p(p * p + x * x))),
    "root": (MATRIX, VECTOR, lambda m, p, x: m.sqrt(1.0 + m.sum((p * x) ** 2))),
    "power": (VECTOR, VECTOR, lambda m, p, x: m.sum((1.5 + m.tanh(p)) ** m.tanh(x))),
    "quotient": (VECTOR, VECTOR, lambda m, p, x: m.sum(p / (2.0 + x * x))),
    "held fixed": (VECTOR, VECTOR, lambda m, p, x: (m.sum(stop_gradient(p) * x) - p[0]) ** 2),
    "concat": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.tanh(m.concat([p, x, p * x])))),
    "stack": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.tanh(m.stack([p, x])[1, ...] * p))),
    "axes": (MATRIX, MATRIX, lambda m, p, x: m.sum(m.permute_dims(p, (1, 0))[1:, :] ** 2)),
    "reshape": (MATRIX, VECTOR, lambda m, p, x: m.mean(m.reshape(p, (3, 2))[:, 0] * x)),
    "sum of an axis": (MATRIX, MATRIX, lambda m, p, x: m.max(m.sum(p * x, axis=1))),
    "mean of an axis": (
        MATRIX,
        MATRIX,
        lambda m, p, x: m.sum((p - m.mean(x, axis=0, keepdims=True)) ** 2),
    ),
    "broadcast": (NUMBER, MATRIX, lambda m, p, x: m.sum(m.tanh(m.broadcast_to(p, (2, 3)) * x))),
    "take": (MATRIX, "index", lambda m, p, x: m.sum(m.take(m.tanh(p), x, axis=0) ** 2)),
    "take along the last": (MATRIX, "index", lambda m, p, x: m.sum(m.take(p, x, axis=1)) ** 2),
    "mask": (VECTOR, "mask", lambda m, p, x: m.sum(m.where(x, p * p, 0.5 * p))),
    "image": (VECTOR, "bytes", lambda m, p, x: m.tanh(m.sum(p * m.astype(x, p.dtype)) / 100)),
    "bytes as they are": (VECTOR, "bytes", lambda m, p, x: m.sum((p * x) ** 2) / 65025),
    "whole numbers": (VECTOR, "int", lambda m, p, x: m.sum(m.tanh(p * x))),
    "minimum of bytes": (
        VECTOR,
        "bytes",
        lambda m, p, x: m.sum(p) * m.astype(m.min(x), p.dtype) / 255,
    ),
    "nothing of the sample": (VECTOR, NUMBER, lambda m, p, x: m.sum(p**3)),
    "nothing of the parameter": (VECTOR, VECTOR, lambda m, p, x: m.sum(x * x) + 0.0 * p[0]),
    "a parameter and a half": (VECTOR, VECTOR, lambda m, p, x: p[-1] * x[0] + 0.5 * p[1] ** 2),
    "logaddexp": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.logaddexp(p, x))),
    "minimum": (VECTOR, VECTOR, lambda m, p, x: m.sum(m.minimum(p, 0.9 * x + 0.01))),
}


def _log_softmax(m, x):
    shifted = x - m.max(x)
    return shifted - m.log(m.sum(m.exp(shifted)))


# The data of a kind, for B samples.
def floats(rng, size, shape, dtype):
    return rng.uniform(-1.5, 1.5, (*size, *shape)).astype(dtype)


KINDS = {
    "index": lambda rng, size: rng.integers(0, 2, (*size, 3)),
    "mask": lambda rng, size: rng.random((*size, 3)) < 0.5,
    "bytes": lambda rng, size: rng.integers(0, 256, (*size, 3)).astype(np.uint8),
    "int": lambda rng, size: rng.integers(-3, 4, (*size, 3)).astype(np.int32),
}
TREES = ("array", "tuple", "list", "dict", "nested", "named", "with None")


def problem(rng: np.random.Generator, dtype: str, size: int) -> Problem:
    """Return a problem with ``size`` samples; parameters of ``dtype``."""
    tree = str(rng.choice(TREES))
    names = rng.choice(list(TERMS), 1 if tree == "array" else int(rng.integers(2, 5)))
    terms = [TERMS[str(name)] for name in names]
    leaves = [floats(rng, (), shape, dtype) for shape, _, _ in terms]
    if tree == "named":
        terms, leaves, names = terms[:2], leaves[:2], names[:2]
    params, parts = _planted(tree, leaves)
    is_shared = [bool(rng.random() < 0.15) for _ in terms]
    is_shared[0] = False
    data = []
    for (_, kind, _), shared in zip(terms, is_shared, strict=True):
        axis = () if shared else (size,)
        isolated = KINDS.get(kind) if isinstance(kind, str) else None
        data.append(isolated(rng, axis) if isolated else floats(rng, axis, kind, dtype))
    in_axes = (None, *[None if shared else 0 for shared in is_shared])
    grouped = bool(rng.random() < 0.2) and not any(is_shared)
    given = ({f"x{k}": x for k, x in enumerate(data)},) if grouped else tuple(data)
    in_axes = (None, 0) if grouped else in_axes
    by_default = not any(is_shared) and rng.random() < 0.5

    def loss(params, *sample):
        m = array_namespace(params)
        xs = [sample[0][key] for key in sorted(sample[0])] if grouped else sample
        total = 0.0
        for (_, _, term), p, x in zip(terms, parts(params), xs, strict=True):
            total = total + term(m, p, x)
        return total

    words = f"{tree} of {', '.join(names)}; B = {size}, {dtype}"
    return Problem(loss, params, given, None if by_default else in_axes, words)


def _planted(tree, leaves):
    """Return the parameters as a tree, and the function that finds the leaves again."""
    if tree == "array":
        return leaves[0], lambda p: [p]
    if tree == "tuple":
        return tuple(leaves), list
    if tree == "list":
        return list(leaves), list
    if tree == "named":
        return Pair(*leaves), lambda p: [p.first, p.second]
    if tree == "dict":
        keys = [f"w{k}" for k in range(len(leaves))]
        return dict(zip(keys, leaves, strict=True)), lambda p: [p[k] for k in keys]
    if tree == "with None":
        return {"a": leaves, "bias": None}, lambda p: p["a"]
    return {"in": leaves[:1], "out": (tuple(leaves[1:]),)}, lambda p: [*p["in"], *p["out"][0]]
