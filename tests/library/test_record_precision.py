"""Norms, clipped sums, moments and products of very large and very small rows."""

import pytest
import torch
from torch import nn

import persample as ps
from persample.recorder import buffers
from persample.recorder.parameter_rows import ParameterRows
from support.layer_models import VOCABULARY, TiedLanguage, flat, losses
from support.tolerances import assert_close

B = 4
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
# The rows, which are rounded to 16 bits, are less exact than what is made of them.
TOLERANCE = {2: 4e-2, 4: 1e-5, 8: 1e-9}


def record_of(model, x, losses_of=lambda y: y.flatten(1).sum(1)):
    with ps.record(model) as record:
        record.backward(losses_of(model(x)))
    return record


def wide(rows):
    return flat({name: g.double() for name, g in rows.items()})


@pytest.mark.parametrize("dtype", SCALES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_neither_overflow_nor_vanish(name, dtype):
    torch.manual_seed(0)
    model, x = MODELS[name][0]().to(dtype), torch.randn(B, *MODELS[name][1]).to(dtype)
    work = torch.promote_types(dtype, torch.float32)
    for scale, squares in zip(SCALES[dtype], (None, float("inf"), 0.0), strict=True):
        weigh = lambda y, scale=scale: losses(y.to(work)) * scale  # noqa: E731
        record = record_of(model, x, weigh)
        rows = wide(record.rows())
        assert bool(rows.isfinite().all())
        norms = rows.abs().max() * (rows / rows.abs().max()).square().sum(1).sqrt()
        max_norm = float(norms.median())
        expected = ((max_norm / norms).clip(max=1)[:, None] * rows).sum(0) / max_norm
        clipped = record.clipped_sum(max_norm)
        assert {g.dtype for g in clipped.values()} == {work}
        got = torch.cat([g.double().flatten() for g in clipped.values()]) / max_norm
        assert_close(got, expected, TOLERANCE[dtype.itemsize])
        if dtype == work and squares is not None:
            assert record.squared_norms().tolist() == [squares] * B


@pytest.mark.parametrize("shape", [(8,), (2, 8)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_what_is_made_of_16_bits_is_worked_out_in_32(dtype, shape):
    torch.manual_seed(0)
    model, x = nn.Linear(8, 6).to(dtype), torch.randn(B, *shape).mul(1000).to(dtype)
    record = record_of(model, x)
    rows, norms, gram = wide(record.rows()), record.squared_norms(), record.gram()
    mean, second = record.moments()
    numbers = record.project(24)
    assert float(norms.max()) > 65504  # the largest float16
    answers = (norms, gram, numbers, *mean.values(), *second.values())
    assert {x.dtype for x in answers} == {torch.float32}
    assert_close(norms.double() / 1e8, rows.square().sum(1) / 1e8, 1e-2)
    assert_close(gram.double() / 1e7, rows @ rows.T / 1e7, 2e-2)
    got = torch.cat([g.double().flatten() for g in second.values()])
    assert_close(got / 1e7, rows.square().mean(0) / 1e7, 1e-2)
    of_rows = ps.statistics.project(record.rows(), 24)
    assert of_rows.dtype == torch.float32
    assert_close(numbers / 1e3, of_rows / 1e3, 2e-2)


def test_a_sample_of_zeros_beside_a_large_one():
    model = nn.Linear(2, 1, bias=False)
    record = record_of(model, torch.tensor([[0.0, 0.0], [3e25, 4e25]]))
    assert_close(record.clipped_sum(1.0)["weight"], torch.tensor([[0.6, 0.8]]), 1e-5)


SIZES = [1.0, 1, 0, 1, 1e-25, 1, 1e25, 0, 0, 0, 1]  # of the rows; those of 1 have a square


@pytest.mark.parametrize("samples_at_a_time", [1, 2, 3, 100])
def test_only_samples_without_a_square_are_formed(samples_at_a_time, monkeypatch):
    torch.manual_seed(0)
    model, sizes = nn.Linear(3, 2), torch.tensor(SIZES)
    record = record_of(model, torch.randn(len(sizes), 3), lambda y: y.sin().sum(1) * sizes)
    expected = wide(record.rows()).norm(dim=1)
    formed, form = set(), ParameterRows._add_up
    monkeypatch.setattr(buffers, "SCRATCH", 4 * 8 * samples_at_a_time)
    monkeypatch.setattr(
        ParameterRows,
        "_add_up",
        lambda *args: formed.update(range(*args[1].indices(99))) or form(*args),
    )
    _, norms = record._squares_and_norms()
    assert_close(norms.double() / expected.clamp(min=1e-30), (expected > 0).double(), 1e-5)
    lost = {i for i, size in enumerate(SIZES) if size != 1}
    assert formed == lost if samples_at_a_time == 1 else lost <= formed <= set(range(2, 10))
    assert_close(record.squared_norms(), norms * norms, 1e-6)


def test_parameters_of_two_types():
    class Widened(nn.Module):
        def forward(self, x):
            return x.double()

    model = nn.Sequential(nn.Linear(4, 6), Widened(), nn.Linear(6, 3).double())
    record = record_of(model, torch.randn(B, 4))
    rows = wide(record.rows())
    assert record.gram().dtype == torch.float64
    assert_close(record.gram(), rows @ rows.T, 1e-5)


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
    rows = ParameterRows.rows
    monkeypatch.setattr(
        ParameterRows, "rows", lambda self, i, out: (rows(self, i, out), out.mul_(1.1))
    )
    with pytest.raises(RuntimeError, match="differs"):
        record.check()
