"""Claims of the chapter on dynamic and static graphs that its cells do not run."""

import jax
import jax.numpy as jnp
import pytest
import torch
from torch.func import grad, vmap

from support.pages import stored


@pytest.fixture
def graphs():
    """Yield the list to which `keep` adds graphs; empty torch.compile's cache before and after."""
    torch.compiler.reset()
    yield []
    torch.compiler.reset()


def keep_in(graphs):
    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    return keep


def tanh_of(weight, x):
    return torch.tanh(weight @ x)


def test_torch_compile_inside_vmap_or_grad_compiles_nothing(graphs):
    keep, w, x = keep_in(graphs), torch.ones(2), torch.ones(3, 2)
    vmap(torch.compile(tanh_of, backend=keep), (None, 0))(w, x)
    grad(torch.compile(tanh_of, backend=keep))(w, x[0])
    assert graphs == []
    torch.compiler.reset()  # PyTorch leaves the function uncompiled from then on
    torch.compile(vmap(grad(tanh_of), (None, 0)), backend=keep)(w, x)
    assert len(graphs) == 1


def test_torch_compile_notices_a_changed_value_from_outside(graphs):
    def scaled(x):
        return scale * x

    compiled, x = torch.compile(scaled, backend=keep_in(graphs)), torch.ones(1)
    scale = 0.5
    assert compiled(x).item() == 0.5
    scale = 1.0
    assert compiled(x).item() == 1.0
    assert len(graphs) == 2


def test_grad_alone_accepts_an_if_and_disable_jit_runs_python():
    calls = []

    @jax.jit
    def bent(x):
        calls.append(x)
        return x[0] ** 2 if x[0] > 0 else x[1]

    assert jax.grad(bent.__wrapped__)(jnp.array([3.0, 1.0])).tolist() == [6.0, 0.0]
    calls.clear()
    with jax.disable_jit():
        bent(jnp.ones(2))
        bent(jnp.ones(2))
    assert len(calls) == 2


def test_the_stored_break_even():
    costs = stored("graph_costs")["costs"]
    assert costs["jax"]["break_even"] == 34
    assert round(costs["torch"]["break_even"], -3) == 6000


def if_or_where(choose, tanh):
    """Return the chapter's loss, whose branch is choose(condition, result, other result)."""

    def loss(weight, x, y):
        h = choose(x[0] > 0, tanh(weight @ tanh(weight @ x)), weight @ x)
        return 0.5 * ((h - y) ** 2).sum()

    return loss


def by_if(condition, yes, no):
    return yes if condition else no


def test_sizes_4_5_6_9_1_make_three_programs_in_torch_and_five_in_jax(graphs):
    calls = []

    def counted(*arrays):
        calls.append("called")
        return if_or_where(jnp.where, jnp.tanh)(*arrays)

    in_jax = jax.jit(jax.vmap(jax.grad(counted), (None, 0, 0)))
    in_torch = torch.compile(
        vmap(grad(if_or_where(torch.where, torch.tanh)), (None, 0, 0)), backend=keep_in(graphs)
    )
    for size in (4, 5, 6, 9, 1):
        in_jax(jnp.eye(2), jnp.ones((size, 2)), jnp.ones((size, 2)))
        in_torch(torch.eye(2), torch.ones(size, 2), torch.ones(size, 2))
    assert (len(graphs), len(calls)) == (3, 5)


def test_vmap_refuses_an_if_on_a_value_in_both():
    batch = jnp.eye(2), jnp.ones((3, 2)), jnp.ones((3, 2))
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.vmap(if_or_where(by_if, jnp.tanh), (None, 0, 0))(*batch)
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(if_or_where(by_if, torch.tanh), (None, 0, 0))(*(torch.ones(2, 2),) * 3)


def test_cond_stays_for_one_sample_and_becomes_a_select_under_vmap():
    def bent(x):
        return jax.lax.cond(x > 0, jnp.tanh, jnp.cos, x)

    one = str(jax.make_jaxpr(bent)(1.0))
    many = str(jax.make_jaxpr(jax.vmap(bent))(jnp.ones(3)))
    assert [name in one for name in ("cond[", "select_n")] == [True, False]
    assert [name in many for name in ("cond[", "select_n")] == [False, True]


def test_a_cond_inside_lax_map_stays_a_cond():
    def bent(x):
        return jax.lax.cond(x > 0, jnp.tanh, jnp.cos, x)

    program = jax.make_jaxpr(lambda xs: jax.lax.map(jax.grad(bent), xs))
    assert "cond[" in str(program(jnp.ones(3)))
    assert len(program(jnp.ones(3)).eqns) == len(program(jnp.ones(50)).eqns) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (jnp.float32(1), 1.0),  # a weak type
        (jnp.ones(2), jnp.ones(2, dtype=int)),
        ({"a": jnp.ones(2)}, {"b": jnp.ones(2)}),
    ],
)
def test_jax_traces_again_for_weak_types_dtypes_and_renamed_keys(first, second):
    calls = []

    @jax.jit
    def first_leaf(tree):
        calls.append("called")
        return jax.tree.leaves(tree)[0]

    for tree in (first, first, second, second):
        first_leaf(tree)
    assert len(calls) == 2


def test_jax_traces_again_under_another_precision_and_for_a_new_function():
    calls = []

    @jax.jit
    def product(x):
        calls.append("called")
        return x @ x

    product(jnp.eye(2))
    with jax.default_matmul_precision("highest"):
        product(jnp.eye(2))
    assert len(calls) == 2
    for _ in range(3):
        jax.jit(lambda x: calls.append("called") or x)(1.0)
    assert len(calls) == 5
    assert jax.config.jax_explain_cache_misses is False


def test_the_losses_of_one_torch_graph_can_be_walked_together():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    losses = torch.arange(6.0).reshape(3, 2) @ w**2
    (rows,) = torch.autograd.grad(losses, w, torch.eye(3), is_grads_batched=True)
    assert torch.equal(rows, torch.arange(6.0).reshape(3, 2) * 2 * w.detach())


def test_every_step_of_the_branch_that_where_does_not_choose_has_to_stay_finite():
    safe_derivative = jax.grad(lambda x: jnp.where(x > 5, x, jnp.exp(-jnp.exp(x))))
    assert jnp.isnan(safe_derivative(jnp.float32(200.0)))


def test_grad_walks_back_a_fixed_number_of_rounds_and_no_open_one():
    def squared(loop):
        return jax.grad(lambda x: loop(lambda _, y: y * x, x))(2.0)

    assert squared(lambda step, x: jax.lax.fori_loop(0, 2, step, x)) == 12.0
    assert (
        squared(lambda step, x: jax.lax.scan(lambda y, _: (step(0, y), 0), x, length=2)[0]) == 12
    )
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        squared(lambda step, x: jax.lax.while_loop(lambda y: y < 5, lambda y: step(0, y), x))


def test_an_argument_that_is_static_is_seen_and_each_value_is_traced():
    seen = []

    def scaled(n, x):
        seen.append(n)
        return n * x if n > 1 else x

    compiled = jax.jit(scaled, static_argnums=0)
    assert [compiled(n, 3.0) for n in (1, 2, 1, 2)] == [3, 6, 3, 6]
    assert seen == [1, 2]
