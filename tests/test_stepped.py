"""The graphs of the graph figure: what their boxes say is what the engine computes."""

import numpy as np
import pytest
from tolerances import assert_close

from persample_book.stepped import GRAPHS

EXACT = 1e-12
NAMES = [graph.name for graph in GRAPHS]


def walked(graph, seed):
    """Return the values of all boxes and the derivatives at them, by name, for random leaves."""
    rng = np.random.default_rng(seed)
    leaves = [np.asarray(rng.normal(size=x.shape)) for x in graph.arguments]
    names = [box[0] for box in graph.data()["boxes"]]
    results = graph.walk(*leaves)
    count = len(names) - len(leaves)
    values = dict(zip(names, [*leaves, *results[:count]], strict=True))
    return values, dict(zip(names, results[count:], strict=True))


def evaluated(text, values):
    return eval(text.replace("²", " ** 2"), {"tanh": np.tanh, **values})


@pytest.mark.parametrize("graph", GRAPHS, ids=NAMES)
def test_a_box_says_what_it_computes(graph):
    for seed in range(20):
        values, _ = walked(graph, seed)
        for name, formula, *_ in graph.data()["boxes"][len(graph.leaves) :]:
            assert_close(evaluated(formula, values), values[name], EXACT)
        assert_close(graph.loss(*list(values.values())[: len(graph.leaves)]), values[name], EXACT)


@pytest.mark.parametrize("graph", GRAPHS, ids=NAMES)
def test_the_derivative_of_an_input_is_that_of_the_box_times_the_slope(graph):
    boxes = graph.data()["boxes"]
    for seed in range(20):
        values, derivatives = walked(graph, seed)
        assert derivatives[boxes[-1][0]] == 1
        for name, *_, reads, slopes in boxes:
            for i, slope in zip(reads, slopes, strict=True):
                product = derivatives[name] * evaluated(slope, values)
                expected = np.broadcast_to(product, np.shape(values[boxes[i][0]]))
                assert_close(derivatives[boxes[i][0]], expected, EXACT)


@pytest.mark.parametrize("graph", GRAPHS, ids=NAMES)
def test_a_box_is_read_once_so_that_an_edge_carries_its_whole_derivative(graph):
    boxes = graph.data()["boxes"]
    read = sorted(i for *_, reads, _ in boxes for i in reads)
    assert read == list(range(len(boxes) - 1))


@pytest.mark.parametrize("graph", GRAPHS, ids=NAMES)
def test_boxes_stand_apart_and_are_reached_in_turn(graph):
    boxes, count = graph.data()["boxes"], len(graph.leaves)
    assert len({tuple(box[2]) for box in boxes}) == len(boxes)
    ready, back = [box[3] for box in boxes], [box[4] for box in boxes]
    assert ready == [0] * count + list(range(1, len(boxes) - count + 1))
    assert back[-1] == ready[-1] + 1
    for *_, at, reads, _ in boxes:
        assert len({back[i] for i in reads}) <= 1
        assert all(back[i] > at for i in reads)
    assert sorted({back[i] for i in range(len(boxes))}) == list(range(back[-1], 2 * back[-1]))


def test_a_slope_that_is_wrong_is_found_out(monkeypatch):
    network = GRAPHS[1]
    monkeypatch.setitem(network.results[2].slopes, "z", "(1 + h²)")
    with pytest.raises(AssertionError):
        test_the_derivative_of_an_input_is_that_of_the_box_times_the_slope(network)
