"""Random compositions of primitives against PyTorch.

On failure the seed and the steps are printed; ``Program(seed)`` makes the same program again.
"""

import array_api_compat.torch as torch_namespace
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from persample import stop_gradient
from persample.engine import codegen, grad, jit, value_and_grad, vmap
from persample.engine import namespace as xp
from support.tolerances import FLOAT64, assert_close

BATCH = 3
SHAPES = [(), (3,), (2, 3)]  # of the inputs
KEPT = {*SHAPES, (2,), (3, 2)}  # of all values; few, for JAX compiles each operation for each


def like(m, array):
    """Return an array as a constant of the namespace m."""
    return m.asarray(np.asarray(array))


def ramp(m, x):
    """Return distinct numbers in the shape of x, so that comparisons with them have no ties."""
    n = np.arange(1, int(np.prod(x.shape)) + 1).reshape(x.shape)
    return like(m, np.sqrt(2.0) * n - 1.7)


# Each row: which shapes it takes, and the step. Every one keeps numbers between about -10 and 10.
UNARY = {
    "negative": lambda m, x: -x,
    "exp": lambda m, x: m.exp(m.tanh(x)),
    "log": lambda m, x: m.log(1.5 + x * x),
    "log1p": lambda m, x: m.log1p(x * x),
    "tanh": lambda m, x: m.tanh(x),
    "sqrt": lambda m, x: m.sqrt(1.0 + x * x),
    "scale": lambda m, x: 0.5 * x - 0.25,
    "reciprocal": lambda m, x: 1.0 / (2.0 + x * x),
    "cube": lambda m, x: m.tanh(x) ** 3,
    "stop_gradient": lambda m, x: m.tanh(stop_gradient(x)) * x,
    "float32 and back": lambda m, x: x + 0.0 * m.astype(m.astype(x, m.float32), m.float64),
    "sum": lambda m, x: m.tanh(m.sum(x)),
    "mean": lambda m, x: m.mean(x),
    "max": lambda m, x: m.max(x + ramp(m, x)) - 1.0,
    "sum of an axis": lambda m, x: m.sum(x, axis=0) if x.ndim else x,
    "max of an axis": lambda m, x: m.max(x + ramp(m, x), axis=-1) if x.ndim else x,
    "softmax": lambda m, x: (
        m.exp(m.tanh(x)) / m.sum(m.exp(m.tanh(x)), axis=-1, keepdims=True) if x.ndim else x
    ),
    "transpose": lambda m, x: m.permute_dims(x, (1, 0)) if x.ndim == 2 else x,
    "reshape": lambda m, x: m.reshape(x, x.shape[::-1]),
    "new axis": lambda m, x: m.reshape(x, (1, *x.shape))[0, ...] * 0.9,
    "reverse": lambda m, x: (
        m.take(x, like(m, np.arange(x.shape[0])[::-1].copy()), axis=0) if x.ndim else x
    ),
    "first": lambda m, x: x[0] if x.ndim else x,
    "rest": lambda m, x: m.concat([x[1:], x[:1]], axis=0) if x.ndim else x,
    "pick": lambda m, x: (
        m.take(x, like(m, np.array([0, x.shape[-1] - 1, 0])), axis=x.ndim - 1) if x.ndim else x
    ),
    "repeat": lambda m, x: m.broadcast_to(x, (2, 3)) if x.shape in ((), (3,)) else x,
}
BINARY = {
    "add": lambda m, x, y: x + y,
    "subtract": lambda m, x, y: x - y,
    "multiply": lambda m, x, y: m.tanh(x) * y,
    "divide": lambda m, x, y: x / (2.0 + m.tanh(y)),
    "power": lambda m, x, y: m.pow(1.5 + m.tanh(x), m.tanh(y)),
    "maximum": lambda m, x, y: m.maximum(x, 0.71 * y + 0.113),
    "minimum": lambda m, x, y: m.minimum(x, 0.71 * y + 0.113),
    "where": lambda m, x, y: m.where(x < 0.71 * y + 0.113, m.tanh(x + 0.0 * y), 0.3 * y + 0.0 * x),
    "logaddexp": lambda m, x, y: m.logaddexp(m.tanh(x) + 0.0 * y, m.tanh(y) + 0.0 * x),
    "matmul": lambda m, x, y: m.tanh(m.matmul(x, y)),
    "stack": lambda m, x, y: m.sum(m.stack([x, m.tanh(y)], axis=0), axis=0),
}


