"""Random compositions of primitives, against JAX and PyTorch; random shapes, by hypothesis.

On failure the seed and the steps are printed: ``Program(seed)`` brings the program back.
"""

import array_api_compat.torch as torch_namespace
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from optree import tree_leaves
from precision import enable_x64
from random_programs import BATCH, BINARY, SHAPES, UNARY, Program
from tolerances import FLOAT32, FLOAT64, assert_close

from persample.engine import codegen, grad, jit, value_and_grad, vmap
from persample.engine import namespace as xp

pytestmark = pytest.mark.slow

PROGRAMS, CHUNKS = 1000, 10


def evaluate(program):
    """Return (values, gradients) of all samples, by every route, for comparison."""
    f, args = (lambda *xs: program(xp, *xs)), program.inputs
    numbers = tuple(range(len(args)))
    rows = vmap(value_and_grad(f, numbers))
    one = value_and_grad(f, numbers)(*[x[0] for x in args])
    routes = {"vmap": rows(*args), "jit": jit(rows)(*args)}
    both = jax.vmap(jax.value_and_grad(lambda *xs: program(jnp, *xs), numbers))
    value, gradients = both(*map(jnp.asarray, args))
    routes["jax"] = np.asarray(value), tuple(map(np.asarray, gradients))
    tensors = [torch.tensor(x[0], requires_grad=True) for x in args]
    out = program(torch_namespace, *tensors)
    out.backward()
    peer = out.detach().numpy(), tuple(t.grad.numpy() for t in tensors)
    return one, routes, peer


@pytest.fixture
def jax_in_a_hurry():
    """JAX compiles each operation for each shape: let it spend no time on making them fast."""
    before = jax.config.jax_exec_time_optimization_effort
    jax.config.update("jax_exec_time_optimization_effort", -1.0)
    with enable_x64(True):
        yield
    jax.config.update("jax_exec_time_optimization_effort", before)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk, jax_in_a_hurry):
    for seed in range(chunk, PROGRAMS, CHUNKS):
        program = Program(seed)
        one, routes, peer = evaluate(program)
        for route, (value, gradients) in routes.items():
            what = f"{route}, {program}"
            assert_close((value[0], tuple(g[0] for g in gradients)), one, FLOAT64, what)
            assert_close((value, gradients), routes["vmap"], FLOAT64, what)
        np.testing.assert_array_equal(routes["jit"][0], routes["vmap"][0], str(program))
        for a, b in zip(routes["jit"][1], routes["vmap"][1], strict=True):
            np.testing.assert_array_equal(a, b, str(program))  # the same bits
        assert_close(peer, one, FLOAT64, f"torch, {program}")


@pytest.mark.parametrize(("batch", "seeds"), [(BATCH, 60), (4000, 20)])
def test_programs_that_reuse_memory(batch, seeds, monkeypatch):
    """With all arrays taken for large, and with large arrays: out= and del, the same numbers.

    Bits may differ where a sum runs over memory that lies in another order; that is rare.
    """
    if batch == BATCH:
        monkeypatch.setattr(codegen, "LARGE", 1)
    reusing, other_bits = 0, []
    for seed in range(seeds):
        program, rng = Program(seed), np.random.default_rng(seed)
        args = [rng.uniform(-1.5, 1.5, (batch, *shape)) for shape in SHAPES]
        before = [x.copy() for x in args]
        rows = vmap(value_and_grad(lambda *xs, p=program: p(xp, *xs), (0, 1, 2)))
        run = jit(rows)
        expected, found = rows(*args), run(*args)
        assert_close(found, expected, FLOAT64, str(program))
        assert_close(run(*args), expected, FLOAT64, str(program))
        source = run.source(*args)
        reusing += "out=" in source and "del " in source
        pairs = zip(tree_leaves(found), tree_leaves(expected), strict=True)
        if not all(np.array_equal(a, b) for a, b in pairs):
            other_bits.append(seed)
        for x, kept in zip(args, before, strict=True):
            np.testing.assert_array_equal(x, kept)
    assert reusing >= 0.8 * seeds
    assert len(other_bits) <= 0.1 * seeds, other_bits


def test_sums_over_memory_in_another_order():
    """Why bits may differ: the reused memory is transposed, so a sum adds in another order."""
    n = 300
    a, b = np.random.default_rng(0).normal(size=(2, n, n))

    def f(a, b):
        c = xp.exp(xp.permute_dims(xp.tanh(a), (1, 0)))
        return xp.sum(xp.tanh(b) * c, axis=(0, 1)), xp.tanh(b) * c

    run = jit(f)
    assert "out=" in run.source(a, b)
    (total, product), (eager_total, eager_product) = run(a, b), f(a, b)
    np.testing.assert_array_equal(product, eager_product)
    assert_close(total, eager_total, FLOAT64)


def test_the_programs_use_everything_and_differ():
    programs = [Program(seed) for seed in range(200)]
    assert {step[0] for p in programs for step in p.steps} == {*UNARY, *BINARY}
    assert len({str(p.steps) for p in programs}) > 195
    assert str(Program(3)) == str(Program(3))


