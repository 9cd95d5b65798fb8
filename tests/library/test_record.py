"""`record` on whole models against a loop over samples: layers, methods, buffers, memory."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch
from conformance import oracle as truth
from conformance import verdict
from conformance.models import cases
from conformance.task import Task
from torch import nn

import persample as ps
from persample.recorder import buffers, forms
from persample.recorder.forms import Formed, Outer, OuterSum
from persample.recorder.layer_forms import Lookup
from persample.recorder.parameter_rows import ParameterRows
from support.layer_models import (
    MODELS,
    SOME,
    VOCABULARY,
    B,
    TiedLanguage,
    agree,
    alone,
    build,
    losses,
    norms_of,
    oracle,
    record_of,
    summed,
)
from support.tolerances import OF_DTYPE, assert_close

pytestmark = [
    # PyTorch says that an even window needs a copy of the input.
    pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths"),
    pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad"),
    pytest.mark.filterwarnings("ignore:.*ested.tensor"),
]
# Of the sequences that begin to mix samples, one for each way to do it.
LATE = "A @ h, custom Function permutes, gather along samples, as_strided, width = B, tensor hook"
LATE += ", softmax over the batch, contrastive, unique words, in place between samples"
LATE += ", BatchNorm switched to train, parameter hook, lengths, split, sorted losses, loss scale"
CASES = {c.name: c for c in cases() if not c.late or c.name.removeprefix("late: ") in LATE}
REFUSED = {
    "BatchNorm, train": "normalises by the mean and variance of the batch",
    "late: BatchNorm switched to train": "normalises by the mean and variance of the batch",
    "checkpoint, reentrant": "use_reentrant=True",
    "checkpoint, reentrant, input with grad": "use_reentrant=True",
    "late: parameter hook": "has a hook",
}


@pytest.mark.filterwarnings("ignore:record. at")
@pytest.mark.parametrize("name", CASES)
def test_every_answer_about_every_model_of_the_conformance_suite(name):
    """Use batches of several sizes in turn; some models mix samples from the third batch on."""
    case = CASES[name]
    if not case.late:
        case = replace(case, sizes=(5, 1, case.length))
    task = Task(case, case.losses[0])
    model, refused = case.build(), None
    for step in task.steps()[1 if case.late else 0 :]:
        truth.set_parameters(model, step.parameters)
        try:
            with ps.record(model) as record:
                record.backward(task.losses(model, dict(step.batch)))
        except (ValueError, NotImplementedError) as error:
            refused = str(error)
            continue
        if case.dtype == torch.float64 and not case.autocast:
            agree(record, step.truths[0], 1e-7)
        else:
            answer = {"rows": record.rows(), "squared_norms": record.squared_norms()}
            answer["clipped_sum"] = record.clipped_sum(step.max_norm)
            found = verdict.judge(answer, step, case.tolerance, 0.0)
            assert found["verdict"] == verdict.RIGHT, found
    assert (refused is None) == (name not in REFUSED), refused
    assert REFUSED.get(name, "") in (refused or "")


@pytest.mark.parametrize(("dtype", "scratch"), [("float64", 1), ("float32", buffers.SCRATCH)])
@pytest.mark.parametrize("name", MODELS)
def test_everything_agrees_with_the_loop(name, dtype, scratch, monkeypatch):
    """Repeat with a small work buffer, which must not change the results."""
    model, x = build(name, dtype)
    monkeypatch.setattr(buffers, "SCRATCH", scratch)
    record = record_of(model, x)
    agree(record, oracle(model, x), 4 * OF_DTYPE[dtype])
    assert not any("sample by sample" in kind for kind in record.forms().values())
    record = record_of(model, x)
    record.squared_norms()  # keeps rows
    agree(record, oracle(model, x), 4 * OF_DTYPE[dtype])


@pytest.mark.parametrize("limit", [0, 3 * 16 * B * 8, 3 * 16 * B * 8 + 1, 2 * 3 * 16 * B * 8])
def test_norms_keep_the_rows_they_need_for_a_sum_up_to_a_limit(limit, monkeypatch):
    torch.manual_seed(0)
    layers = [nn.Linear(16, 3), nn.Linear(3, 16), nn.Linear(16, 3, bias=False)]
    model, x = nn.Sequential(*layers).double(), torch.randn(B, 30, 16).double()
    monkeypatch.setattr(buffers, "CACHE_BYTES", limit)
    record = record_of(model, x)
    kinds, expected = record.forms(), oracle(model, x)
    assert_close(record.squared_norms(), norms_of(expected))
    forms = {name: type(uses.forms[0]) for name, uses in record._capture.parameter_rows.items()}
    kept = [name for name, form in forms.items() if form is Formed and "weight" in name]
    assert kept == ["0.weight", "1.weight", "2.weight"][: limit // (3 * 16 * B * 8)]
    assert record.forms() == kinds
    total = summed(expected, (0.3 / norms_of(expected).sqrt()).clip(max=1))
    assert_close(record.clipped_sum(0.3), total)


@pytest.mark.parametrize("name", ["MLP", "Conv2d, groups", "attention", "called twice"])
def test_a_record_frees_its_batch_without_the_garbage_collector(name):
    model, x = build(name)
    gc.disable()
    try:
        record = record_of(model, x)
        record.rows()
        source = weakref.ref(record._capture)
        del record
        assert source() is None
    finally:
        gc.enable()


def fails(model, x):
    with ps.record(model):
        model(x).sum()
        raise ZeroDivisionError


@pytest.mark.parametrize(("width", "error"), [(3, RuntimeError), (4, ZeroDivisionError)])
def test_no_hook_stays_after_an_error_in_the_block(width, error):
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3).eval())
    with pytest.raises(error):
        fails(model, torch.ones(B, width))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert not torch.overrides._len_torch_function_stack()


@pytest.mark.parametrize("name", SOME)
def test_buffers_are_used_again_and_may_be_parts_of_one_array(name):
    """Pass as buffers views of one array (B, P), and the rows of an earlier record."""
    model, x = build(name)
    first = record_of(model, x).rows()
    total = sum(g[0].numel() for g in first.values())
    flat, out, start = torch.zeros(B, total).double(), {}, 0
    for key, g in reversed(first.items()):  # their order does not matter
        out[key] = flat[:, start : start + g[0].numel()].view(g.shape)
        start += g[0].numel()
    _, other = build(name, seed=1)
    for buffer in (first, out):
        places = {k: g.data_ptr() for k, g in buffer.items()}
        again = record_of(model, other).rows(buffer)
        assert again is buffer
        assert {k: g.data_ptr() for k, g in again.items()} == places
        assert_close(again, oracle(model, other))
    part = record_of(model, x[:2]).rows({k: g[:2] for k, g in out.items()})
    assert_close(part, oracle(model, x[:2]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_large_fresh_rows_have_huge_pages_at_a_cache_line_and_the_right_type(dtype):
    model = nn.Linear(200, 400).to(getattr(torch, dtype))
    x = torch.randn(50, 200).to(getattr(torch, dtype))
    rows = record_of(model, x).rows()["weight"]
    assert rows.nbytes > buffers.SCRATCH or rows.nbytes > 2**22
    assert rows.data_ptr() % 64 == 0
    assert rows.shape == (50, 400, 200)
    assert rows.dtype == getattr(torch, dtype)
    if dtype != "bfloat16":
        assert_close(rows[7:9], oracle(model, x[7:9])["weight"], OF_DTYPE[dtype])


def allocated(call):
    """Return (bytes that PyTorch allocates during call(), its result)."""
    with torch.profiler.profile(profile_memory=True, acc_events=True) as profile:
        result = call()
    events = profile.key_averages()
    return sum(max(0, e.self_cpu_memory_usage) for e in events), result


def test_what_needs_no_rows_takes_no_memory_for_them():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(60, 50), nn.Tanh(), nn.Linear(50, 2))
    x = torch.randn(100, 60)
    size = 100 * sum(p.numel() * p.itemsize for p in model.parameters())
    first, out = allocated(record_of(model, x).rows)
    record = record_of(model, x)
    second, _ = allocated(lambda: record.rows(out))
    assert first >= size
    assert second < size / 20  # delta times B, at (B, p)
    for call in (record.squared_norms, lambda: record.clipped_sum(1.0), record.moments):
        assert allocated(call)[0] < size / 5


@pytest.mark.parametrize("name", ["MLP", "attention"])
def test_chunks_lie_in_one_buffer_and_notice_a_change(name):
    model, x = build(name)
    for chunk, count in ((1, B), (3, 2), (B + 1, 1)):
        record = record_of(model, x)
        places = [[g.data_ptr() for g in rows.values()] for rows in record.chunks(chunk)]
        assert places == [places[0]] * count
    chunks = record_of(model, x).chunks(1)
    next(chunks)
    x.zero_()
    with pytest.raises(RuntimeError, match="was changed in place"):
        next(chunks)


@pytest.mark.parametrize(("T", "cheaper"), [(2, "_gram_squares"), (20, "_direct_squares")])
def test_the_cheaper_form_of_the_norm_is_taken(T, cheaper, monkeypatch):
    other = {"_gram_squares", "_direct_squares"} - {cheaper}
    monkeypatch.setattr(forms, other.pop(), None)
    model, x = nn.Linear(16, 16), torch.randn(B, T, 16)
    norms = record_of(model, x).squared_norms()
    assert_close(norms, norms_of(oracle(model, x)), OF_DTYPE["float32"])


def test_what_runs_beside_the_pass_does_not_count():
    (model, x), (other, _) = build("MLP"), build("MLP")
    expected = oracle(model, x)
    with ps.record(model) as record:
        with torch.no_grad():
            model(x[:2])
        losses(other(x)).sum().backward()
        record.backward(losses(model(x)))
        assert_close(record.rows(), expected)  # it can be read inside the block
        losses(other(x)).sum().backward()
        with torch.no_grad():
            model(x[:3])
        model[0].weight.square().sum()
    assert_close(record.rows(), expected)


def test_an_optimiser_step_before_reading_changes_no_row_of_a_layer_with_a_rule():
    model, x = build("MLP")
    expected, record = oracle(model, x), record_of(model, x)
    record.add_clipped_sum(1.0)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert not torch.allclose(oracle(model, x)["0.weight"], expected["0.weight"])
    agree(record, expected)


def test_norms_of_a_tied_table_have_the_cross_terms_without_its_rows(monkeypatch):
    torch.manual_seed(0)
    model, i = TiedLanguage().double(), torch.randint(0, VOCABULARY, (B, 7))
    with ps.record(model) as record:
        each = torch.nn.functional.cross_entropy(model(i).mT, i.roll(1, 1), reduction="none")
        record.backward(each.mean(1), retain_graph=True)
    expected = alone(model, each.mean(1))
    agree(record, expected, 1e-12)
    with ps.record(model) as record:
        each = torch.nn.functional.cross_entropy(model(i).mT, i.roll(1, 1), reduction="none")
        record.backward(each.mean(1))
    monkeypatch.setattr(ParameterRows, "few", None)
    monkeypatch.setattr(buffers, "CACHE_BYTES", 0)
    norms, table = norms_of(expected), {"table.weight": expected["table.weight"]}
    assert_close(record.squared_norms(), norms, 1e-12)
    apart = sum(
        use.squared_norms() for use in record._capture.parameter_rows["table.weight"].forms
    )
    assert (norms_of(table) / apart - 1).abs().min() > 1e-3  # the cross terms matter
    total = summed(table, (0.3 / norms.sqrt()).clip(max=1))
    assert_close(record.clipped_sum(0.3)["table.weight"], total["table.weight"], 1e-12)


def test_squared_norms_of_chosen_parameters_are_those_of_their_rows():
    model, x = build("MLP")
    record, rows = record_of(model, x), oracle(model, x)
    chosen = [*rows][::2]
    assert_close(record.squared_norms(chosen), norms_of({name: rows[name] for name in chosen}))
    assert_close(record.squared_norms(chosen[0]), norms_of({chosen[0]: rows[chosen[0]]}))


def test_the_cross_term_of_a_lookup_and_a_layer_that_share_a_table_is_that_of_their_rows():
    torch.manual_seed(0)
    i, h, delta = torch.randint(0, 4, (B, 3)), torch.randn(B, 6), torch.randn(B, 4)
    looked_up = Lookup(torch.randn(B, 3, 6), i, 4)
    rows = torch.empty(B, 4, 6)
    looked_up.rows(slice(None), rows)
    expected = (rows * delta[:, :, None] * h[:, None]).sum((1, 2))
    assert_close(looked_up.inner(Outer(delta, h)), expected, 1e-5)


def test_two_uses_that_cancel_are_added_before_they_are_squared():
    torch.manual_seed(0)
    i, h = torch.randint(0, 4, (B, 3)), torch.randn(B, 2, 6)
    delta = torch.randn(B, 2, 4)
    rows = delta.mT @ h
    # Lookups whose sum is minus that product but for a millionth of it.
    there = Lookup(-rows * (1 + 1e-6), torch.arange(4).expand(B, 4), 4)
    uses = [there, OuterSum(delta, h)]
    table = torch.zeros(4, 6)
    assert ParameterRows(table, uses, B).closed_norms() is None
    more = [Lookup(torch.randn(B, 3, 6), i, 4), uses[1]]
    assert ParameterRows(table, more, B).closed_norms() is not None


def test_a_record_says_how_each_parameters_rows_are_had():
    kinds = {
        "MLP": {"outer product", "formed"},
        "Linear, T = 7": {"sum of outer products", "formed"},
        "Conv2d": {"convolution", "formed"},
        "tied": {"lookup + sum of outer products", "sum of outer products", "formed"},
        "Conv3d": {"convolution", "formed"},
        "not used": {"outer product", "formed", "unused"},
    }
    for name, expected in kinds.items():
        record = record_of(*build(name))
        assert set(record.forms().values()) == expected
        assert record.forms().keys() == record.rows().keys()
