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
def test_every_reader_finds_the_same_three_operations_in_a_chain_and_draws_them(name):
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
    texts = plotting.graph(diagram).axes[0].texts
    assert {v.name for v in diagram.vertices} <= {t.get_text().replace("\n", "") for t in texts}


FLOWS = {
    "tape": {
        ("v1", "add"): ("[1, 1]", "[2, 2]"),
        ("v2", "add"): ("[2, 2]", None),
        ("add", "multiply"): ("[3, 3]", "[2, 2]"),
        ("multiply", "sum"): ("[6, 6]", "[1, 1]"),
        ("sum", "result"): ("12", "1"),
    },
    "grad_fn": {
        ("v1", "AddBackward0"): (None, ""),
        ("None", "AddBackward0"): (None, None),
        ("2", "MulBackward0"): (None, None),
        ("MulBackward0", "SumBackward0"): (None, ""),
    },
    "jaxpr": {("v1", "add"): ("f64[2]", None), ("mul", "reduce_sum"): ("f64[2]", None)},
}


@pytest.mark.parametrize("name", READERS)
def test_edges_carry_values_cotangents_and_types(name):
    diagram = READERS[name]()
    for (source, target), wanted in FLOWS[name].items():
        ((forward, backward),) = flows(diagram, source, target)
        if name == "jaxpr" and not jax.config.jax_enable_x64:
            forward = forward.replace("32", "64")
        assert (forward, backward) == wanted, (source, target)


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


def test_the_fates_of_equations_are_what_each_pass_takes():
    """Another route to the same numbers: lengths before and after a pass."""
    rows = engine.vmap(engine.grad(ps.squared_loss), in_axes=(None, 0, 0))
    graph = engine.make_graph(rows)(np.arange(3.0), np.arange(12.0).reshape(4, 3), np.arange(4.0))
    fates = [fate for _, fate in diagrams.fates(graph)]
    assert len(fates) == len(graph.equations)
    assert fates.count("") == len(engine.optimise(graph).equations)
    for name, run in engine.PASSES.items():
        smaller = run(graph)
        gone = len(graph.equations) - len(smaller.equations)
        assert fates.count(f"{name.replace('_', ' ')}, round 1") == gone
        graph = smaller