class Program:
    """A random program: steps drawn from a seed; program(namespace, *inputs) returns a number."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.seed, self.steps = seed, []
        self.inputs = [self.rng.uniform(-1.5, 1.5, (BATCH, *shape)) for shape in SHAPES]
        values = [x[0] for x in self.inputs]
        while len(self.steps) < self.rng.integers(4, 12):
            name = str(self.rng.choice([*UNARY, *BINARY, *BINARY]))
            operands = [int(self.rng.integers(len(values))) for _ in range(1 + (name in BINARY))]
            # the newest value is used half of the time, so that programs grow deep
            if self.rng.random() < 0.5:
                operands[0] = len(values) - 1
            try:
                value = self.step(xp, values, (name, *operands))
            except ValueError:  # shapes that do not fit
                continue
            if value.shape in KEPT:
                self.steps.append((name, *operands))
                values.append(value)

    @staticmethod
    def step(m, values, step):
        name, *operands = step
        return {**UNARY, **BINARY}[name](m, *[values[i] for i in operands])

    def __call__(self, m, *inputs):
        values = list(inputs)
        for step in self.steps:
            values.append(self.step(m, values, step))
        total = sum(m.sum(m.tanh(v)) for v in values[-3:])
        return total + 0.01 * sum(m.sum(x) for x in inputs)

    def __repr__(self):
        return f"seed {self.seed}: {self.steps}"


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_random_programs(seed):
    """Compare rows by vmap, jit and a loop; compare derivatives to second order with PyTorch."""
    program = Program(seed)
    f, peer = [lambda *xs, m=m: program(m, *xs) for m in (xp, torch_namespace)]
    rows = vmap(value_and_grad(f, (0, 1, 2)))
    batch, first = program.inputs, [x[0] for x in program.inputs]
    values, gradients = rows(*batch)
    compiled = jit(rows)(*batch)
    np.testing.assert_array_equal(compiled[0], values)
    for a, b in zip(compiled[1], gradients, strict=True):
        np.testing.assert_array_equal(a, b)  # the same bits
    tensors = [torch.tensor(x, requires_grad=True) for x in first]
    peer(*tensors).backward()
    assert_close(tuple(g[0] for g in gradients), tuple(t.grad.numpy() for t in tensors), FLOAT64)

    # The gradient along a direction; a cube so that every input has a second derivative.
    v = program.rng.normal(size=(2, 3))
    along = lambda x: xp.sum(grad(lambda w: f(*first[:2], w) + xp.sum(w**3))(x) * v)  # noqa: E731
    *others, x = [torch.tensor(a, requires_grad=True) for a in first]
    (slope,) = torch.autograd.grad(peer(*others, x) + (x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((slope * torch.tensor(v)).sum(), x)
    assert_close(grad(along)(first[2]), second.numpy(), FLOAT64)
    assert_close(jit(grad(along))(first[2]), second.numpy(), FLOAT64)


def test_programs_that_reuse_memory(monkeypatch):
    """Treat all arrays as large, so that programs reuse memory by out= and del.

    Results are equal up to rounding, as a sum may run over memory in another order.
    """
    monkeypatch.setattr(codegen, "LARGE", 1)
    reusing, seen = 0, set()
    for seed in range(40):
        program = Program(seed)
        seen |= {step[0] for step in program.steps}
        before = [x.copy() for x in program.inputs]
        rows = vmap(value_and_grad(lambda *xs, p=program: p(xp, *xs), (0, 1, 2)))
        run = jit(rows)
        expected = rows(*before)
        assert_close(run(*program.inputs), expected, FLOAT64, str(program))
        assert_close(run(*program.inputs), expected, FLOAT64, str(program))
        source = run.source(*before)
        reusing += "out=" in source and "del " in source
        for x, kept in zip(program.inputs, before, strict=True):
            np.testing.assert_array_equal(x, kept)
    assert reusing >= 32
    assert seen == {*UNARY, *BINARY}
