"""What the chapter on leaf tensors stands on: one-line programs."""

import pytest
import torch

from persample import tape
from persample_book.leaf_programs import LINES, REASONS, answer


@pytest.fixture
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(("program", "observed"), LINES)
def test_a_line_differs_where_there_is_a_reason_and_only_there(program, observed):
    theirs, ours = (answer(program, observed, library) for library in (torch, tape))
    assert (theirs != ours) == (program in REASONS), (theirs, ours)


def test_every_reason_belongs_to_a_line():
    assert set(REASONS) <= {program for program, _ in LINES}
