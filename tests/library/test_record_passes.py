"""`record` combined with `.grad`, hooks, checkpoints, micro-batches and other passes."""

from functools import partial

import pytest
import torch
from torch import arange, nn
from torch.utils.checkpoint import checkpoint

import persample as ps
from persample.recorder import buffers
from support.layer_models import (
    SOME,
    B,
    Made,
    agree,
    alone,
    build,
    flat,
    losses,
    norms_of,
    oracle,
    record_of,
    replayed,
    summed,
)
from support.tolerances import assert_close


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("name", [*SOME, "not used"])
def test_grad_is_left_alone_unless_asked(name):
    (model, x), (plain, _) = build(name), build(name)
    record_of(model, x)
    assert all(p.grad is None for p in model.parameters())
    for m in (model, plain):
        losses(m(x)).sum().backward()  # what was there before is kept
    record_of(model, x)
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None)
        assert p.grad is None or torch.equal(p.grad, q.grad)
    losses(plain(x)).sum().backward()
    record = record_of(model, x, accumulate=True)
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None)
        assert p.grad is None or torch.equal(p.grad, q.grad)
    assert_close(record.rows(), oracle(model, x))


def test_clipped_rows_of_micro_batches_add_up():
    model, clipped = build("attention")[0], []
    for size in (1, 2, 3, 4):
        x = build("attention", size=size, seed=size)[1]
        record_of(model, x).add_clipped_sum(0.5, scale=1 / 10)
        rows = oracle(model, x)
        weights = (0.5 / norms_of(rows).sqrt()).clamp(max=1) / 10
        clipped.append(summed(rows, weights))
    for name, p in model.named_parameters():
        assert_close(p.grad, sum(each[name] for each in clipped))


def test_weights_of_every_kind_and_the_bound_as_a_tensor():
    model, x = build("MLP")
    record, rows = record_of(model, x), oracle(model, x)
    weights = torch.tensor([0.0, 1, -2, 0.5, 3])
    for given in (weights, weights.double(), weights.tolist()):
        assert_close(record.weighted_sum(given), summed(rows, weights))
    bound = float(norms_of(rows).sqrt().median())
    assert_close(record.clipped_sum(torch.tensor(bound)), record.clipped_sum(bound), 1e-6)
    for wrong in (weights[:3], weights[:, None], 1.0):
        with pytest.raises(ValueError, match="^weighted_sum: the weights have shape"):
            record.weighted_sum(wrong)


def test_the_noise_scale_adds_up_over_batches():
    """Compare both estimates with the formula on rows, for one batch and for a sum of batches."""
    model, x = build("Linear, T = 7", size=8)
    scale, rows = record_of(model, x).noise_scale(), flat(oracle(model, x))
    assert_close(scale.noise, float(rows.var(0).sum()))
    assert_close(scale.signal, float(rows.mean(0).square().sum() - rows.var(0).sum() / 8))
    assert_close(scale.value, scale.noise / scale.signal)
    whole = sum(record_of(model, part).noise_scale() for part in (x[:2], x[2:5], x[5:]))
    parts = [rows[:2], rows[2:5], rows[5:]]
    assert whole.batches == 3
    assert_close(whole.noise, sum(float(part.var(0).sum()) for part in parts) / 3)


@pytest.mark.parametrize("scratch", [1, buffers.SCRATCH])
@pytest.mark.parametrize("name", ["MLP", "Linear, T = 7", "Conv2d", "called twice"])
def test_a_row_that_is_no_number_is_named_and_left_out(name, scratch, monkeypatch):
    monkeypatch.setattr(buffers, "SCRATCH", scratch)
    model, x = build(name)
    rows = oracle(model, x)
    x[3] = torch.nan
    record = record_of(model, x)
    sentence = r"^clipped_sum: the row of sample 3 is not finite \(1 in"
    with pytest.raises(ValueError, match=sentence):
        record.clipped_sum(1.0)
    kept = torch.tensor([1.0, 1, 1, 0, 1])
    assert_close(record.weighted_sum(kept), summed(rows, kept))
    first = next(iter(record.rows().values()))
    assert first.isfinite().flatten(1).all(1).tolist() == kept.bool().tolist()


