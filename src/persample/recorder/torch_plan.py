"""Where to cut the graph: for each parameter the operations at which samples are told apart.

From a parameter upwards, towards the loss, the first operation on every path whose cotangent
belongs to samples one by one is a *site*. What the site passes on to the parameter for sample i is
sample i's row, whatever lies below or above: rows from any such cut are exact.
"""

from dataclasses import dataclass

import torch

from .torch_graph import Graph
from .torch_owners import UNUSED, Along, Owners
from .torch_rules import RULES, Rule, Use

# Operations between a site and the parameter that only move or convert numbers.
CASTS = ("ToCopyBackward0", "AliasBackward0", "CloneBackward0")
VIEWS = (
    "ViewBackward0",
    "UnsafeViewBackward0",
    "ReshapeAliasBackward0",
    "UnsqueezeBackward0",
    "SqueezeBackward0",
    "SqueezeBackward1",
)


@dataclass(frozen=True)
class Site:
    """One input of one operation, through which a parameter reaches the losses."""

    place: int  # the operation
    slot: int  # which of its inputs
    along: tuple[Along, ...]  # where the samples lie in the cotangents of its outputs
    way: str  # from there to the parameter, as `_way` says
    use: Use
    rule: Rule | None  # that of the table, if there is one for this use


@dataclass(frozen=True)
class Plan:
    """Parameter -> its sites. ``whole`` are those whose rows come from the losses themselves."""

    sites: dict[str, tuple[Site, ...]]
    replayed: dict[str, int]  # parameter -> the node from which autograd runs again
    whole: tuple[str, ...]
    keeps_graph: bool
    sure: bool  # whether another batch of the same shapes may use this plan


def make_plan(graph: Graph, owners: Owners, size: int) -> Plan:
    """Return the plan of a graph whose owners are known.

    If what is beyond doubt gives as good a plan, every batch of this structure may use it.
    """
    careful = _plan(graph, owners.without_doubt(), size)
    if not careful.whole and not careful.replayed:
        return careful
    plan = _plan(graph, owners, size)
    is_as_good = set(careful.whole) <= set(plan.whole) and careful.replayed == plan.replayed
    return careful if is_as_good else plan


def _plan(graph, owners, size):
    sites, replayed, whole = {}, {}, []
    keeps_graph, sure = False, True
    for name, leaf in graph.leaves.items():
        edges, passed, reaches_root = _edges(graph, owners, leaf)
        sure = sure and not passed & owners.doubtful
        found = [_site(graph, owners, *edge, leaf, size) for edge in edges]
        if reaches_root:
            whole.append(name)
        elif all(site.rule for site in found) and not _overlap(graph, found):
            sites[name] = tuple(found)
            keeps_graph = keeps_graph or any(site.way == "pull" for site in found)
            continue
        elif len({site.place for site in found}) == 1:
            replayed[name] = found[0].place
            sites[name] = (found[0],)
        else:
            whole.append(name)
        keeps_graph = True
    return Plan(sites, replayed, tuple(whole), keeps_graph, sure)


def _edges(graph, owners, leaf):
    """Return the (place, slot) of the first known operations above a leaf, and what was passed."""
    edges, seen, waiting, reaches_root = [], {leaf}, [leaf], False
    passed = set()
    while waiting:
        here = waiting.pop()
        reaches_root = reaches_root or here == 0
        for above, slot in graph.uses[here]:
            passed.add(above)
            if owners.knows(above):
                edges.append((above, slot))
            elif None in owners.along[above] and above not in seen:
                seen.add(above)
                waiting.append(above)
    return edges, passed, reaches_root


def _site(graph, owners, place, slot, leaf, size):
    along, target = owners.along[place], graph.targets[place][slot]
    dtype = torch.promote_types(graph.nodes[leaf]._input_metadata[0].dtype, torch.float32)
    use = Use(along[0], size, graph.shape(*target), dtype)
    rule = RULES.get(graph.nodes[place].name(), {}).get(slot)
    if any(x.dtype.is_complex for x in graph.nodes[place]._input_metadata):
        rule = None  # the table is for real numbers
    if rule is not None and rule.unless and getattr(graph.nodes[place], f"_saved_{rule.unless}"):
        rule = None
    if rule is not None:
        is_alone = all(other == UNUSED for other in along[1:])
        rule = rule if is_alone and rule.fits(use, graph.shape(place)) else None
    way = _way(graph, target, leaf)
    if way == "lookup" and (rule is None or not rule.forms_rows):
        way = "pull"
    return Site(place, slot, along, way, use, rule)


def _way(graph, target, leaf):
    """Say what lies between a site and its parameter.

    "" nothing that moves a number, "turn" a transpose, "view" another shape, "part" or "turned
    part" a cut of whole lines, "lookup" a choice of lines, "pull" anything else: autograd's part.
    """
    turns, views, (here, number) = 0, False, target
    while here != leaf:
        if graph.looks_up(here, leaf) and not turns and not number:
            return "lookup"
        if graph.cuts_lines(here, leaf) and not views:
            return "turned part" if turns % 2 else "part"
        name, targets = graph.nodes[here].name(), graph.targets[here]
        if number or len(targets) != 1 or targets[0] is None:
            return "pull"
        is_turn = graph.exchanges_two_axes(here)
        turns += is_turn
        views = views or name in VIEWS
        if not is_turn and name not in VIEWS and name not in CASTS:
            return "pull"
        here, number = targets[0]
    if views:
        return "pull" if turns else "view"
    return "turn" if turns % 2 else ""


def _overlap(graph, found):
    """Say whether autograd, run from one site down to the parameter, would meet another site."""
    places = {site.place for site in found}
    return any(
        site.way == "pull" and places & graph.reach(graph.targets[site.place][site.slot][0])
        for site in found
    )
