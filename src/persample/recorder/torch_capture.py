"""One backward pass of a PyTorch model, with the cotangents kept that its rows are made of.

Nothing of the model changes: hooks are put on nodes of the graph that autograd recorded, for the
duration of that pass. Where they go is worked out once for a model and its shapes.
"""

import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils import _pytree as pytree

from .closed import Formed
from .torch_changes import Watch
from .torch_check import check_rows
from .torch_forms import Part
from .torch_graph import Graph
from .torch_model import (
    can_be_hooked,
    check_losses,
    has_memory,
    refuse_batch_norm,
    trainable,
)
from .torch_own import OwnBackward, batch_of, output_cotangents
from .torch_owners import UNUSED, Along
from .torch_plan import Plan
from .torch_plans import plan_of
from .torch_replay import Pulled, Replay, Replayed, looked_up, merged, turned

HUGE = 2**22  # bytes from which NumPy asks for huge pages
LINE = 64  # bytes of a cache line


class TorchCapture:
    """The source of a `Record` for a ``torch.nn.Module``."""

    xp = torch

    def __init__(self, model: nn.Module, reduction: str | None) -> None:
        self.model, self.reduction = model, reduction
        self.modules = list(model.named_modules())
        self.parameters = trainable(model, self.modules)
        self.names = {id(p): name for name, p in self.parameters.items()}
        self.size: int | None = None  # known once the backward pass has run
        self.losses: Tensor | None = None  # kept for `check`, with their graph
        self.inputs: tuple | None = None  # of the model's last call
        self.outputs: list[tuple] = []  # (edge, shape) of all its calls, for a pass of one's own
        self.forms: dict[str, list] = {name: [] for name in self.parameters}
        self.watch = Watch()

    # The block.
    def __enter__(self) -> "TorchCapture":
        self.leave = ExitStack()
        for where, module in self.modules:
            if isinstance(module, _BatchNorm):
                hook = module.register_forward_pre_hook(partial(refuse_batch_norm, where))
                self.leave.callback(hook.remove)
        if can_be_hooked(self.model, self.reduction):
            hook = self.model.register_forward_hook(self._called, with_kwargs=True)
            self.leave.callback(hook.remove)
        if "torch._dynamo" in sys.modules:  # a compiled model runs as it was written
            self.leave.enter_context(torch.compiler.set_stance("force_eager"))
        if self.reduction is not None:
            self.leave.enter_context(OwnBackward(self))
        return self

    def __exit__(self, *error: object) -> None:
        self.leave.close()

    def _called(self, model, args, kwargs, output):
        if torch.is_grad_enabled() and self.size is None:
            self.inputs = args, kwargs
            if self.reduction is not None:
                self.outputs += [
                    (get_gradient_edge(x), tuple(x.shape))
                    for x in pytree.tree_leaves(output)
                    if isinstance(x, Tensor) and x.requires_grad and x.ndim
                ]

    # The backward pass.
    def backward(self, losses: Tensor, retain_graph: bool = False) -> None:
        """Run backward on the sum of the losses, and keep what the rows are made of."""
        check_losses(losses)
        if self.reduction is not None:
            raise RuntimeError(
                f"backward: the block was opened with reduction={self.reduction!r}, for a "
                "backward pass of your own, loss.backward(); open it with record(model) for "
                "record.backward(losses)."
            )
        self._refuse_second()
        ones, edge = torch.ones_like(losses), get_gradient_edge(losses)
        roots = lambda: [(edge, ones, Along(0, 1))]  # noqa: E731
        graph = Graph(losses.grad_fn, self.names)
        if not graph.leaves:
            raise RuntimeError(
                "backward: the losses do not depend on any parameter of the model that requires "
                "grad; compute them from model(x)."
            )
        backward = partial(losses.backward, ones)
        self._run(graph, [edge], len(losses), roots, backward, retain_graph)
        self.losses = losses if retain_graph else None

    def own_backward(self, loss: Tensor, options: dict) -> None:
        """Run the user's ``loss.backward(**options)``, and keep what the rows are made of."""
        graph = Graph(loss.grad_fn, self.names) if loss.grad_fn is not None else None
        if graph is None or not graph.leaves:
            return loss.backward(**options)  # another model's
        self._refuse_second()
        options = dict(options)
        retain_graph = bool(options.pop("retain_graph", None))
        edges, size = batch_of(self.outputs, graph)
        roots = partial(output_cotangents, loss, options.get("gradient"), edges)
        self._run(graph, edges, size, roots, partial(loss.backward, **options), retain_graph)

    def _refuse_second(self):
        if self.size is not None:
            raise RuntimeError(
                "backward: this record has its backward pass already, and one record holds one "
                "pass; add the losses and call backward once, or open a new with block."
            )

    def _run(self, graph, edges, size, roots, backward, retain_graph):
        """Run ``backward`` with hooks on the sites.

        ``roots()`` gives (edge, cotangent, where the samples lie) for those of the ``edges`` that
        have a cotangent: what is known from the beginning.
        """
        if size == 1:
            self._run_single(graph, partial(backward, retain_graph=retain_graph))
        else:
            plan = plan_of(self.model, graph, edges, roots, size, self.parameters, self.reduction)
            self._capture(graph, plan, roots, size, backward, retain_graph)
        self.size = size

    def _run_single(self, graph, backward):
        """One sample: its rows are what arrives at the parameters."""
        arrived: dict = {}
        handles = [
            graph.nodes[leaf].register_prehook(partial(arrived.__setitem__, name))
            for name, leaf in graph.leaves.items()
        ]
        try:
            backward()
        finally:
            for handle in handles:
                handle.remove()
        for name, (ct,) in arrived.items():
            if ct is not None:
                row = ct.detach().to_dense()[None]
                self.forms[name].append(Formed(row.to(self.wide(row.dtype))))

    def _capture(self, graph, plan: Plan, roots, size, backward, retain_graph):
        saved = {
            (name, n): self._saved(graph, name, site)
            for name, sites in plan.sites.items()
            if name not in plan.replayed
            for n, site in enumerate(sites)
        }
        places = {site.place for sites in plan.sites.values() for site in sites}
        arrived: dict = {}
        handles = [
            graph.nodes[place].register_prehook(partial(arrived.__setitem__, place))
            for place in places
        ]
        try:
            backward(retain_graph=retain_graph or plan.keeps_graph)
        finally:
            for handle in handles:
                handle.remove()
        if plan.keeps_graph:
            for x in filter(has_memory, pytree.tree_leaves(self.inputs)):
                self.watch.add("the model", x)
        for (name, n), values in saved.items():
            site = plan.sites[name][n]
            ct = arrived.get(site.place, (None,))[0]
            if ct is not None:
                self.forms[name].append(self._form(graph, name, site, ct.detach(), values))
        for name in self.forms:
            self.forms[name] = merged(self.forms[name])
        self._replay(graph, plan, arrived, roots, size)

    def _saved(self, graph, name, site):
        """Return what a rule needs of the forward pass; its graph is not kept alive by it."""
        needs = [(graph.nodes[site.place], need) for need in site.rule.needs]
        if site.way == "lookup":
            table = graph.lookup_below(graph.targets[site.place][site.slot][0])
            needs += [(table, "indices"), (table, "padding_idx")]
        values = {}
        for node, need in needs:
            x = getattr(node, f"_saved_{need}")
            if isinstance(x, Tensor):
                x = x.detach()
                self.watch.add(name, x)
            values[need] = x
        return values

    def _form(self, graph, name, site, ct, values):
        form = site.rule.make(site.use, ct, values)
        if not site.way:
            return form
        parameter = self.parameters[name]
        if site.way == "lookup":
            return looked_up(form, values["indices"], values["padding_idx"], len(parameter))
        if site.way in ("part", "turned part"):
            piece = turned(form, "turn", ()) if site.way == "turned part" else form
            if piece is not None:
                lines = graph.piece(*graph.targets[site.place][site.slot])
                return Part(piece, lines, tuple(parameter.shape))
        there = turned(form, site.way, tuple(parameter.shape)) if site.way != "pull" else None
        if there is not None:
            return there
        target, number = graph.targets[site.place][site.slot]
        edge, metadata = graph.nodes[target], graph.nodes[target]._input_metadata[number]
        array = site.use.shape, metadata.dtype
        return Pulled(form, GradientEdge(edge, number), *array, name, parameter)

    def _replay(self, graph, plan, arrived, roots, size):
        """Add the forms of parameters whose rows need autograd once for each sample."""
        groups: dict[int, list[str]] = {}
        for name, place in plan.replayed.items():
            groups.setdefault(place, []).append(name)
        for place, names in groups.items():
            along = plan.sites[names[0]][0].along
            used = [
                (GradientEdge(graph.nodes[place], n), ct.detach(), where)
                for n, (ct, where) in enumerate(zip(arrived.get(place, ()), along, strict=False))
                if ct is not None and where != UNUSED
            ]
            if used:
                self._add_replay(used, names, size)
        if plan.whole:
            self._add_replay(roots(), plan.whole, size)

    def _add_replay(self, used, names, size):
        edges, cotangents, along = zip(*used, strict=True)
        parameters = {name: self.parameters[name] for name in names}
        run = Replay(list(edges), list(cotangents), list(along), size, parameters)
        for name in names:
            self.forms[name].append(Replayed(run, name))

    # What a record asks for.
    def wide(self, dtype: torch.dtype) -> torch.dtype:
        """Return the type to work in: numbers of 16 bits are too short for sums and squares."""
        return torch.promote_types(dtype, torch.float32)

    def check(self, row: Callable, samples: tuple[int, ...]) -> dict[str, float]:
        """Compare ``row(i)`` with the gradient of sample i's loss."""
        return check_rows(self, row, samples)

    def empty(self, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype) -> Tensor:
        """Return memory for rows; large ones from NumPy, whose pages are large as well.

        Fresh memory costs a page fault a page, and Linux gives pages of 2 MiB instead of 4 KiB
        to a program that asks: NumPy does; PyTorch with THP_MEM_ALLOC_ENABLE=1 alone. But NumPy
        begins 16 bytes behind a cache line, and vector stores across two lines take half as
        long again.
        """
        size = math.prod(shape) * dtype.itemsize
        if like.device.type != "cpu" or size < HUGE:
            return torch.empty(shape, dtype=dtype, device=like.device)
        memory = np.empty(size + LINE, np.uint8)
        start = -memory.ctypes.data % LINE
        return torch.from_numpy(memory[start : start + size]).view(dtype).view(shape)

    def held(self) -> list[tuple[str, Tensor]]:
        """Return what a record needs beside its forms: the parameters, and the model's inputs."""
        given = [("an input of the model", x) for x in pytree.tree_leaves(self.inputs)]
        named = [(f"the parameter {name}", x) for name, x in self.parameters.items()]
        return named + [(what, x) for what, x in given if has_memory(x)]

    def collect(self) -> tuple[int, dict[str, list]]:
        """Return the batch size and, for each parameter, the forms of its uses."""
        if self.size is None:
            raise RuntimeError(
                "record: no backward pass was recorded; call record.backward(losses) with one "
                "loss for each sample. For a backward pass of your own, loss.backward(), say in "
                'record(model, reduction="mean") or "sum" what the loss does over the batch.'
            )
        self.watch.check()
        return self.size, self.forms