def test_a_nan_behind_a_row_of_zeros_is_named():
    """Use norms 0 and NaN for two parameters, as Python's max(0.0, nan) would return 0.0."""
    model = nn.ParameterList([torch.zeros(2), torch.ones(2)])
    x = torch.ones(4, 2)
    x[1] = torch.nan
    with ps.record(model) as record:
        record.backward((x * model[1]).sum(1) + 0 * model[0].sum())
    assert record.squared_norms().isnan().tolist() == [False, True, False, False]
    with pytest.raises(ValueError, match="the row of sample 1 is not finite"):
        record.clipped_sum(1.0)


# Hooks
HOOKS = {
    "a tensor": lambda ct: ct - ct.mean(0),
    "the losses": lambda ct: 2 * ct,
    "a module": lambda ct: ct.clamp(-0.1, 0.1),
}


@pytest.mark.parametrize("where", HOOKS)
def test_hooks_on_tensors_inside_the_block_are_exact(where):
    model, _ = build("MLP")
    if where == "a module":
        change = lambda module, into, out: (HOOKS[where](into[0]),)  # noqa: E731
        model[2].register_full_backward_hook(change)
    for _ in range(2):
        with replayed("a hook"), ps.record(model) as record:
            h = model[0](double(B, 4))
            if where == "a tensor":
                h.register_hook(HOOKS[where])
            each = losses(model[2](h.tanh()))
            if where == "the losses":
                each.register_hook(HOOKS[where])
            record.backward(each, retain_graph=True)
        agree(record, alone(model, each))
        assert set(record.forms().values()) == {"rows, sample by sample from a hook"}


def test_hooks_of_another_record_are_no_hooks_of_the_users():
    (one, x), (two, words) = build("MLP"), build("attention")
    with ps.record(one) as first, ps.record(two) as second:
        first.backward(losses(one(x)))
        second.backward(losses(two(words)))
    assert_close(first.rows(), oracle(one, x))
    assert_close(second.rows(), oracle(two, words))


# Checkpoints, and functions that hide a graph
@pytest.mark.parametrize("accumulate", [False, True])
def test_a_checkpointed_block_runs_three_times(accumulate):
    """Count the runs of a block with a table used twice and an index; compare its rows."""
    count = []

    def block(m, x):
        count.append(1)
        place = m.p(torch.arange(4))
        h = (m.l(x + place) * place).tanh()
        return m.n(h)[torch.arange(len(x))[:, None], torch.tensor([[2, 0, 1, 3]])]

    inner = Made(block, l=nn.Linear(4, 4), p=nn.Embedding(4, 4), n=nn.LayerNorm(4))
    forward = lambda m, x: m.o(checkpoint(m.b, m.i(x), use_reentrant=False))  # noqa: E731
    model = Made(forward, b=inner, i=nn.Linear(4, 4), o=nn.Linear(4, 2)).double()
    x = double(B, 4, 4)
    record = record_of(model, x, accumulate=accumulate)
    assert len(count) == 3  # forward, read, backward
    rows = record.rows()
    record.squared_norms()
    assert len(count) == 3
    assert_close(rows, alone(model, losses(model(x))))


@pytest.mark.parametrize("kept", [True, False], ids=["rows kept", "rows too large to keep"])
def test_all_parameters_of_a_replay_come_from_one_run_a_sample(kept, monkeypatch):
    if not kept:
        monkeypatch.setattr("persample.recorder.replay.CACHE_BYTES", 250)  # rows of two samples
        monkeypatch.setattr("persample.recorder.buffers.CACHE_BYTES", 250)
    calls = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return h - h.mean(0)

        @staticmethod
        def backward(ctx, ct):
            calls.append(1)
            return ct - ct.mean(0)

    model, weights = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)).double(), arange(5.0).double()
    with ps.record(model) as record, replayed("CountedBackward"):
        losses = Counted.apply(model(torch.randn(5, 4).double())).square().sum(1)
        record.backward(losses, retain_graph=True)
    expected = alone(model, losses)
    answers = {
        record.squared_norms: sum(g.flatten(1).square().sum(1) for g in expected.values()),
        record.rows: expected,
        partial(record.weighted_sum, weights): {
            name: torch.tensordot(weights, g, 1) for name, g in expected.items()
        },
    }
    for ask, answer in answers.items():
        before = len(calls)
        assert_close(ask(), answer)
        known = kept and ask != record.squared_norms  # the norms were computed from rows
        assert len(calls) - before == (0 if known else 5)
    before = len(calls)
    record.clipped_sum(1.0)  # with the norms that are known
    assert len(calls) - before == (0 if kept else 5)
