"""The plans of a model: found out by a few backward passes, once for a structure and shapes."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from .torch_graph import Graph
from .torch_model import named_checkpoints
from .torch_owners import Owners, find_owners
from .torch_plan import Plan, make_plan
from .torch_retained import retained_gradients

PLANS: WeakKeyDictionary = WeakKeyDictionary()  # model -> key of a graph -> Plan
MOST_PLANS = 64  # for each model


def plan_of(
    model: nn.Module,
    graph: Graph,
    edges: list[GradientEdge],
    roots: Callable[[], list],
    size: int,
    parameters: dict[str, Tensor],
    reduction: str | None,
) -> Plan:
    """Return where to put hooks, from an earlier pass of equal structure and shapes if any.

    ``roots()`` gives (edge, cotangent, where the samples lie) for those of the ``edges`` that
    have a cotangent: what is known from the beginning.
    """
    tops = tuple((graph.place[edge.node], edge.output_nr) for edge in edges)
    key = graph.key(tops), size
    plans = PLANS.setdefault(model, {})
    if key in plans:
        return plans[key]
    wanted = [parameters[name] for name in graph.leaves]
    plan = make_plan(graph, _owners(model, graph, wanted, roots(), size), size)
    if plan.whole and reduction is not None:
        raise NotImplementedError(
            f"record: what {plan.whole[0]} contributes to the loss cannot be told apart by "
            "sample from the model's output alone: it is used outside the model, such as in a "
            "penalty, or shared by the samples up to there; give one loss for each sample to "
            "record.backward(losses), without reduction=."
        )
    if plan.sure:
        if len(plans) >= MOST_PLANS:
            plans.clear()
        plans[key] = plan
    return plan


def _owners(model, graph, wanted, roots, size) -> Owners:
    edges = [edge for edge, _, _ in roots]

    def sweep(r):
        cotangents = [_weighted(ct, along, r, size) for _, ct, along in roots]
        with named_checkpoints(), retained_gradients():
            torch.autograd.grad(edges, wanted, cotangents, retain_graph=True, allow_unused=True)

    covered = set().union(*(graph.reach(graph.place[edge.node]) for edge in edges))
    constants = {x.data_ptr() for x in model.buffers()}
    shared = graph.of_parameters_alone(constants)
    repeated = graph.of_parameters_alone(constants, repeated=True) - shared
    return find_owners(graph, covered, shared, repeated, size, sweep)


def _weighted(cotangent, along, r, size):
    if r is None:
        return cotangent
    shape = [1] * cotangent.ndim
    shape[along.axis] = size
    return cotangent * r.to(cotangent).view(shape)
