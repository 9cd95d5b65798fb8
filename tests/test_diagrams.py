"""Graphs read from running code: shapes, values and cotangents are those of the frameworks."""

import jax
import numpy as np
import pytest
import torch

import persample as ps
from persample import engine, tape
from persample_book import diagrams, plotting
from persample_book.diagrams import CONSTANT, INPUT, LEAF, OUTPUT, VALUE

ARRAYS = np.array([1.0, 1.0]), np.array([2.0, 2.0])


def total(v1, v2):
    xp = ps.array_namespace(v1)
    return xp.sum((v1 + v2) * 2)


def recorded():
    v1 = tape.tensor(ARRAYS[0], requires_grad=True)
    v2 = tape.tensor(ARRAYS[1])
    return diagrams.of_tape(total(v1, v2), v1=v1, v2=v2)


def chain():
    v1 = torch.tensor([1.0, 1.0], requires_grad=True)
    return diagrams.of_grad_fn(total(v1, torch.tensor([2.0, 2.0])), v1=v1)


READERS = {
    "tape": recorded,
    "grad_fn": chain,
    "jaxpr": lambda: diagrams.of_jaxpr(jax.make_jaxpr(total)(*ARRAYS), "v1", "v2"),
}


def flows(diagram, source, target):
    names = [vertex.name for vertex in diagram.vertices]
    return [
        (edge.forward, edge.backward)
        for edge in diagram.edges
        if (names[edge.source], names[edge.target]) == (source, target)
    ]


@pytest.mark.parametrize("name", READERS)
def test_every_reader_finds_the_same_three_operations_in_a_chain(name):
    diagram = READERS[name]()
    assert diagram.operations == 3
    kinds = [vertex.kind for vertex in diagram.vertices]
    # v2 requires no gradient: an input, which PyTorch's chain does not keep
    assert kinds.count(LEAF) == (0 if name == "jaxpr" else 1)
    assert kinds.count(INPUT) == {"tape": 1, "grad_fn": 0, "jaxpr": 2}[name]
    assert kinds.count(CONSTANT) == 3 - kinds.count(LEAF) - kinds.count(INPUT)
    assert kinds.count(OUTPUT) == 1
    depths = diagram.depths()
    chained = [d for d, kind in zip(depths, kinds, strict=True) if kind in (VALUE, OUTPUT)]
    assert sorted(chained) == [1, 2, 3, 4]
    assert all(depths[edge.source] < depths[edge.target] for edge in diagram.edges)


def test_the_tape_has_values_and_cotangents():
    diagram = recorded()
    assert flows(diagram, "v1", "add") == [("[1, 1]", "[2, 2]")]
    assert flows(diagram, "v2", "add") == [("[2, 2]", None)]
    assert flows(diagram, "add", "multiply") == [("[3, 3]", "[2, 2]")]
    assert flows(diagram, "multiply", "sum") == [("[6, 6]", "[1, 1]")]
    assert flows(diagram, "sum", "result") == [("12", "1")]


def test_the_grad_fn_chain_holds_the_way_back_and_what_it_saved():
    diagram = chain()
    assert flows(diagram, "v1", "AddBackward0") == [(None, "")]
    assert flows(diagram, "None", "AddBackward0") == [(None, None)]
    assert flows(diagram, "2", "MulBackward0") == [(None, None)]
    assert flows(diagram, "MulBackward0", "SumBackward0") == [(None, "")]
    assert {edge.forward for edge in diagram.edges} == {None}


def test_a_jaxpr_has_types_only():
    diagram = READERS["jaxpr"]()
    bits = 64 if jax.config.jax_enable_x64 else 32
    assert {edge.forward for edge in diagram.edges} == {f"f{bits}[2]", f"f{bits}[]", ""}
    assert {edge.backward for edge in diagram.edges} == {None}


def test_reading_changes_no_gradient_and_leaves_the_graph_usable():
    v1 = tape.tensor(ARRAYS[0], requires_grad=True)
    t1 = torch.tensor([1.0, 1.0], requires_grad=True)
    ours, theirs = (v1 * v1).sum(), (t1 * t1).sum()
    diagrams.of_tape(ours, v1=v1)
    diagrams.of_grad_fn(theirs, v1=t1)
    assert v1.grad is None
    assert t1.grad is None
    ours.backward()
    theirs.backward()
    assert v1.grad.data.tolist() == t1.grad.tolist() == [2.0, 2.0]


def test_two_edges_of_one_value_carry_two_cotangents_that_add_up():
    v1 = tape.tensor(ARRAYS[0], requires_grad=True)
    v2 = tape.tensor(ARRAYS[1])
    diagram = diagrams.of_tape(((v1 + v2) * v1).sum(), v1=v1, v2=v2)
    assert flows(diagram, "v1", "add") == [("[1, 1]", "[1, 1]")]
    assert flows(diagram, "v1", "multiply") == [("[1, 1]", "[3, 3]")]


@pytest.mark.parametrize("name", READERS)
def test_each_graph_can_be_drawn(name):
    diagram = READERS[name]()
    figure = plotting.graph(diagram)
    drawn = [text.get_text().replace("\n", "") for text in figure.axes[0].texts]
    assert {vertex.name for vertex in diagram.vertices} <= set(drawn)


@pytest.mark.parametrize("name", READERS)
def test_a_constant_stands_below_the_operation_that_reads_it(name):
    diagram = READERS[name]()
    texts = plotting.graph(diagram).axes[0].texts
    at = {text.get_text().replace("\n", ""): text.get_position() for text in texts}
    names = [vertex.name for vertex in diagram.vertices]
    edges = [(diagram.vertices[edge.source], edge.target) for edge in diagram.edges]
    constants = [(vertex.name, names[end]) for vertex, end in edges if vertex.kind == CONSTANT]
    assert constants
    for constant, reader in constants:
        assert at[constant][0] == at[reader][0]
        assert at[constant][1] > at[reader][1]  # the axis points down


