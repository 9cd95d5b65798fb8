"""Results of a record are constants, as documented; `per_sample_grad` keeps the graph."""

import copy
import inspect
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

import persample as ps
from support.cases import D, arrays, rewards, states, theta
from support.errors_page import PAGE
from support.layer_models import build, losses, own_function, record_of, replayed
from support.missing import MISSING
from support.tolerances import FINITE_DIFFERENCES, assert_close

ANSWERS = {
    "rows": lambda r: r.rows(),
    "rows, again": lambda r: r.rows(r.rows()),
    "chunks": lambda r: next(r.chunks(2)),
    "squared_norms": lambda r: r.squared_norms(),
    "clipped_sum": lambda r: r.clipped_sum(0.5),
    "weighted_sum": lambda r: r.weighted_sum(torch.ones(5)),
    "moments": lambda r: r.moments(),
    "gram": lambda r: r.gram(),
    "project": lambda r: r.project(4),
}


@pytest.mark.parametrize("name", [x for x in ANSWERS if hasattr(ps.recorder.Record, x)])
def test_each_docstring_says_that_it_is_a_constant(name):
    text = " ".join(inspect.getdoc(getattr(ps.recorder.Record, name)).split())
    assert "constant" in text
    assert "per_sample_grad" in text or "per_sample_grad" in ps.recorder.Record.__doc__


def test_the_index_of_errors_has_it_among_those_without_a_message():
    silent = PAGE[PAGE.index("## No message at all") :]
    assert any("record" in x and "per_sample_grad" in x for x in silent.splitlines())


@pytest.mark.filterwarnings("ignore:record. at")
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", ["MLP", "Conv2d", "tied", "called twice", "LayerNorm, T = 7"])
def test_no_answer_has_a_graph_even_where_that_of_the_pass_is_kept(name, answer):
    model, x = build(name)
    record = record_of(model, x, retain_graph=True, accumulate=True)
    given = torch.utils._pytree.tree_leaves(ANSWERS[answer](record))
    assert given
    for found in given:
        assert not found.requires_grad
        assert found.grad_fn is None


@pytest.mark.parametrize("answer", ANSWERS)
def test_rows_that_autograd_works_out_have_none_either(answer):
    model, x = own_function(), torch.rand(5, 4)
    with replayed():
        record = record_of(model, x)
    given = torch.utils._pytree.tree_leaves(ANSWERS[answer](record))
    assert not any(found.requires_grad for found in given)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_and_bounds_with_a_graph_give_sums_without_one(dtype):
    (model, x), weights = build("MLP"), torch.rand(5, dtype=dtype)
    record, bound = record_of(model, x), torch.tensor(0.5, dtype=dtype)
    for answer, given in ((record.weighted_sum, weights), (record.clipped_sum, bound)):
        found, expected = answer(given.clone().requires_grad_()), answer(given)
        assert not any(g.requires_grad for g in found.values())
        assert_close(found, expected)


@pytest.mark.parametrize(
    "penalty",
    [
        lambda r: r.squared_norms().mean(),
        lambda r: r.rows()["0.weight"].var(0).sum(),
        lambda r: -r.gram().mean(),
        lambda r: sum((g**2).sum() for g in r.clipped_sum(0.5).values()),
    ],
)
def test_a_penalty_of_it_changes_a_sum_and_not_its_gradient(penalty):
    """Check that the gradients of the losses are those without the penalty."""
    model, x = build("MLP")
    plain = copy.deepcopy(model)
    with ps.record(model) as record:
        each = losses(model(x))
        record.backward(each, retain_graph=True)
    added = penalty(record)
    assert added != 0
    (each.mean() + added).backward()
    losses(plain(x)).mean().backward()
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(p.grad, q.grad)
    with pytest.raises(RuntimeError, match="does not require grad"):
        added.backward()


# What keeps the graph. A penalty takes rows, in a tree.
def flat(rows):
    """Return a tree of rows as one array (B, number of entries)."""
    leaves = ps.arrays.leaves(rows)
    xp = ps.array_namespace(rows)
    return xp.concat([xp.reshape(x, (x.shape[0], -1)) for x in leaves], axis=1)


