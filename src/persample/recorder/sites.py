"""Cut the graph: choose, for each parameter, the operations whose cotangents give its rows.

A *site* is the first operation on a path from the parameter towards the loss whose cotangent has
a known sample axis. The gradient that a site passes to the parameter from sample i's part of its
cotangent is part of row i; the row is the sum over the parameter's sites. This is exact wherever
the cut lies.
"""

from dataclasses import dataclass
from typing import NamedTuple

from .axes import AXES
from .buffers import wide
from .forms import Formed
from .graph import Graph
from .layouts import OneSample
from .paths import STEPS, Path, path
from .rules import RULES, Argument, Rule, rule_of

LOSSES = 0  # the losses' node index


class Site(NamedTuple):
    """One input of one operation, through which a parameter reaches the losses."""

    node_index: int  # of the operation, in `Graph.nodes`
    input_index: int
    path: Path  # from this input to the parameter
    arg: Argument
    rule: Rule


class Stop(NamedTuple):
    """The reason why a parameter has no closed form, so that its rows are replayed."""

    where: str  # names of the operations
    reason: str


@dataclass(frozen=True)
class Cut:
    """For each parameter its sites, or the nodes from which autograd is replayed.

    ``stops`` has the reason for each replayed parameter. A batch of one sample needs neither: its
    row is the gradient at the leaf, and ``leaves`` has the parameters' nodes.
    """

    edges: list[tuple[int, int]]  # (node index, output index) of the cotangents to compute
    leaves: dict[str, int]
    sites: dict[str, list[Site]]
    replayed: dict[str, frozenset[int]]  # parameter -> nodes to start from
    stops: dict[str, Stop]

    @property
    def keeps_graph(self) -> bool:
        """Return whether rows need another run of autograd after the recorded pass."""
        sites = [site for sites in self.sites.values() for site in sites]
        return bool(self.replayed) or any(
            site.path.pulled or site.rule.calls_node for site in sites
        )


def cut(graph: Graph, is_hooked: bool) -> Cut:
    """Return the cut of a graph; if hooks may change cotangents, the cut is at the losses."""
    if graph.size == 1:
        return Cut([(leaf, 0) for leaf in graph.leaves.values()], graph.leaves, {}, {}, {})
    if is_hooked:
        replayed = dict.fromkeys(graph.leaves, frozenset({LOSSES}))
        stops = dict.fromkeys(graph.leaves, Stop("a hook", "a cotangent may be changed"))
        return Cut([(LOSSES, n) for n in graph.layouts[LOSSES]], {}, {}, replayed, stops)
    sites, replayed, stops = {}, {}, {}
    for name, leaf in graph.leaves.items():
        edges = _edges(graph, leaf)
        found = [_site(graph, *edge, leaf) for edge in edges]
        if None not in found:
            sites[name] = found
            continue
        replayed[name] = _replay_starts(graph, {index for index, _ in edges})
        lacking = [edge for edge, site in zip(edges, found, strict=True) if site is None]
        stops[name] = _stop(graph, lacking, leaf)
    wanted = {site.node_index for each in sites.values() for site in each}
    wanted = wanted.union(*replayed.values())
    edges = [(index, n) for index in wanted for n in graph.layouts[index]]
    return Cut(edges, {}, sites, replayed, stops)


def _edges(graph, leaf):
    """Return (node index, input index) of the first proved operations above a leaf."""
    edges, seen, waiting = [], {leaf}, [leaf]
    while waiting:
        for above, input_index in graph.users[waiting.pop()]:
            if graph.is_proved(above) and not _only_moves(graph, above):
                edges.append((above, input_index))
            elif above not in seen:
                seen.add(above)
                waiting.append(above)
    return edges


def _stop(graph, lacking, leaf):
    """Return a `Stop`: the operations without a site, and the reason at the first of them."""
    names = {graph.names[index].rpartition("::")[2] for index, _ in lacking}
    index, input_index = lacking[0]
    is_one_sample, target = graph.is_of_one_sample(index), graph.targets[index][input_index]
    if graph.kinds[index] not in AXES and not is_one_sample:
        reason = "it is not known how the samples lie"
    elif is_one_sample or path(graph, target, leaf, Formed).pulled is None:
        reason = "there is no closed form of the rows"
    else:
        reason = "samples are mixed, or moved in a way that is not known"
    return Stop(", ".join(sorted(names)), reason)


def _only_moves(graph, index):
    """Return whether a node of one sample's graph only moves a parameter's entries."""
    kind = graph.kinds[index]
    return kind in STEPS and kind not in RULES and graph.is_of_one_sample(index)


def _replay_starts(graph, indices):
    """Return the indices of the nodes at which a replay starts, none reachable from another.

    They are ``indices`` if none of them leads to another; else the tops of the samples' separate
    subgraphs; else the losses.
    """
    if _none_leads_to_another(graph, indices):
        return frozenset(indices)
    own = [graph.is_of_one_sample(index) for index in range(len(graph.nodes))]
    if all(own[index] for index in indices):
        tops = {
            index
            for index, users in enumerate(graph.users)
            if own[index] and not all(own[above] for above, _ in users)
        }
        if _none_leads_to_another(graph, tops):
            return frozenset(tops)
    return frozenset({LOSSES})


def _none_leads_to_another(graph, indices):
    """Return whether none of these nodes can be reached from another."""
    return not any(indices & (graph.reach(index) - {index}) for index in indices)


def _site(graph, index, input_index, leaf):
    """Return the site at an input of a node; None where `RULES` has no rule that applies."""
    target, layout = graph.targets[index][input_index], graph.common_layout(index)
    rule = rule_of(graph.names[index], graph.kinds[index], input_index)
    if rule is None or layout is None:
        return None
    if any(dtype.is_complex for dtype in graph.dtypes[index]):
        return None
    (dtype,) = map(wide, graph.dtypes[leaf])
    size = 1 if isinstance(layout, OneSample) else graph.size
    shapes = graph.shape(*target), graph.shape(index)
    arg = Argument(graph.nodes[index], input_index, layout, size, *shapes, dtype)
    if not rule.fits(arg):
        return None
    return Site(index, input_index, path(graph, target, leaf, rule.returns), arg, rule)
