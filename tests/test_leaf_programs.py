"""What the chapter on leaf tensors stands on: digits, one-line programs, figures."""

import numpy as np
import pytest
import torch

from persample import tape
from persample.book import plotting
from persample.book.leaf_programs import LINES, REASONS, answer
from persample.book.plotting.leaves import STATES, state
from persample.book.problems import digits


def test_digits_are_ten_different_shapes_inside_the_image():
    assert digits.SHAPES.shape == (10, 7, 5)
    assert len({shape.tobytes() for shape in digits.SHAPES}) == 10
    drawn, labels = digits.images(np.random.default_rng(0), 200, noise=0.0)
    assert set(labels) == set(range(10))
    ink = digits.SHAPES.sum((1, 2))[labels]
    np.testing.assert_array_equal(drawn.sum((1, 2)), ink)


def test_digits_depend_on_the_generator_only():
    first, second = (digits.images(np.random.default_rng(3), 4) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


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


@pytest.mark.parametrize("library", [torch, tape])
def test_states_have_a_style(library):
    data, parameter = library.tensor([1.0]), library.tensor([1.0], requires_grad=True)
    result, kept = parameter * 2.0, parameter * 2.0
    kept.retain_grad()
    assert [state(t) for t in (data, parameter, result, kept)] == list(STATES)


def test_a_graph_of_tensors_names_them_and_their_gradients():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * 3.0).sum()
    loss.backward()
    figure = plotting.tensor_graph({"x": x, "loss": loss}, ["x loss"], {"loss": "x"})
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"x", "loss", "[1, 2]", "9", ".grad [3, 3]", ".grad None"} <= texts


def test_the_other_figures_are_drawn():
    assert plotting.leaf_states().axes
    assert plotting.why_none().axes
    ones = np.ones((2, 3, 3))
    assert len(plotting.attack(ones, ones, ones, "ab", "cd").axes) == 6
    assert plotting.stacked({"a": {"p": 1.0, "q": 2.0}, "b": {"p": 1.0}}, "MB").axes
