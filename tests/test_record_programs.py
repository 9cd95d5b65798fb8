"""Rows of misleading programs: against autograd's gradient of each loss on the recorded graph."""

import copy
import random
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F

import persample as ps

from .layer_models import losses, norms_of, replayed
from .layer_programs import PROGRAMS, REPLAYED, B, Made, T, product
from .tolerances import assert_close

pytestmark = [
    pytest.mark.filterwarnings("ignore:Initializing zero-element tensors"),
    pytest.mark.filterwarnings("ignore:.*nested_tensor"),
    pytest.mark.filterwarnings("ignore:.*enable_nested_tensor"),
    pytest.mark.filterwarnings("ignore:.*weight_norm"),
]


def build(name):
    torch.manual_seed(0)
    model, inputs = PROGRAMS[name]()
    return model.double(), [x.double() if x.is_floating_point() else x for x in inputs]


def record_and_oracle(model, inputs, stop=None):
    """Return the record of one pass and the rows that autograd gives, loss by loss."""
    with replayed(stop) if stop else nullcontext(), ps.record(model) as record:
        each = losses(model(*inputs))
        record.backward(each, retain_graph=True)
    named = {k: p for k, p in model.named_parameters() if p.requires_grad}
    alone = [
        torch.autograd.grad(loss, list(named.values()), retain_graph=True, materialize_grads=True)
        for loss in each
    ]
    return record, {k: torch.stack([g[n] for g in alone]) for n, k in enumerate(named)}


def others(inputs):
    return [torch.randn_like(x) if x.is_floating_point() else x.flip(0) for x in inputs]


# TorchScript compiles at the second call.
SCRIPTED = {
    "a scripted function": "DifferentiableGraphBackward",
    "a scripted model": "DifferentiableGraphBackward",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_answer_is_that_of_the_losses_alone(name):
    model, inputs = build(name)
    for batch, stops in ((inputs, REPLAYED), (others(inputs), REPLAYED | SCRIPTED)):
        stop = stops.get(name)
        record, expected = record_and_oracle(model, batch, stop)
        kinds = {kind for kind in record.forms().values() if "sample by sample" in kind}
        assert sorted(kinds) == ([f"rows, sample by sample from {stop}"] if stop else [])
        assert_close(record.rows(), expected)
        norms = norms_of({k: g.reshape(B, -1) for k, g in expected.items()})
        assert_close(record.squared_norms(), norms)
        max_norm = float(norms.sqrt().median())
        weights = (max_norm / norms.sqrt()).clip(max=1)
        clipped = {k: torch.tensordot(weights, g, 1) for k, g in expected.items()}
        assert_close(record.clipped_sum(max_norm), clipped)
        assert_close(
            record.moments().second_moment, {k: (g**2).mean(0) for k, g in expected.items()}
        )
        for chunk in record.chunks(4):
            assert {len(rows) for rows in chunk.values()} <= {4, 2}  # of 6
        flat = torch.cat([g.reshape(B, -1) for g in expected.values()], 1)
        assert_close(record.gram(), flat @ flat.T)
        assert len(flat.round(decimals=6).unique(dim=0)) >= B - 1  # two paths may be dropped


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_record_leaves_the_model_and_the_generators_as_an_ordinary_pass_does(name):
    (model, inputs), (plain, _) = build(name), build(name)
    plain.load_state_dict(copy.deepcopy(model.state_dict()))
    torch.manual_seed(1)
    losses(plain(*inputs)).sum().backward()
    expected = torch.random.get_rng_state()
    torch.manual_seed(1)
    stop = (REPLAYED | SCRIPTED).get(name)
    with replayed(stop) if stop else nullcontext(), ps.record(model) as record:
        record.backward(losses(model(*inputs)), accumulate=True)
    record.rows()
    record.moments()
    assert torch.equal(torch.random.get_rng_state(), expected)
    assert_close(model.state_dict(), plain.state_dict(), 1e-12)
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None:
            assert_close(p.grad, q.grad)
    assert all(m.training for m in model.modules())


@pytest.mark.parametrize("then", [[5, 4, 3, 2, 1, 0], [1, 0, 2, 3, 4, 5]])
def test_samples_in_their_own_order_first_and_in_another_one_later(then):
    torch.manual_seed(0)
    model = Made(lambda m, x, order: m.l(x)[order], l=torch.nn.Linear(4, 3)).double()
    for order in (range(B), then, range(B)):
        x = torch.randn(B, 4, dtype=torch.float64)
        stop = None if list(order) == list(range(B)) else "IndexBackward0"
        record, expected = record_and_oracle(model, (x, torch.tensor(list(order))), stop)
        assert_close(record.rows(), expected)
        assert_close(record.squared_norms(), norms_of(expected))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("pair", [(0, 1), (0, 14), (0, 21), (3, 31), (0, 30), (7, 39)])
def test_two_samples_that_change_places_inside_a_large_batch(pair, dtype):
    size, (i, j) = 40, pair
    order = list(range(size))
    order[i], order[j] = j, i

    def exchanged(m, x):
        parts = m.l(x).unbind(0)
        return torch.stack([parts[n] for n in order])

    torch.manual_seed(0)
    model = Made(exchanged, l=torch.nn.Linear(4, 3)).to(dtype)
    inputs = [torch.randn(size, 4, dtype=dtype)]
    record, expected = record_and_oracle(model, inputs, "StackBackward0")
    for g, exact in zip(record.rows().values(), expected.values(), strict=True):
        assert_close(g.double(), exact.double(), 1e-9 if dtype == torch.float64 else 2e-2)


def rows_and_oracle_of(model, each_of):
    """Return rows and the gradients of the losses, read after ``each_of(model)`` and a change."""
    with ps.record(model) as record:
        each = each_of(model)
        record.backward(each, retain_graph=True)
    named = dict(model.named_parameters())
    alone = [torch.autograd.grad(x, list(named.values()), retain_graph=True) for x in each]
    expected = {k: torch.stack([g[n] for g in alone]) for n, k in enumerate(named)}
    model.eval()  # whoever runs the model again to read it runs another one
    model.count += 1
    return record, expected


def test_a_forward_pass_that_no_second_one_would_repeat():
    """Dropout, Python's own random numbers, a counter; evaluation mode before reading."""
    torch.manual_seed(0)

    def forward(m, x):
        m.count += 1
        return m.b(m.d(m.a(x)) * random.random()) * m.count

    parts = {"a": torch.nn.Linear(4, 8), "b": torch.nn.Linear(8, 3), "d": torch.nn.Dropout(0.5)}
    model = Made(forward, **parts).double()
    model.count = 0
    for _ in range(2):
        x = torch.randn(B, 4, dtype=torch.float64)
        record, expected = rows_and_oracle_of(model, lambda m, x=x: losses(m(x)))
        assert_close(record.rows(), expected)
        assert_close(record.squared_norms(), norms_of(expected))


def class_weights(z, y):
    weight = torch.linspace(0.5, 2, 5, dtype=z.dtype)
    return F.cross_entropy(z[:, 0], y[:, 0], weight=weight, reduction="none")


def counted_tokens(z, y):
    """The mean over a sequence's tokens that count: 1 to T of them."""
    each = F.cross_entropy(z.mT, y, ignore_index=0, reduction="none")
    return each.sum(1) / (y != 0).sum(1).clamp(min=1)


def with_a_penalty(penalty):
    return lambda z, y: F.cross_entropy(z[:, 0], y[:, 0], reduction="none") + 0.1 * penalty


@pytest.mark.parametrize("kind", ["class weights", "counted tokens", "a penalty made before"])
def test_losses_whose_mean_over_a_batch_misleads(kind):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 5).double()
    model.count = 0
    x, y = torch.randn(B, T, 4, dtype=torch.float64), torch.randint(0, 5, (B, T))
    y[0, 1:] = 0
    loss = {
        "class weights": class_weights,
        "counted tokens": counted_tokens,
        "a penalty made before": with_a_penalty(model.weight.square().sum()),
    }[kind]
    record, expected = rows_and_oracle_of(model, lambda m: loss(m(x), y))
    assert_close(record.rows(), expected)
    assert_close(record.squared_norms(), norms_of(expected))
    with (
        ps.record(model) as record,
        pytest.raises(ValueError, match="the loss is one number, and a mean or a sum no longer"),
    ):
        record.backward(loss(model(x), y).mean())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The .grad attribute")
