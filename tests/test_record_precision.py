"""Norms, clipped sums and moments where rows are near the ends of their type's range."""

import pytest
import torch
from torch import nn

import persample as ps

from .layer_models import VOCABULARY, TiedLanguage, losses
from .tolerances import assert_close

B = 4


def record_of(model, x, losses_of=lambda y: y.flatten(1).sum(1)):
    with ps.record(model) as record:
        record.backward(losses_of(model(x)))
    return record


def flat(rows):
    return torch.cat([g.double().flatten(1) for g in rows.values()], 1)


MODELS = {
    "Linear": (lambda: nn.Linear(8, 6), (8,)),
    "Linear, T = 5": (lambda: nn.Linear(8, 6), (5, 8)),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 2), (2, 4, 4)),
    "LayerNorm": (lambda: nn.Sequential(nn.Linear(8, 6), nn.LayerNorm(6)), (8,)),
    "twice": (lambda: nn.Sequential(*[nn.Linear(8, 8)] * 2), (8,)),
}
SCALES = {  # dtype -> factors of the losses: rows and their squares beyond the range, or below it
    torch.float16: (1.0, 2000.0, 2e-3),
    torch.bfloat16: (1.0, 1e12, 1e-12),
    torch.float32: (1.0, 1e25, 1e-28),
    torch.float64: (1.0, 1e200, 1e-200),
}


@pytest.mark.parametrize("dtype", SCALES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_clipped_sums_neither_overflow_nor_vanish(name, dtype):
    torch.manual_seed(0)
    model, x = MODELS[name][0]().to(dtype), torch.randn(B, *MODELS[name][1])
    wide = torch.promote_types(dtype, torch.float32)
    for scale in SCALES[dtype]:
        weigh = lambda y, scale=scale: losses(y.to(wide)) * scale  # noqa: E731
        record = record_of(model, x.to(dtype), weigh)
        rows = flat(record.rows())
        assert bool(rows.isfinite().all())
        largest = rows.abs().max()
        norms = largest * (rows / largest).square().sum(1).sqrt()
        max_norm = float(norms.median())
        expected = ((max_norm / norms).clip(max=1)[:, None] * rows).sum(0) / max_norm
        clipped = record.clipped_sum(max_norm)
        assert {g.dtype for g in clipped.values()} == {wide}
        got = torch.cat([g.double().flatten() for g in clipped.values()]) / max_norm
        # the rows, which are rounded to 16 bits, are the less exact ones
        assert_close(got, expected, {2: 4e-2, 4: 1e-5, 8: 1e-9}[dtype.itemsize])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_squared_norms_beyond_the_range_are_infinite_and_those_below_it_zero(name, dtype):
    torch.manual_seed(0)
    model, x = MODELS[name][0]().to(dtype), torch.randn(B, *MODELS[name][1]).to(dtype)
    for scale, wanted in zip(SCALES[dtype][1:], (float("inf"), 0.0), strict=True):
        record = record_of(model, x, lambda y, scale=scale: losses(y) * scale)
        assert bool(flat(record.rows()).isfinite().all())
        assert record.squared_norms().tolist() == [wanted] * B


def test_a_row_whose_norm_is_beyond_the_range_is_clipped_all_the_same():
    x = torch.full((2, 4), 3e38)
    x[1] = 1.0
    model = nn.Linear(4, 1, bias=False)
    nn.init.zeros_(model.weight)
    record = record_of(model, x)
    (clipped,) = record.clipped_sum(1.0).values()
    # The norm 6e38 counts as 3.4e38, so the first row keeps 1.76 of its direction, not 1.
    assert record.squared_norms().tolist() == [float("inf"), 4.0]
    assert bool(clipped.isfinite().all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_norms_and_moments_of_16_bits_are_worked_out_in_32(dtype):
    torch.manual_seed(0)
    model, x = nn.Linear(8, 6).to(dtype), torch.randn(B, 8).mul(2000).to(dtype)
    record = record_of(model, x)
    rows = flat(record.rows())
    norms = record.squared_norms()
    assert norms.dtype == torch.float32
    assert float(norms.max()) > 65504  # the largest float16
    assert_close(norms.double() / 1e8, rows.square().sum(1) / 1e8, 1e-2)
    mean, second = record.moments()
    assert {g.dtype for g in (*mean.values(), *second.values())} == {torch.float32}
    got = torch.cat([g.double().flatten() for g in second.values()])
    assert_close(got / 1e7, rows.square().mean(0) / 1e7, 1e-2)


def test_second_moments_whose_factors_lie_far_apart():
    model = nn.Linear(3, 2, bias=False)
    with ps.record(model) as record:
        record.backward(1e-25 * model(torch.ones(B, 3) * 1e25).sum(1))
    assert_close(record.moments().second_moment["weight"], torch.ones(2, 3), 1e-5)
    assert_close(record.squared_norms(), torch.full((B,), 6.0), 1e-5)


def test_a_sample_of_zeros_beside_a_large_one():
    model = nn.Linear(2, 1, bias=False)
    record = record_of(model, torch.tensor([[0.0, 0.0], [3e25, 4e25]]))
    assert_close(record.clipped_sum(1.0)["weight"], torch.tensor([[0.6, 0.8]]), 1e-5)


def test_a_check_under_autocast_allows_for_its_rounding(monkeypatch):
    torch.manual_seed(0)
    model, x = TiedLanguage(), torch.randint(0, VOCABULARY, (B, 7))
    with ps.record(model) as record:
        with torch.autocast("cpu", torch.bfloat16):
            scores = model(x)
        each = torch.nn.functional.cross_entropy(scores.float().mT, x.roll(1, 1), reduction="none")
        record.backward(each.mean(1), retain_graph=True)
    largest = max(record.check(range(B)).values())
    assert 1e-4 < largest < 5e-2
    spoiled = type(record)._row
    monkeypatch.setattr(
        type(record), "_row", lambda self, i: {k: 1.1 * g for k, g in spoiled(self, i).items()}
    )
    with pytest.raises(RuntimeError, match="differs"):
        record.check()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_and_a_scaled_loss(dtype):
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3)), torch.randn(B, 8)
    with ps.record(model) as record, torch.autocast("cpu", dtype=dtype):
        each = losses(model(x).float()) * 256
        record.backward(each, retain_graph=True)
    rows = record.rows()
    assert {g.dtype for g in rows.values()} == {torch.float32}
    for i in range(B):
        alone = torch.autograd.grad(each[i], list(model.parameters()), retain_graph=True)
        for g, expected in zip(rows.values(), alone, strict=True):
            assert_close(g[i] / 256, expected / 256, 2e-2)