def test_a_second_constant_of_one_operation_stands_in_a_column_before_it():
    vertices = [diagrams.Vertex(*v) for v in (("1", CONSTANT), ("2", CONSTANT), ("add", VALUE))]
    both = diagrams.Diagram(tuple(vertices), (diagrams.Edge(0, 2, ""), diagrams.Edge(1, 2, "")))
    texts = plotting.graph(both).axes[0].texts
    at = {text.get_text(): text.get_position() for text in texts if text.get_text()}
    assert at["1"][0] == at["add"][0] > at["2"][0]


def test_graphs_below_each_other_carry_their_titles():
    figure = plotting.graphs({"one": READERS["tape"](), "two": READERS["jaxpr"]()})
    assert {"one", "two"} <= {text.get_text() for text in figure.axes[0].texts}


def test_the_lines_of_the_break_even_cross_at_the_marked_call():
    costs = {"jax": {"title": "JAX", "first": 11.0, "later": 0.5, "break_even": 21}}
    without, compiled, mark = plotting.break_even(costs).axes[0].lines
    assert compiled.get_ydata()[0] == 11.0
    slope = np.diff(compiled.get_ydata()) / np.diff(compiled.get_xdata())
    assert slope == 0.5
    assert np.all(without.get_xdata() == without.get_ydata())
    assert mark.get_ydata() == np.interp(21, compiled.get_xdata(), compiled.get_ydata()) == 21


def test_a_select_takes_each_value_from_its_own_branch():
    branches = {"square": [4.0, 1.0], "half": [1.0, -0.5]}
    axes = plotting.select([2.0, -1.0], branches, ["square", "half"]).axes[0]
    assert len(axes.patches) == 4
    texts = [text.get_text() for text in axes.texts if text.get_text()]
    assert texts[-4:-1] == ["select", "4", "-0.5"]
    assert "4 values computed, 2 of them" in texts[-1]


def of_the_rows(loss, *batched):
    rows = engine.vmap(engine.grad(loss), in_axes=(None,) + (0,) * len(batched))
    return engine.make_graph(rows)(np.arange(3.0), *batched)


@pytest.mark.parametrize("loss", [ps.squared_loss, ps.logistic_loss])
def test_as_many_equations_survive_as_the_optimiser_leaves(loss):
    graph = of_the_rows(loss, np.arange(12.0).reshape(4, 3), np.arange(4.0))
    fates = diagrams.fates(graph)
    assert [text.split(" = ")[0] for text, _ in fates] == list("abcdefghijklmn"[: len(fates)])
    assert len(fates) == len(graph.equations)
    assert sum(not fate for _, fate in fates) == len(engine.optimise(graph).equations)


def test_the_first_round_of_each_pass_takes_what_the_pass_takes():
    """Another route to the same numbers: lengths before and after a pass."""
    graph = of_the_rows(ps.squared_loss, np.arange(12.0).reshape(4, 3), np.arange(4.0))
    fates = [fate for _, fate in diagrams.fates(graph)]
    for name, run in engine.PASSES.items():
        smaller = run(graph)
        gone = len(graph.equations) - len(smaller.equations)
        assert fates.count(f"{name.replace('_', ' ')}, round 1") == gone
        graph = smaller


def test_equations_without_parameters_or_with_several_inputs_are_texts():
    graph = engine.make_graph(lambda x: ps.array_namespace(x).sum(x, axis=0) * x[0])(
        np.ones((2, 2))
    )
    texts = [text for text, _ in diagrams.fates(graph)]
    assert texts[0] == "a = sum x"
    assert not [text for text in texts if "[" in text or ":" in text]


def test_the_drawn_equations_are_boxed_if_they_stay():
    fates = [("a = exp x", ""), ("b = add a a", "dead code, round 1"), ("c = sum a", "")]
    axes = plotting.equations(fates).axes[0]
    assert len(axes.patches) == 2
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["a = exp x", "stays", "b = add a a", "dead code (1)", "c = sum a", "stays"]


def test_an_operation_passes_the_traces_that_the_figure_names():
    """grad at level 2 above vmap at level 1: what each sees of an operation and leaves behind."""
    tapes = []

    def loss(theta, x, y):
        error = x @ theta - y
        out = 0.5 * error
        tapes.append((error, out, error._trace.tape[-1]))
        return out * error

    x, y = np.array([[1, 1, 2], [0, 3, 1], [2, 1, 0], [1, 1, 1.0]]), np.array([5.0, 1.0, 2.0, 0.0])
    theta = np.array([1.0, 2.0, 0.0])
    engine.vmap(engine.grad(loss), (None, 0, 0))(theta, x, y)
    ((error, out, node),) = tapes
    assert (error._trace.name, error._trace.level, error.shape) == ("grad", 2, ())
    assert (error.value._trace.name, error.value._trace.level, error.value.shape) == (
        "vmap",
        1,
        (),
    )
    assert node.primitive.name == "multiply"
    assert node.out is out.value
    assert out.value.batched
    assert error.value.value.shape == (4,)
    assert out.value.value.tolist() == [-1.0, 2.5, 1.0, 1.5]


def test_each_layer_of_a_stack_is_named_and_reached_by_an_arrow():
    layers = [("loss", "0.5 * x", ""), ("grad", "()", "a node"), ("NumPy", "(4,)", "an array")]
    axes = plotting.stack_of_traces(layers).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert len(axes.patches) == len(layers)
    assert (texts.count("bind"), texts.count("result")) == (2, 2)
    assert {part for layer in layers for part in layer if part} <= set(texts)