def test_second_derivatives_of_random_programs():
    """Hessian-vector products of 100 of them against PyTorch."""
    for seed in range(5000, 5100):
        program = Program(seed)
        args, v = [x[0] for x in program.inputs], program.rng.normal(size=(2, 3))

        def along(x, program=program, args=args, v=v):
            return xp.sum(grad(lambda w: program(xp, *args[:2], w) + xp.sum(w**3))(x) * v)

        *others, x = [torch.tensor(a, requires_grad=True) for a in args]
        out = program(torch_namespace, *others, x) + (x**3).sum()
        (first,) = torch.autograd.grad(out, x, create_graph=True)
        (second,) = torch.autograd.grad((first * torch.tensor(v)).sum(), x)
        assert_close(grad(along)(args[2]), second.numpy(), FLOAT64, str(program))
        assert_close(jit(grad(along))(args[2]), second.numpy(), FLOAT64, str(program))


# Shapes and dtypes ---------------------------------------------------------------------------

floats = st.sampled_from([np.float32, np.float64])
any_shape = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)


def draw_array(shape, dtype):
    bounded = st.floats(-2, 2, width=32, allow_subnormal=False)
    return arrays(dtype, shape, elements=bounded)


@st.composite
def broadcastable(draw):
    """Two arrays of one dtype whose shapes broadcast together, 0-d and empty ones among them."""
    dtype, shape = draw(floats), draw(any_shape)
    other = tuple(draw(st.sampled_from([n, 1])) for n in shape)[draw(st.integers(0, len(shape))) :]
    pair = [draw_array(shape, dtype), draw_array(other, dtype)]
    return [draw(x) for x in (pair if draw(st.booleans()) else pair[::-1])]


def smooth(m, x, y):
    return m.sum(m.tanh(x * y) + x / (3.0 + y * y) - m.exp(-y) * 0.5)


@settings(max_examples=150, deadline=None)
@given(broadcastable())
def test_any_shapes_that_broadcast(pair):
    x, y = pair
    tolerance = FLOAT64 if x.dtype == np.float64 else 10 * FLOAT32
    gradients = grad(lambda x, y: smooth(xp, x, y), (0, 1))(x, y)
    tensors = [torch.tensor(a, requires_grad=True) for a in pair]
    smooth(torch, *tensors).backward()
    for g, a, t in zip(gradients, pair, tensors, strict=True):
        assert (g.shape, g.dtype) == (a.shape, a.dtype)
        assert_close(g, t.grad.numpy(), tolerance)
    compiled = jit(grad(lambda x, y: smooth(xp, x, y), (0, 1)))(x, y)
    for g, c in zip(gradients, compiled, strict=True):
        np.testing.assert_array_equal(g, c)


@settings(max_examples=100, deadline=None)
@given(floats.flatmap(lambda d: any_shape.flatmap(lambda s: draw_array(s, d))), st.data())
def test_any_reduction_and_rearrangement(x, data):
    axes = tuple(data.draw(st.permutations(range(x.ndim))))
    some = axes[: data.draw(st.integers(0, x.ndim))]

    def g(m, x):
        turned = m.permute_dims(x, axes)
        flat = m.reshape(turned, (-1,)) if m is xp else turned.reshape(turned.shape.numel())
        total = m.sum(x, some) if some else x
        return m.sum(m.tanh(total)) + m.sum(flat * flat) * 0.5

    ours = grad(lambda x: g(xp, x))(x)

    class Torch:
        permute_dims, tanh, sum = torch.permute, torch.tanh, staticmethod(torch.sum)

    t = torch.tensor(x, requires_grad=True)
    g(Torch, t).backward()
    assert (ours.shape, ours.dtype) == (x.shape, x.dtype)
    assert_close(ours, t.grad.numpy(), FLOAT64 if x.dtype == np.float64 else 10 * FLOAT32)
    if x.ndim and x.shape[0]:
        loop = np.stack([grad(lambda x: xp.sum(xp.tanh(x) * x))(row) for row in x])
        assert_close(vmap(grad(lambda x: xp.sum(xp.tanh(x) * x)))(x), loop, FLOAT32)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=0, max_size=2),
    *[st.integers(0, 3)] * 3,
    st.booleans(),
    st.booleans(),
    floats,
)
def test_any_matmul(batch, n, k, m, vector_left, vector_right, dtype):
    rng = np.random.default_rng(n + 4 * k + 16 * m)
    x = rng.normal(size=(k,) if vector_left else (*batch, n, k)).astype(dtype)
    y = rng.normal(size=(k,) if vector_right else (*batch, k, m)).astype(dtype)
    got = grad(lambda x, y: xp.sum(xp.tanh(xp.matmul(x, y))), (0, 1))(x, y)
    tensors = [torch.tensor(a, requires_grad=True) for a in (x, y)]
    torch.tanh(torch.matmul(*tensors)).sum().backward()
    for g, a, t in zip(got, (x, y), tensors, strict=True):
        assert (g.shape, g.dtype) == (a.shape, a.dtype)
        assert_close(g, t.grad.numpy(), FLOAT64 if dtype == np.float64 else 10 * FLOAT32)
