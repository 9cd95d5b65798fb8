"""Where to cut the graph: for each parameter the operations at which samples are told apart.

From a parameter upwards, towards the loss, the first operation on every path whose cotangent is
proved is a *site*. What the site passes on to the parameter for sample i is sample i's row,
whatever lies below or above: rows from any such cut are exact.
"""

from dataclasses import dataclass

from .buffers import wide
from .graph import Graph
from .paths import Path, path
from .rules import RULES, Rule, Use


@dataclass(frozen=True)
class Site:
    """One input of one operation, through which a parameter reaches the losses."""

    place: int  # the operation
    slot: int  # which of its inputs
    path: Path  # from there to the parameter
    use: Use
    rule: Rule  # that of the table


@dataclass(frozen=True)
class Cut:
    """Parameter -> its sites, or the places from which autograd runs again for each sample.

    ``stops`` are the names of the operations for which a replayed parameter has no sites. A
    batch of one sample is cut at the parameters, ``leaves``.
    """

    edges: list[tuple[int, int]]  # (place, output): the cotangents that are wanted
    leaves: dict[str, int]
    sites: dict[str, list[Site]]
    replayed: dict[str, frozenset[int]]
    stops: dict[str, str]

    @property
    def keeps_graph(self) -> bool:
        """Say whether rows need autograd a second time."""
        pulled = any(site.path.pulled for sites in self.sites.values() for site in sites)
        return pulled or bool(self.replayed)


def cut(graph: Graph, is_hooked: bool) -> Cut:
    """Return the cut of a graph; one with hooks that nobody can see is cut at the losses."""
    if graph.size == 1:
        return Cut([(leaf, 0) for leaf in graph.leaves.values()], graph.leaves, {}, {}, {})
    sites, replayed, stops = {}, {}, {}
    for name, leaf in graph.leaves.items():
        edges = _edges(graph, leaf)
        found = [None if is_hooked else _site(graph, *edge, leaf) for edge in edges]
        if None not in found:
            sites[name] = found
            continue
        replayed[name] = _apart(graph, {place for place, _ in edges}, is_hooked)
        lacking = [place for (place, _), site in zip(edges, found, strict=True) if site is None]
        ends = sorted({graph.nodes[place].name().rpartition("::")[2] for place in lacking})
        stops[name] = "a hook" if is_hooked else ", ".join(ends)
    places = {site.place for uses in sites.values() for site in uses}.union(*replayed.values())
    return Cut([(p, n) for p in places for n in graph.along[p]], {}, sites, replayed, stops)


def _edges(graph, leaf):
    """Return the (place, slot) of the first proved operations above a leaf."""
    edges, seen, waiting = [], {leaf}, [leaf]
    while waiting:
        for above, slot in graph.uses[waiting.pop()]:
            if graph.is_proved(above):
                edges.append((above, slot))
            elif above not in seen:
                seen.add(above)
                waiting.append(above)
    return edges


def _apart(graph, places, is_hooked):
    """Return where autograd runs again: at these operations, or, if one leads to another or a
    hook may hide on the way, at the losses.
    """
    reached = (graph.reach(place) - {place} for place in places)
    if is_hooked or any(places & below for below in reached):
        return frozenset({0})  # the losses
    return frozenset(places)


def _site(graph, place, slot, leaf):
    """Return the site of an input of an operation; None where the table has no form for it."""
    node, along, target = graph.nodes[place], graph.agreed(place), graph.targets[place][slot]
    rule = RULES.get(graph.kinds[place], {}).get(slot)
    if rule is None or list(graph.along[place]) != [0] or not node.name().endswith("Backward0"):
        return None
    if any(x.dtype.is_complex for x in node._input_metadata):
        return None
    dtype = wide(graph.nodes[leaf]._input_metadata[0].dtype)
    use = Use(along, graph.size, graph.shape(*target), dtype)
    if not rule.fits(use, graph.shape(place)) or rule.unless(node):
        return None
    return Site(place, slot, path(graph, target, leaf, rule.gives), use, rule)
