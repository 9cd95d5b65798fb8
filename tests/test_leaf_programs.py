"""What the chapter on leaf tensors stands on: digits and one-line programs."""

import numpy as np
import pytest
import torch

from persample import tape
from persample_book.leaf_programs import LINES, REASONS, answer
from persample_book.problems import digits


def test_digits_are_ten_different_shapes_inside_the_image():
    assert digits.SHAPES.shape == (10, 7, 5)
    assert len({shape.tobytes() for shape in digits.SHAPES}) == 10
    drawn, labels = digits.images(np.random.default_rng(0), 200, noise=0.0)
    assert set(labels) == set(range(10))
    ink = digits.SHAPES.sum((1, 2))[labels]
    np.testing.assert_array_equal(drawn.sum((1, 2)), ink)


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
