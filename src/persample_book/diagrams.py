"""What each pass of the optimiser does to a graph of the engine, as a chapter shows it."""

import re

from persample.engine.optimise import PASSES
from persample.engine.staging import Graph


def fates(graph: Graph) -> list[tuple[str, str]]:
    """Return each equation as text, and which pass of the optimiser takes its result away.

    The passes run in turn, round after round, as ``optimise`` runs them. The second text is
    empty for a result that is still computed at the end.

    Example
    -------
    >>> import numpy as np
    >>> from persample import engine
    >>> fates(engine.make_graph(lambda x: 1.0 * x + x)(np.ones(2)))
    [('a = multiply 1.0 x', 'identities, round 1'), ('b = add a x', '')]
    """
    lines = str(graph).splitlines()[1:-1]
    short = [re.sub(r"^ *(\w+): \S+ = (\w+)(\[.*\])?", r"\1 = \2", line) for line in lines]
    outputs = [eq.output for eq in graph.equations]
    fate, before, turn = dict.fromkeys(outputs, ""), None, 0
    while graph is not before:
        before, turn = graph, turn + 1
        for name, run in PASSES.items():
            graph = run(graph)
            computed = {eq.output for eq in graph.equations}
            gone = [x for x in outputs if not fate[x] and x not in computed]
            fate.update(dict.fromkeys(gone, f"{name.replace('_', ' ')}, round {turn}"))
    return list(zip(short, fate.values(), strict=True))
