"""Rows of a model's layers from one pass: against the loop, for every layer and every answer."""

import gc
import weakref

import pytest
import torch
from torch import nn

import persample as ps
from persample.recorder import REDUCTIONS, buffers, forms
from persample.recorder.forms import OuterSum, squares_once
from persample.recorder.layer_forms import Lookup
from persample.recorder.recording import _closed_norms

from .layer_models import (
    MODELS,
    VOCABULARY,
    B,
    TiedLanguage,
    build,
    losses,
    norms_of,
    oracle,
    record_of,
)
from .tolerances import OF_DTYPE, assert_close

# PyTorch says that an even window needs a copy of the input.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
CHUNKED = [
    "MLP", "Linear, T = 7", "Linear, T = 2, wide", "Conv2d, groups", "tied", "attention",
]  # fmt: skip


WAYS = [(None, "float64"), (None, "float32"), ("mean", "float64"), ("sum", "float64")]


@pytest.mark.parametrize(("reduction", "dtype"), WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_everything_agrees_with_the_loop(name, reduction, dtype):
    model, x = build(name, dtype)
    tolerance = OF_DTYPE[dtype]
    expected = oracle(model, x)
    record = record_of(model, x, reduction)
    assert_close(record.rows(), expected, tolerance)
    norms = norms_of(expected)
    assert_close(record.squared_norms(), norms, tolerance)
    max_norm = float(norms.sqrt().median())
    weights = (max_norm / norms.sqrt()).clip(max=1)
    assert 0 < int((weights < 1).sum()) < B  # some rows are clipped, some are not
    clipped = {k: torch.tensordot(weights, g, 1) for k, g in expected.items()}
    assert_close(record.clipped_sum(max_norm), clipped, tolerance)
    mean, second = record.moments()
    assert_close(mean, {k: g.mean(0) for k, g in expected.items()}, tolerance)
    assert_close(second, {k: (g**2).mean(0) for k, g in expected.items()}, tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_the_samples_of_every_case_have_distinct_rows(name):
    model, x = build(name)
    rows = torch.cat([g.flatten(1) for g in oracle(model, x).values()], 1)
    assert len(rows.round(decimals=6).unique(dim=0)) == B


@pytest.mark.parametrize("name", MODELS)
def test_a_record_frees_its_batch_without_the_garbage_collector(name):
    model, x = build(name)
    gc.disable()
    try:
        record = record_of(model, x)
        record.rows()
        source = weakref.ref(record._source)
        del record
        assert source() is None
    finally:
        gc.enable()


def test_no_hook_stays_after_an_error_in_the_block():
    model, _ = build("MLP")
    with pytest.raises(RuntimeError, match="shapes"), ps.record(model):
        model(torch.ones(B, 3).double())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert not torch.overrides._len_torch_function_stack()


@pytest.mark.parametrize("name", MODELS)
def test_buffers_are_used_again_by_the_next_batch(name):
    model, x = build(name)
    out = record_of(model, x).rows()
    places = {k: g.data_ptr() for k, g in out.items()}
    _, other = build(name, seed=1)
    out = dict(reversed(out.items()))  # their order does not matter
    again = record_of(model, other, "sum").rows(out)
    assert again is out
    assert {k: g.data_ptr() for k, g in again.items()} == places
    assert_close(again, oracle(model, other))


@pytest.mark.parametrize("name", MODELS)
def test_buffers_may_be_parts_of_one_array(name):
    """One row of the array is one sample's gradient: the parts lie between one another."""
    model, x = build(name)
    shapes = {k: p.shape for k, p in model.named_parameters() if p.requires_grad}
    total = sum(shape.numel() for shape in shapes.values())
    flat, out, start = torch.zeros(B, total).double(), {}, 0
    for key, shape in shapes.items():
        out[key] = flat[:, start : start + shape.numel()].view(B, *shape)
        start += shape.numel()
    expected = oracle(model, x)
    assert record_of(model, x).rows(out) is out
    assert_close(out, expected)
    assert_close(flat, torch.cat([expected[k].flatten(1) for k in shapes], 1))


def test_a_smaller_batch_fits_in_a_part_of_the_buffers():
    model, x = build("Conv2d, groups")
    out = record_of(model, x).rows()
    part = record_of(model, x[:2]).rows({k: g[:2] for k, g in out.items()})
    assert_close(part, oracle(model, x[:2]))


@pytest.mark.parametrize("dtype", [*OF_DTYPE, "bfloat16"])
def test_large_fresh_rows_have_huge_pages_and_the_right_type(dtype):
    model = nn.Linear(200, 400).to(getattr(torch, dtype))
    x = torch.randn(50, 200).to(getattr(torch, dtype))
    rows = record_of(model, x, "sum").rows()["weight"]
    assert rows.nbytes > 2**22
    assert rows.shape == (50, 400, 200)
    assert rows.dtype == getattr(torch, dtype)
    if dtype != "bfloat16":
        assert_close(rows[7:9], oracle(model, x[7:9])["weight"], OF_DTYPE[dtype])


def allocated(call):
    """Return the bytes that PyTorch hands out during a call, and what it returns."""
    with torch.profiler.profile(profile_memory=True) as profile:
        result = call()
    events = profile.key_averages()
    return sum(max(0, e.self_cpu_memory_usage) for e in events), result


def test_the_second_call_takes_no_fresh_memory_for_rows():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(60, 50), nn.Tanh(), nn.Linear(50, 2))
    x = torch.randn(100, 60)
    size = 100 * sum(p.numel() * p.itemsize for p in model.parameters())
    first, out = allocated(record_of(model, x).rows)
    record = record_of(model, x)
    second, _ = allocated(lambda: record.rows(out))
    assert first >= size
    assert second < size / 20  # delta times B, at (B, p)


@pytest.mark.parametrize("answer", ["squared_norms", "clipped_sum", "moments"])
def test_what_needs_no_rows_takes_no_memory_for_them(answer):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(60, 50), nn.Tanh(), nn.Linear(50, 2))
    record = record_of(model, torch.randn(100, 60))
    size = 100 * sum(p.numel() * p.itemsize for p in model.parameters())
    call = getattr(record, answer)
    took, _ = allocated((lambda: call(1.0)) if answer == "clipped_sum" else call)
    assert took < size / 5


