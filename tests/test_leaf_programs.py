"""What the chapter on leaf tensors stands on: digits, one-line programs, figures."""

import numpy as np
import pytest
import torch

from persample import tape
from persample_book import plotting
from persample_book.leaf_programs import LINES, REASONS, answer
from persample_book.plotting.graph_drawing import BACKWARD
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


def test_a_graph_of_tensors_names_them_their_gradients_and_derivatives():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * 3.0).sum()
    loss.backward()
    sent = {("loss", "x"): "[3, 3]"}
    figure = plotting.tensor_graph(
        {"x": x, "loss": loss}, ["x loss"], {"loss": "x"}, cotangents=sent
    )
    texts = {text.get_text(): text for text in figure.axes[0].texts}
    assert {"x", "loss", "[1, 2]", "9", ".grad [3, 3]", ".grad None"} <= set(texts)
    assert 0 < texts["[3, 3]"].get_position()[0] < 1.7  # between the boxes


def test_a_shared_leaf_shows_the_sum_and_copies_show_the_rows():
    """What an arrow carries stands nearest to it, and no arrow runs through it."""
    figure = plotting.shared_and_copies([1, -1], [[-1, -2], [6, 0], [-2, -2]])
    figure.draw_without_rendering()
    shared, copies = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    assert ".grad [3, -4]" in shared
    grads = [".grad [-1, -2]", ".grad [6, 0]", ".grad [-2, -2]"]
    assert [text for text in copies if text.startswith(".grad")] == grads
    for axes in figure.axes:
        arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
        labels = [text for text in axes.texts if text.get_color() == BACKWARD]
        assert (len(arrows), len(labels)) == (3, 3)
        ends = [np.array([arrow.xyann, arrow.xy]) for arrow in arrows]
        lines = [axes.transData.transform(np.linspace(*end, 200)) for end in ends]
        for number, label in enumerate(labels):
            frame = label.get_window_extent()
            middle = np.array([frame.x0 + frame.x1, frame.y0 + frame.y1]) / 2
            away = [np.linalg.norm(line - middle, axis=1).min() for line in lines]
            assert np.argmin(away) == number
            assert not any(frame.contains(*point) for line in lines for point in line)


def test_an_attack_draws_image_change_and_sum():
    images, gradients = np.zeros((2, 3, 3)), np.ones((2, 3, 3))
    gradients[1] *= -7.0
    panels = plotting.attack(images, gradients, 0.5, "ab", "cd").axes
    drawn = [float(axes.images[0].get_array()[0, 0]) for axes in panels]
    assert drawn == [0, 0.5, 0.5, 0, -0.5, -0.5]


def test_amounts_are_bars_from_zero_with_their_numbers():
    axes = plotting.amounts({"a": 26.4, "b": 157.0}, "MB", outlined=["b"]).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [26.4, 157.0]
    assert [text.get_text().strip() for text in axes.texts] == ["26", "157"]


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
