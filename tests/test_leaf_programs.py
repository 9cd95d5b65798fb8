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
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "filled: gets a .grad"


def test_derivatives_are_written_at_their_arrows():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * 3.0).sum()
    sent = {("loss", "x"): "[3, 3]"}
    figure = plotting.tensor_graph(
        {"x": x, "loss": loss}, ["x loss"], {"loss": "x"}, cotangents=sent
    )
    (text,) = [text for text in figure.axes[0].texts if text.get_text() == "[3, 3]"]
    assert 0 < text.get_position()[0] < 1.7  # between the boxes


def test_a_shared_leaf_shows_the_sum_and_copies_show_the_rows():
    figure = plotting.shared_and_copies([1, -1], [[-1, -2], [6, 0], [-2, -2]])
    shared, copies = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    assert ".grad [3, -4]" in shared
    assert [text for text in copies if text.startswith(".grad")] == [
        ".grad [-1, -2]",
        ".grad [6, 0]",
        ".grad [-2, -2]",
    ]
    assert sum(text == "[6, 0]" for text in shared + copies) == 2
    assert [len(axes.patches) for axes in figure.axes] == [1 + 3, 1 + 3]  # one leaf, three losses


def test_no_arrow_runs_through_what_it_carries():
    figure = plotting.shared_and_copies([1, -1], [[-1, -2], [6, 0], [-2, -2]])
    figure.draw_without_rendering()
    for axes in figure.axes:
        arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
        labels = [text for text in axes.texts if text.get_color() == BACKWARD]
        assert (len(arrows), len(labels)) == (3, 3)
        for arrow in arrows:
            ends = np.array([arrow.xyann, arrow.xy])
            points = axes.transData.transform(np.linspace(*ends, 200))
            for label in labels:
                frame = label.get_window_extent()
                assert not any(frame.contains(*point) for point in points), label.get_text()


def test_what_an_arrow_carries_stands_nearest_to_it():
    figure = plotting.shared_and_copies([1, -1], [[-1, -2], [6, 0], [-2, -2]])
    figure.draw_without_rendering()
    for axes in figure.axes:
        arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
        ends = [np.array([arrow.xyann, arrow.xy]) for arrow in arrows]
        labels = [text for text in axes.texts if text.get_color() == BACKWARD]
        for number, label in enumerate(labels):
            frame = label.get_window_extent()
            middle = np.array([frame.x0 + frame.x1, frame.y0 + frame.y1]) / 2
            away = [
                np.linalg.norm(axes.transData.transform(np.linspace(*e, 200)) - middle, axis=1)
                for e in ends
            ]
            assert np.argmin([distances.min() for distances in away]) == number


def test_an_attack_draws_image_change_and_sum():
    images, gradients = np.zeros((2, 3, 3)), np.ones((2, 3, 3))
    gradients[1] *= -7.0
    panels = plotting.attack(images, gradients, 0.5, "ab", "cd").axes
    drawn = [float(axes.images[0].get_array()[0, 0]) for axes in panels]
    assert drawn == [0, 0.5, 0.5, 0, -0.5, -0.5]


def test_amounts_are_bars_from_zero_with_their_numbers():
    figure = plotting.amounts({"a": 26.4, "b": 157.0}, "MB", outlined=["b"])
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [26.4, 157.0]
    assert [text.get_text().strip() for text in axes.texts] == ["26", "157"]
    assert [bar.get_facecolor()[3] for bar in axes.patches] == [1.0, 0.0]


def test_every_question_has_its_reason_and_its_cure():
    texts = [t.get_text() for t in plotting.why_none().axes[0].texts if t.get_text()]
    for number, (question, reason, cure) in enumerate(WHY_NONE, 1):
        at = texts.index(f"{number}. {question}")
        assert texts[at + 1 : at + 4] == ["yes", f"no: {reason}", f"→ {cure}"]
    assert len(texts) == 4 * len(WHY_NONE) + 1


def test_a_running_total_of_tensors_is_a_chain_and_one_of_numbers_is_not():
    chain, numbers = plotting.running_total(3, saved=4_000).axes
    arrows = [sum(t.arrow_patch is not None for t in axes.texts if hasattr(t, "arrow_patch"))
              for axes in (chain, numbers)]  # fmt: skip
    assert arrows == [
        3 + 3 + 2,
        0,
    ]  # each total keeps its loss, with its graph, and the one before
    dashed = [[box.get_linestyle() == "--" for box in axes.patches] for axes in (chain, numbers)]
    assert dashed == [9 * [False], 6 * [True] + [False, True, True]]  # the last total stays
    assert chain.get_title(loc="left") == "total += loss: 3 graphs, 12,000 B"
    assert [t.get_text() for t in chain.texts].count("graph:\n4,000 B") == 3