@pytest.mark.parametrize("chunk", [1, 2, 3, B, B + 1])
@pytest.mark.parametrize("name", CHUNKED)
def test_chunks_are_the_rows_in_one_buffer(name, chunk):
    model, x = build(name)
    record, seen, places = record_of(model, x), [], set()
    for rows in record.chunks(chunk):
        seen.append({k: g.clone() for k, g in rows.items()})
        places.add(tuple(g.data_ptr() for g in rows.values()))
        assert all(len(g) <= chunk for g in rows.values())
    assert len(places) == 1
    assert len(seen) == -(-B // chunk)
    joined = {k: torch.cat([rows[k] for rows in seen]) for k in seen[0]}
    assert_close(joined, oracle(model, x))


@pytest.mark.parametrize("scratch", [1, 1000])
@pytest.mark.parametrize("name", MODELS)
def test_a_small_work_buffer_changes_no_result(name, scratch, monkeypatch):
    model, x = build(name)
    expected = oracle(model, x)
    monkeypatch.setattr(buffers, "SCRATCH", scratch)
    record = record_of(model, x)
    assert_close(record.rows(), expected)
    assert_close(record.squared_norms(), norms_of(expected))
    assert_close(record.moments().second_moment, {k: (g**2).mean(0) for k, g in expected.items()})
    total = record.clipped_sum(float("inf"))
    assert_close(total, {k: g.sum(0) for k, g in expected.items()})


@pytest.mark.parametrize(("T", "cheaper"), [(2, "_gram_squares"), (20, "_direct_squares")])
def test_the_cheaper_form_of_the_norm_is_taken(T, cheaper, monkeypatch):
    other = {"_gram_squares", "_direct_squares"} - {cheaper}
    monkeypatch.setattr(forms, other.pop(), None)
    model, x = nn.Linear(16, 16), torch.randn(B, T, 16)
    norms = record_of(model, x).squared_norms()
    assert_close(norms, norms_of(oracle(model, x)), OF_DTYPE["float32"])


def test_samples_whose_norm_is_zero_are_not_divided_by_it():
    x = torch.tensor([[0.0, 0], [3, 4]])
    model = nn.Linear(2, 1, bias=False)
    with ps.record(model) as record:
        record.backward(model(x)[:, 0])
    assert_close(record.clipped_sum(1.0)["weight"], torch.tensor([[0.6, 0.8]]), 1e-6)


def test_what_runs_without_gradients_is_not_recorded():
    model, x = build("MLP")
    with ps.record(model) as record:
        with torch.no_grad():
            model(x[:2])
        record.backward(losses(model(x)))
        with torch.no_grad():
            model(x[:3])
        model[0].weight.square().sum()  # after the backward pass, of no consequence
    assert_close(record.rows(), oracle(model, x))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_another_models_backward_does_not_count(reduction):
    (model, x), (other, _) = build("MLP"), build("MLP")
    with ps.record(model, reduction=reduction) as record:
        losses(other(x)).sum().backward()
        getattr(losses(model(x)), reduction)().backward()
        losses(other(x)).sum().backward()
    assert_close(record.rows(), oracle(model, x))


def test_the_record_can_be_read_inside_the_block():
    for name in ("MLP", "attention"):
        model, x = build(name)
        with ps.record(model) as record:
            record.backward(losses(model(x)))
            assert_close(record.rows(), oracle(model, x))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", CHUNKED)
def test_a_mean_over_few_samples(name, size):
    model, x = build(name, size=size)
    assert_close(record_of(model, x, "mean").rows(), oracle(model, x))


def test_a_backward_of_ones_own_takes_its_arguments_by_position():
    model, x = build("MLP")
    with ps.record(model, reduction="sum") as record:
        losses(model(x)).sum().backward(torch.tensor(1.0).double(), True, False, [model[0].weight])
    assert_close(record.rows()["0.weight"], oracle(model, x)["0.weight"])
    assert_close(model[0].weight.grad, record.rows()["0.weight"].sum(0))
    assert model[2].weight.grad is None


def test_a_hook_of_the_users_own_does_not_disturb():
    model, x = build("Linear")
    model.register_forward_hook(lambda module, args, output: torch.sin(3 * output))
    assert_close(record_of(model, x).rows(), oracle(model, x))


def test_an_optimiser_step_before_reading_changes_no_row_of_a_layer_with_a_rule():
    model, x = build("MLP")
    expected, record = oracle(model, x), record_of(model, x)
    record.add_clipped_sum(1.0)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert not torch.allclose(oracle(model, x)["0.weight"], expected["0.weight"])
    assert_close(record.rows(), expected)
    assert_close(record.squared_norms(), norms_of(expected))


def test_large_memory_for_rows_begins_at_a_cache_line():
    model = nn.Linear(1000, 300)
    with ps.record(model) as record:
        record.backward(model(torch.ones(7, 1000)).sum(1))
    assert all(row.data_ptr() % 64 == 0 for row in record.rows().values())
    assert record.rows()["weight"].nbytes > 2**22  # or it is PyTorch's own memory


def test_norms_of_a_tied_table_have_the_cross_terms_without_its_rows(monkeypatch):
    torch.manual_seed(0)
    model, i = TiedLanguage().double(), torch.randint(0, VOCABULARY, (B, 7))
    with ps.record(model) as record:
        each = torch.nn.functional.cross_entropy(model(i).mT, i.roll(1, 1), reduction="none")
        losses = each.mean(1)
        record.backward(losses, retain_graph=True)
    named = dict(model.named_parameters())
    alone = [torch.autograd.grad(x, list(named.values()), retain_graph=True) for x in losses]
    expected = {name: torch.stack([g[n] for g in alone]) for n, name in enumerate(named)}
    norms, table = norms_of(expected), expected["table.weight"]
    assert_close(record.rows(), expected, 1e-12)
    monkeypatch.setattr(type(record), "_few", None)
    assert_close(record.squared_norms(), norms, 1e-12)
    apart = sum(use.squared_norms(squares_once()) for use in record._source.forms["table.weight"])
    assert (norms_of({"table": table}) / apart - 1).abs().min() > 1e-3  # the cross terms matter
    weights = (0.3 / norms.sqrt()).clip(max=1)
    total = record.clipped_sum(0.3)["table.weight"]
    assert_close(total, torch.einsum("b,bvd->vd", weights, table), 1e-12)


def test_two_uses_that_cancel_are_added_before_they_are_squared():
    torch.manual_seed(0)
    i, h = torch.randint(0, 4, (B, 3)), torch.randn(B, 2, 6)
    delta = torch.randn(B, 2, 4)
    rows = delta.mT @ h
    # Lookups whose sum is minus that product but for a millionth of it.
    there = Lookup(-rows * (1 + 1e-6), torch.arange(4).expand(B, 4), 4)
    uses = [there, OuterSum(delta, h)]
    assert _closed_norms(uses, squares_once()) is None
    assert _closed_norms([Lookup(torch.randn(B, 3, 6), i, 4), uses[1]], squares_once()) is not None


def test_a_record_says_how_each_parameters_rows_are_had():
    kinds = {
        "MLP": {"outer product", "formed"},
        "Linear, T = 7": {"sum of outer products", "formed"},
        "Conv2d": {"convolution", "formed"},
        "tied": {"lookup + sum of outer products"},
        "Conv3d": {"rows", "formed"},
        "not used": {"outer product", "formed", "unused"},
    }
    for name, expected in kinds.items():
        record = record_of(*build(name))
        assert set(record.forms().values()) == expected
        assert record.forms().keys() == record.rows().keys()