@pytest.mark.parametrize("compiled_before", [False, True])
def test_a_compiled_function_that_is_given_a_weight(compiled_before):
    torch.manual_seed(0)
    compiled = torch.compile(product, backend="eager")
    model = Made(lambda m, x: m.l(x) + compiled(x, m.l.weight.t()), l=torch.nn.Linear(4, 3))
    inputs = [torch.randn(B, 4)]
    if compiled_before:
        model(*inputs)
    record, expected = record_and_oracle(model, inputs)
    assert_close(record.rows(), expected, 1e-5)
    assert_close(record.squared_norms(), norms_of(expected), 1e-5)


class Switched(torch.autograd.Function):
    """Passes a cotangent on for some batches, and none for the others."""

    @staticmethod
    def forward(ctx, x, is_on):
        ctx.is_on = bool(is_on)
        return x.clone()

    @staticmethod
    def backward(ctx, ct):
        return (ct if ctx.is_on else None), None


@pytest.mark.parametrize("shared", [False, True])
def test_a_path_that_carries_a_cotangent_in_some_batches_only(shared):
    torch.manual_seed(0)
    model = Made(
        lambda m, x, is_on: m.a(x) + Switched.apply((m.a if shared else m.b)(2 * x), is_on),
        a=torch.nn.Linear(4, 3),
        b=None if shared else torch.nn.Linear(4, 3),
    ).double()
    for is_on in (False, True, False, True):
        x = torch.randn(B, 4, dtype=torch.float64)
        record, expected = record_and_oracle(model, (x, torch.tensor(is_on)), "SwitchedBackward")
        assert_close(record.rows(), expected)
        assert_close(record.squared_norms(), norms_of(expected))
