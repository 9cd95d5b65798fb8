"""Rows of misleading programs: against autograd's gradient of each loss on the recorded graph."""

import copy

import pytest
import torch

import persample as ps

from .layer_models import losses, norms_of
from .layer_programs import PROGRAMS, B, Made
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


def record_and_oracle(model, inputs):
    """Return the record of one pass and the rows that autograd gives, loss by loss."""
    with ps.layerwise(model) as record:
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


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_answer_is_that_of_the_losses_alone(name):
    model, inputs = build(name)
    for batch in (inputs, others(inputs)):  # the second by what was found out in the first
        record, expected = record_and_oracle(model, batch)
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
    with ps.layerwise(model) as record:
        record.backward(losses(model(*inputs)))
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
        record, expected = record_and_oracle(model, (x, torch.tensor(list(order))))
        assert_close(record.rows(), expected)
        assert_close(record.squared_norms(), norms_of(expected))
