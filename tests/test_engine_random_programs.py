"""Random compositions of primitives, and random shapes, against PyTorch.

On failure the seed and the steps are printed: ``Program(seed)`` brings the program back.
"""

import array_api_compat.torch as torch_namespace
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from random_programs import BINARY, UNARY, Program
from tolerances import FLOAT32, FLOAT64, assert_close

from persample.engine import codegen, grad, jit, value_and_grad, vmap
from persample.engine import namespace as xp


def as_in_torch(f, peer, xs, tolerance=FLOAT64):
    """Compare the gradients of a function of arrays; return ours."""
    ours = grad(f, tuple(range(len(xs))))(*xs)
    tensors = [torch.tensor(x, requires_grad=True) for x in xs]
    peer(*tensors).backward()
    for g, x, t in zip(ours, xs, tensors, strict=True):
        assert (g.shape, g.dtype) == (x.shape, x.dtype)
        assert_close(g, t.grad.numpy(), tolerance)
    return ours


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_random_programs(seed):
    """Rows by vmap, by jit and one by one; first and second derivatives as in PyTorch."""
    program = Program(seed)
    f, peer = [lambda *xs, m=m: program(m, *xs) for m in (xp, torch_namespace)]
    rows = vmap(value_and_grad(f, (0, 1, 2)))
    batch, first = program.inputs, [x[0] for x in program.inputs]
    values, gradients = rows(*batch)
    compiled = jit(rows)(*batch)
    np.testing.assert_array_equal(compiled[0], values)
    for a, b in zip(compiled[1], gradients, strict=True):
        np.testing.assert_array_equal(a, b)  # the same bits
    assert_close(tuple(g[0] for g in gradients), as_in_torch(f, peer, first), FLOAT64)

    # The gradient along a direction; a cube so that every input has a second derivative.
    v = program.rng.normal(size=(2, 3))
    along = lambda x: xp.sum(grad(lambda w: f(*first[:2], w) + xp.sum(w**3))(x) * v)  # noqa: E731
    *others, x = [torch.tensor(a, requires_grad=True) for a in first]
    (slope,) = torch.autograd.grad(peer(*others, x) + (x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((slope * torch.tensor(v)).sum(), x)
    assert_close(grad(along)(first[2]), second.numpy(), FLOAT64)
    assert_close(jit(grad(along))(first[2]), second.numpy(), FLOAT64)


def test_programs_that_reuse_memory(monkeypatch):
    """With all arrays taken for large: out= and del, the same numbers.

    Bits may differ where a sum runs over memory that lies in another order.
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


# Shapes and dtypes ---------------------------------------------------------------------------

floats = st.sampled_from([np.float32, np.float64])
any_shape = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)


def draw_array(shape, dtype):
    bounded = st.floats(-2, 2, width=32, allow_subnormal=False)
    return arrays(dtype, shape, elements=bounded)


def tolerance(x):
    return FLOAT64 if x.dtype == np.float64 else 10 * FLOAT32


@st.composite
def broadcastable(draw):
    """Two arrays of one dtype whose shapes broadcast together, 0-d and empty ones among them."""
    dtype, shape = draw(floats), draw(any_shape)
    other = tuple(draw(st.sampled_from([n, 1])) for n in shape)[draw(st.integers(0, len(shape))) :]
    pair = [draw_array(shape, dtype), draw_array(other, dtype)]
    return [draw(x) for x in (pair if draw(st.booleans()) else pair[::-1])]


def smooth(m, x, y):
    return m.sum(m.tanh(x * y) + x / (3.0 + y * y) - m.exp(-y) * 0.5)


@settings(max_examples=60)
@given(broadcastable())
def test_any_shapes_that_broadcast(pair):
    f, peer = [lambda x, y, m=m: smooth(m, x, y) for m in (xp, torch)]
    gradients = as_in_torch(f, peer, pair, tolerance(pair[0]))
    for g, c in zip(gradients, jit(grad(f, (0, 1)))(*pair), strict=True):
        np.testing.assert_array_equal(g, c)


@settings(max_examples=50)
@given(floats.flatmap(lambda d: any_shape.flatmap(lambda s: draw_array(s, d))), st.data())
def test_any_reduction_and_rearrangement(x, data):
    axes = tuple(data.draw(st.permutations(range(x.ndim))))
    some = axes[: data.draw(st.integers(0, x.ndim))]

    def g(m, x, turn):
        flat = m.reshape(turn(x, axes), (-1,))
        return m.sum(m.tanh(m.sum(x, some) if some else x)) + m.sum(flat * flat) * 0.5

    ours, peer = lambda x: g(xp, x, xp.permute_dims), lambda x: g(torch, x, torch.permute)
    as_in_torch(ours, peer, [x], tolerance(x))


@settings(max_examples=60)
@given(
    st.sampled_from([((), ()), ((2,), ()), ((1,), (3,)), ((2, 1), (3,)), ((0,), (1,))]),
    *[st.integers(0, 3)] * 3,
    st.booleans(),
    st.booleans(),
    floats,
)
def test_any_matmul(batch, n, k, m, vector_left, vector_right, dtype):
    rng = np.random.default_rng(n + 4 * k + 16 * m)
    x = rng.normal(size=(k,) if vector_left else (*batch[0], n, k)).astype(dtype)
    y = rng.normal(size=(k,) if vector_right else (*batch[1], k, m)).astype(dtype)
    f, peer = [lambda x, y, m=m: m.sum(m.tanh(m.matmul(x, y))) for m in (xp, torch)]
    as_in_torch(f, peer, [x, y], tolerance(x))