def squared_norms(rows):
    return (flat(rows) ** 2).sum(1).mean()


def conflict(rows):
    """Return minus the mean inner product of the rows, which is large if they disagree."""
    g = flat(rows)
    return -(g @ g.T).mean()


def clipping(rows):
    return (flat(ps.statistics.clip(rows, 0.5)).mean(0) ** 2).sum()


def spread(rows):
    return ps.statistics.signal_and_noise(rows)[1]


def longest(rows):
    return ps.statistics.norms(rows).max()


PENALTIES = [squared_norms, conflict, clipping, spread, longest]


def slope(f, x, step=1e-5):
    """Return (central difference of f at x along a direction, that direction)."""
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    return (f(x + step * direction) - f(x - step * direction)) / (2 * step), direction


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", ["MLP", "Conv2d"])
def test_of_a_whole_model_the_penalty_has_the_gradient_of_finite_differences(name, penalty):
    model, x = build(name)
    names = {k: p.shape for k, p in model.named_parameters()}
    sizes = [shape.numel() for shape in names.values()]
    one = lambda p, x: losses(functional_call(model, p, (x[None],)))[0]  # noqa: E731

    def total(long):
        parts = zip(names.items(), long.split(sizes), strict=True)
        p = {k: part.reshape(shape) for (k, shape), part in parts}
        found, rows = ps.per_sample_value_and_grad(one)(p, x)
        return found.mean() + 0.7 * penalty(rows)

    long = torch.cat([p.detach().flatten() for p in model.parameters()]).requires_grad_()
    (found,) = torch.autograd.grad(total(long), long)
    value = lambda x: total(torch.from_numpy(x)).item()  # noqa: E731
    expected, direction = slope(value, long.detach().numpy())
    assert_close(float(found @ torch.from_numpy(direction)), expected, FINITE_DIFFERENCES)
    (alone,) = torch.autograd.grad(losses(model(x)).mean(), model.parameters())[:1]
    assert not np.allclose(found[: alone.numel()], alone.flatten())


@pytest.mark.parametrize(("backend", "jit"), [("numpy", False), ("numpy", True), ("jax", True)])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_so_it_has_in_the_other_backends(backend, penalty, jit):
    if backend in MISSING:
        pytest.skip(f"{backend} is not installed")
    loss = lambda t, x, y: 0.25 * (ps.array_namespace(t).tanh((t * x).sum()) - y) ** 4  # noqa: E731
    rows = ps.per_sample_grad(loss)
    total = lambda t, x, y: 0.3 * (t * t).sum() + penalty(rows(t, x, y))  # noqa: E731
    own = ps.backend(backend)
    found = own.grad(total)
    found = own.jit(found) if jit else found
    given = arrays((states, rewards), backend)
    value = lambda t: float(total(own.asarray(t), *given))  # noqa: E731
    expected, direction = slope(value, theta)
    found = ps.to_numpy(found(own.asarray(theta), *given))
    assert found.shape == (D,)
    assert_close(float(found @ direction), expected, FINITE_DIFFERENCES)


def test_a_step_on_the_penalty_makes_the_norms_smaller_and_one_on_a_record_does_not():
    torch.manual_seed(0)
    start, x = nn.Linear(3, 1).double(), torch.randn(8, 3).double()
    one = lambda m, p, x: (functional_call(m, p, (x[None],))[0, 0] - 1) ** 2  # noqa: E731

    def trained(penalty):
        model = copy.deepcopy(start)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(20):
            optimiser.zero_grad()
            with ps.record(model) as record:
                each = (model(x)[:, 0] - 1) ** 2
                record.backward(each, retain_graph=True)
            (each.mean() + penalty(model, record)).backward()
            optimiser.step()
        with ps.record(model) as record:
            record.backward((model(x)[:, 0] - 1) ** 2)
        return record.squared_norms().mean().item()

    def kept(model, record):
        rows = ps.per_sample_grad(partial(one, model))(dict(model.named_parameters()), x)
        return 0.1 * squared_norms(rows)

    plain = trained(lambda model, record: 0.0)
    assert trained(lambda model, record: 0.1 * record.squared_norms().mean()) == plain
    assert trained(kept) < 0.9 * plain
