"""Where to cut the graph: for each parameter the operations at which samples are told apart.

From a parameter upwards, towards the loss, the first operation on every path whose cotangent is
proved is a *site*. What the site passes on to the parameter for sample i is sample i's row,
whatever lies below or above: rows from any such cut are exact.
"""

from dataclasses import dataclass
from typing import NamedTuple

from .along import OneSample
from .axes import AXES
from .buffers import wide
from .forms import Formed
from .graph import Graph
from .paths import STEPS, Path, path
from .rules import RULES, Rule, Use, rule_of


class Site(NamedTuple):
    """One input of one operation, through which a parameter reaches the losses."""

    place: int  # the operation
    slot: int  # which of its inputs
    path: Path  # from there to the parameter
    use: Use
    rule: Rule  # that of the table


class Stop(NamedTuple):
    """Why a parameter's rows are worked out sample by sample."""

    where: str  # the names of the operations
    reason: str


@dataclass(frozen=True)
class Cut:
    """Parameter -> its sites, or the places from which autograd runs again for each sample.

    ``stops`` says why a replayed parameter has no sites. A batch of one sample is cut at the
    parameters, ``leaves``.
    """

    edges: list[tuple[int, int]]  # (place, output): the cotangents that are wanted
    leaves: dict[str, int]
    sites: dict[str, list[Site]]
    replayed: dict[str, frozenset[int]]
    stops: dict[str, Stop]

    @property
    def keeps_graph(self) -> bool:
        """Say whether rows need autograd a second time."""
        sites = [site for sites in self.sites.values() for site in sites]
        return bool(self.replayed) or any(
            site.path.pulled or site.rule.calls_node for site in sites
        )


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
        replayed[name] = _replay_starts(graph, {place for place, _ in edges}, is_hooked)
        lacking = [edge for edge, site in zip(edges, found, strict=True) if site is None]
        stops[name] = _stop(graph, lacking, leaf, is_hooked)
    places = {site.place for uses in sites.values() for site in uses}.union(*replayed.values())
    return Cut([(p, n) for p in places for n in graph.layouts[p]], {}, sites, replayed, stops)


def _edges(graph, leaf):
    """Return the (place, slot) of the first proved operations above a leaf."""
    edges, seen, waiting = [], {leaf}, [leaf]
    while waiting:
        for above, slot in graph.uses[waiting.pop()]:
            if graph.is_proved(above) and not _only_moves(graph, above):
                edges.append((above, slot))
            elif above not in seen:
                seen.add(above)
                waiting.append(above)
    return edges


def _stop(graph, lacking, leaf, is_hooked):
    """Say at which operations there is no site, and what is missing at the first."""
    names = {graph.names[place].rpartition("::")[2] for place, _ in lacking}
    if is_hooked:
        return Stop("a hook", "a cotangent may be changed")
    place, slot = lacking[0]
    is_one_sample = isinstance(graph.agreed(place), OneSample)
    if graph.kinds[place] not in AXES and not is_one_sample:
        reason = "it is not known how the samples lie"
    elif is_one_sample or path(graph, graph.targets[place][slot], leaf, Formed).pulled is None:
        reason = "there is no closed form of the rows"
    else:
        reason = "samples are mixed, or moved in a way that is not known"
    return Stop(", ".join(sorted(names)), reason)


def _only_moves(graph, place):
    """Say whether one sample's own use moves a parameter's numbers here, and uses them above."""
    kind = graph.kinds[place]
    return kind in STEPS and kind not in RULES and isinstance(graph.agreed(place), OneSample)


def _replay_starts(graph, places, is_hooked):
    """Return where autograd runs again: at these operations, or, if one leads to another or a
    hook may hide on the way, further up: where samples begin to be apart, or at the losses.
    """
    if is_hooked:
        return frozenset({0})  # the losses
    if _none_leads_to_another(graph, places):
        return frozenset(places)
    if all(isinstance(graph.agreed(place), OneSample) for place in places):
        own = [isinstance(graph.agreed(place), OneSample) for place in range(len(graph.nodes))]
        tops = {
            place
            for place, users in enumerate(graph.uses)
            if own[place] and not all(own[above] for above, _ in users)
        }
        if _none_leads_to_another(graph, tops):
            return frozenset(tops)
    return frozenset({0})


def _none_leads_to_another(graph, places):
    """Say whether no operation is below another."""
    return not any(places & (graph.reach(place) - {place}) for place in places)


def _site(graph, place, slot, leaf):
    """Return the site of an input of an operation; None where the table has no form for it."""
    node, along, target = graph.nodes[place], graph.agreed(place), graph.targets[place][slot]
    rule = rule_of(graph.names[place], graph.kinds[place], slot)
    if rule is None or along is None:
        return None
    if rule.prepare is None and list(graph.layouts[place]) != [0]:
        return None
    if any(x.dtype.is_complex for x in node._input_metadata):
        return None
    dtype = wide(graph.nodes[leaf]._input_metadata[0].dtype)
    size = 1 if isinstance(along, OneSample) else graph.size
    use = Use(along, size, graph.shape(*target), dtype)
    if not rule.fits(use, graph.shape(place)) or rule.unless(node):
        return None
    return Site(place, slot, path(graph, target, leaf, rule.gives), use, rule)
