"""What becomes of each equation of a graph: shown on the engine's page."""

import numpy as np

import persample as ps
from persample import engine
from persample_book import diagrams


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
