"""`Record.gram`, of one batch and between two, against the rows of a loop."""

import pytest
import torch
from torch import nn

from persample.recorder import buffers
from persample.recorder.forms import Outer, OuterSum
from support.layer_models import SOME, B, build, flat, oracle, record_of
from support.tolerances import OF_DTYPE, assert_close


@pytest.mark.parametrize(
    ("dtype", "size", "scratch"), [("float32", 1, 2**20), ("float64", 3, 1), ("float64", 8, 2000)]
)
@pytest.mark.parametrize("name", SOME)
def test_another_batch_may_have_another_size(name, size, dtype, scratch, monkeypatch):
    """Check that no product depends on the size of the batch."""
    monkeypatch.setattr(buffers, "SCRATCH", scratch)
    (model, x), (_, other) = build(name, dtype), build(name, dtype, size=size, seed=1)
    rows, more = flat(oracle(model, x)), flat(oracle(model, other))
    record, second = record_of(model, x), record_of(model, other)
    assert record.gram(second).shape == (B, size)
    assert_close(record.gram(second), rows @ more.T, 4 * OF_DTYPE[dtype])
    assert_close(second.gram(record), more @ rows.T, 4 * OF_DTYPE[dtype])
    assert_close(record.gram(), rows @ rows.T, 4 * OF_DTYPE[dtype])
    assert torch.equal(record.gram(), record.gram())


@pytest.mark.parametrize(("T", "S"), [(1, 3), (2, 40), (40, 1), (40, 40)])
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
    for name in ("MLP", "Linear, T = 2, wide"):
        record = record_of(*build(name))
        with monkeypatch.context() as patch:
            for form in (Outer, OuterSum):
                patch.setattr(form, "rows", None)
            record.gram()


def test_records_of_two_types_do_not_fit():
    records = [record_of(*build("MLP", dtype)) for dtype in OF_DTYPE]
    for one, other in (records, records[::-1]):
        with pytest.raises(ValueError, match="gram: the two records .* same trained parameters"):
            one.gram(other)


def test_products_along_a_path_are_of_the_parameters_of_each_pass():
    """Take products between records from before and after a step, as TracIn does."""
    model, x = build("MLP")
    first, rows = record_of(model, x), flat(oracle(model, x))
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1
    assert_close(first.gram(record_of(model, x)), rows @ flat(oracle(model, x)).T)
