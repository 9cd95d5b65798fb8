"""Inner products of rows without rows: against the rows of the loop, for every kind of layer."""

import pytest
import torch
from torch import nn

from persample.recorder import buffers
from persample.recorder.forms import Outer, OuterSum

from .layer_models import MODELS, B, TiedLanguage, build, oracle, record_of
from .tolerances import OF_DTYPE, assert_close

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
SOME = ["MLP", "Linear, T = 7", "Linear, T = 2, wide", "Conv2d, groups", "tied", "attention"]


def flat(rows):
    return torch.cat([g.flatten(1) for g in rows.values()], 1)


@pytest.mark.parametrize("name", MODELS)
def test_products_are_those_of_the_rows_of_the_loop(name):
    model, x = build(name)
    rows = flat(oracle(model, x))
    gram = record_of(model, x).gram()
    assert_close(gram, rows @ rows.T)
    assert_close(gram.diagonal(), record_of(model, x).squared_norms())


@pytest.mark.parametrize("dtype", OF_DTYPE)
@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("name", SOME)
def test_another_batch_may_have_another_size(name, size, dtype):
    (model, x), (_, other) = build(name, dtype), build(name, dtype, size=size, seed=1)
    rows, more = flat(oracle(model, x)), flat(oracle(model, other))
    record, second = record_of(model, x), record_of(model, other)
    assert record.gram(second).shape == (B, size)
    assert_close(record.gram(second), rows @ more.T, 4 * OF_DTYPE[dtype])
    assert_close(second.gram(record), more @ rows.T, 4 * OF_DTYPE[dtype])


@pytest.mark.parametrize("name", SOME)
def test_nothing_is_divided_by_the_batch_whatever_the_loss_does_with_it(name):
    (model, x), (_, other) = build(name), build(name, size=3, seed=1)
    rows, more = flat(oracle(model, x)), flat(oracle(model, other))
    mean, summed = record_of(model, x, "mean"), record_of(model, other, "sum")
    assert_close(mean.gram(), rows @ rows.T)
    assert_close(mean.gram(summed), rows @ more.T)
    assert_close(summed.gram(mean), more @ rows.T)


@pytest.mark.parametrize("scratch", [1, 2000])
@pytest.mark.parametrize("name", SOME)
def test_a_small_work_buffer_changes_no_product(name, scratch, monkeypatch):
    (model, x), (_, other) = build(name), build(name, size=3, seed=1)
    rows, more = flat(oracle(model, x)), flat(oracle(model, other))
    monkeypatch.setattr(buffers, "SCRATCH", scratch)
    assert_close(record_of(model, x).gram(record_of(model, other)), rows @ more.T)


@pytest.mark.parametrize("T", [1, 2, 40])
@pytest.mark.parametrize("S", [1, 3, 40])
def test_sequences_of_two_lengths(T, S):
    model = nn.Linear(12, 10).double()
    x, other = torch.randn(B, T, 12).double(), torch.randn(4, S, 12).double()
    rows, more = flat(oracle(model, x)), flat(oracle(model, other))
    assert_close(record_of(model, x).gram(record_of(model, other)), rows @ more.T)


def test_pairs_of_positions_where_that_is_cheaper_and_rows_where_they_are():
    sequence = lambda T: OuterSum(torch.randn(B, T, 16), torch.randn(B, T, 20))  # noqa: E731
    assert sequence(2).products(sequence(3)) is not None
    assert sequence(40).products(sequence(40)) is None
    assert sequence(2).products(Outer(torch.randn(B, 16), torch.randn(B, 20))) is None


def test_no_row_is_formed_of_a_weight_used_once_or_at_few_positions(monkeypatch):
    def refused(*_):
        raise AssertionError("a row was formed")

    for name in ("MLP", "Linear, T = 2, wide"):
        record = record_of(*build(name))
        with monkeypatch.context() as patch:
            for form in (Outer, OuterSum):
                patch.setattr(form, "rows", refused)
            record.gram()


def test_a_tied_table_that_is_looked_up_twice():
    model = TiedLanguage().double()
    x = torch.tensor([[1, 2, 3], [2, 2, 0], [3, 1, 5]])
    rows = flat(oracle(model, x))
    assert_close(record_of(model, x).gram(), rows @ rows.T)


def test_frozen_parameters_are_no_part_of_the_products():
    model, x = build("MLP")
    whole = record_of(model, x).gram()
    model[0].requires_grad_(False)
    rows = flat({k: g for k, g in oracle(model, x).items() if not k.startswith("0.")})
    part = record_of(model, x).gram()
    assert_close(part, rows @ rows.T)
    assert not torch.allclose(part, whole)


def test_records_before_and_after_a_parameter_was_frozen_do_not_fit():
    model, x = build("MLP")
    before = record_of(model, x)
    model[0].requires_grad_(False)
    with pytest.raises(ValueError, match="gram: the two records have different parameters"):
        before.gram(record_of(model, x))


def test_records_of_two_types_do_not_fit():
    records = [record_of(*build("MLP", dtype)) for dtype in OF_DTYPE]
    for one, other in (records, records[::-1]):
        with pytest.raises(ValueError, match="gram: the two records .* same trained parameters"):
            one.gram(other)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(4,), (2, 4)])
def test_products_of_16_bit_parameters_are_float32(dtype, shape):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).to(dtype)
    x = torch.randn(B, *shape).to(dtype)
    record = record_of(model, x)
    rows = flat({name: g.float() for name, g in record.rows().items()})
    gram = record.gram()
    assert gram.dtype == torch.float32
    assert_close(gram / gram.diagonal().max(), rows @ rows.T / gram.diagonal().max(), 2e-2)


def test_products_too_large_for_16_bits():
    torch.manual_seed(0)
    model, x = nn.Linear(4, 3).half(), 200 * torch.randn(B, 4).half()
    record = record_of(model, x)
    rows = flat({name: g.float() for name, g in record.rows().items()})
    assert rows.square().sum(1).max() > torch.finfo(torch.float16).max
    assert_close(record.gram() / 1e5, rows @ rows.T / 1e5, 2e-2)


def test_products_along_a_path_are_of_the_parameters_of_each_pass():
    """TracIn takes products of the same samples at several steps; a record keeps its own."""
    model, x = build("MLP")
    first = record_of(model, x)
    rows = flat(oracle(model, x))
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1
    later = flat(oracle(model, x))
    second = record_of(model, x)
    assert_close(first.gram(second), rows @ later.T)


def test_parameters_of_two_types():
    torch.manual_seed(0)

    class Widened(nn.Module):
        def forward(self, x):
            return x.double()

    model = nn.Sequential(nn.Linear(4, 6), Widened(), nn.Linear(6, 3).double())
    record = record_of(model, torch.randn(B, 4))
    rows = flat({name: g.double() for name, g in record.rows().items()})
    assert record.gram().dtype == torch.float64
    assert_close(record.gram(), rows @ rows.T, OF_DTYPE["float32"])


def test_reading_the_products_twice_gives_them_twice():
    record = record_of(*build("MLP"))
    first = record.gram()
    kept = first.clone()
    assert torch.equal(record.gram(), kept)
    assert torch.equal(first, kept)
