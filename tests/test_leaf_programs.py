"""What the chapter on leaf tensors stands on: digits, one-line programs, figures."""

import numpy as np
import pytest
import torch

from persample import tape
from persample_book import plotting
from persample_book.leaf_programs import LINES, REASONS, answer
from persample_book.plotting.leaves import STATES, WHY_NONE, state
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


@pytest.mark.parametrize("library", [torch, tape])
def test_states_have_a_style(library):
    data, parameter = library.tensor([1.0]), library.tensor([1.0], requires_grad=True)
    result, kept = parameter * 2.0, parameter * 2.0
    kept.retain_grad()
    assert [state(t) for t in (data, parameter, result, kept)] == list(STATES)


def test_every_question_has_its_reason_and_its_cure():
    texts = [t.get_text() for t in plotting.why_none().axes[0].texts if t.get_text()]
    for number, (question, reason, cure) in enumerate(WHY_NONE, 1):
        at = texts.index(f"{number}. {question}")
        assert texts[at + 1 : at + 4] == ["yes", f"no: {reason}", f"→ {cure}"]


def test_a_running_total_of_tensors_is_a_chain_and_one_of_numbers_is_not():
    chain, numbers = plotting.running_total(3, saved=4_000).axes
    arrows = [
        sum(getattr(text, "arrow_patch", None) is not None for text in axes.texts)
        for axes in (chain, numbers)
    ]
    # Each total keeps its loss, with its graph, and the one before.
    assert arrows == [3 + 3 + 2, 0]
    dashed = [[box.get_linestyle() == "--" for box in axes.patches] for axes in (chain, numbers)]
    assert dashed == [9 * [False], 6 * [True] + [False, True, True]]  # the last total stays
    assert chain.get_title(loc="left") == "total += loss: 3 graphs, 12,000 B"
