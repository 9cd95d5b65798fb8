"""One backward pass of a PyTorch model, with the cotangents kept that its rows are made of.

Nothing of the model changes, and nothing is kept for the next pass: the graph is walked anew.
"""

import sys
import warnings
from contextlib import ExitStack
from functools import partial

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.hooks import RemovableHandle

from .along import Along, OneSample
from .buffers import wide
from .forms import Formed
from .graph import Graph
from .merging import batched, merged
from .model import (
    check_losses,
    refuse_batch_norm,
    refuse_hooks,
    refuse_opaque,
    trainable,
)
from .passes import cotangents, during_a_pass
from .replay import Replay, Replayed, Start
from .sites import Cut, Stop, cut
from .trial import Trials
from .uses import Uses


class TorchCapture:
    """The source of a `Record` for a ``torch.nn.Module``."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.modules = list(model.named_modules())
        self.parameters = trainable(model, self.modules)
        self.names = {id(p): name for name, p in self.parameters.items()}
        self.size: int | None = None  # known once the backward pass has run
        # Kept as long as their graph is, for `check` and where rows need autograd again: before
        # PyTorch 2.13 a node of somebody's own Function does not outlive the tensors computed
        # from it, though a GradientEdge names it.
        self.losses: Tensor | None = None
        self.uses: dict[str, Uses] = {}
        self.stops: dict[str, Stop] = {}  # parameter -> why its rows are worked out one by one
        self.versions: list[tuple[str, Tensor, int]] = []  # what may not change in place

    # The block.
    def __enter__(self) -> "TorchCapture":
        self.exit_stack = ExitStack()
        for where, module in self.modules:
            if isinstance(module, _BatchNorm):
                hook = module.register_forward_pre_hook(partial(refuse_batch_norm, where))
                self.exit_stack.callback(hook.remove)
        if "torch._dynamo" in sys.modules:  # a compiled model runs as it was written
            self.exit_stack.enter_context(torch.compiler.set_stance("force_eager"))
        self.first_new_hook = RemovableHandle.next_id  # every hook of PyTorch counts on
        return self

    def __exit__(self, *error: object) -> None:
        self.exit_stack.close()

    # The backward pass.
    def backward(self, losses: Tensor, retain_graph: bool, accumulate: bool) -> None:
        """Run backward on the sum of the losses, and keep what the rows are made of."""
        check_losses(losses)
        if self.size is not None:
            raise RuntimeError(
                "backward: this record has its backward pass already, and one record holds one "
                "pass; add the losses and call backward once, or open a new with block."
            )
        refuse_hooks(self.parameters)
        if losses.grad_fn is None:  # a parameter is its own loss
            losses = losses.clone()
        graph, found, saved = self._proved(losses)
        if not graph.leaves:
            raise RuntimeError(
                "backward: the losses do not depend on any parameter of the model that requires "
                "grad; compute them from model(x)."
            )
        self._warn(graph, found)
        keep = retain_graph or found.keeps_graph
        arrived = cotangents(graph, found.edges, losses, keep, accumulate)
        if found.replayed:  # a hook on the losses has its turn when they are replayed
            arrived[0, losses.output_nr] = torch.ones_like(losses)
        self._make_forms(graph, found, saved, arrived)
        self.losses = losses if keep else None

    def _has_hooks(self):
        """Say whether the block saw a new hook that is no forward hook of a module.

        Such a hook may change a cotangent; what a forward hook does is in the graph.
        """
        new = set(range(self.first_new_hook, RemovableHandle.next_id))
        for _, module in self.modules if new else ():
            new -= module._forward_hooks.keys() | module._forward_pre_hooks.keys()
        return bool(new)

    def _proved(self, losses):
        """Return the graph of a pass, its cut, and what the forward pass saved for the rules."""

        def read():
            root = losses.grad_fn, losses.output_nr, Along(0)
            is_hooked = self._has_hooks()
            trials = None if is_hooked else Trials(losses)
            graph = Graph([root], self.names, len(losses), trials)
            refuse_opaque(graph, self.parameters)
            found = cut(graph, is_hooked)
            return graph, found, self._saved(graph, found)

        return during_a_pass(read)

    def _warn(self, graph, found: Cut):
        self.stops = found.stops
        if graph.tried:
            warnings.warn(
                f"record: at {', '.join(sorted(graph.tried))} it is not known how the samples "
                f"lie, so it alone was run backward for each of {graph.size} samples, on the "
                "arrays of the whole batch; the rows are right, and where this takes long, "
                "ps.per_sample_grad or a loop over the samples is faster.",
                stacklevel=4,
            )
        if found.stops:
            name, stop = next(iter(found.stops.items()))
            others = f" and {len(found.stops) - 1} more" if len(found.stops) > 1 else ""
            apart = all(isinstance(graph.agreed(p), OneSample) for p in found.replayed[name])
            cost = (
                "one sample's part of the graph, about as long as a loop over the samples"
                if apart
                else "the whole batch's graph below, so the time grows with the square of the "
                "batch; where it is long, ps.per_sample_grad or a loop over the samples is faster"
            )
            warnings.warn(
                f"record: at {stop.where} {stop.reason}, so the rows of {name}{others} are worked "
                f"out sample by sample: {graph.size} backward passes through {cost}; "
                "record.forms() names the node of each.",
                stacklevel=4,
            )

    def _saved(self, graph, found: Cut):
        """Return parameter -> for each site what its rule, and by place its path, needs to know.

        Each tensor is read once; its graph is not kept alive by it.
        """
        known: dict = {}

        def read(name, place, need):
            if (place, need) not in known:
                x = getattr(graph.nodes[place], f"_saved_{need}")
                known[place, need] = self._watched(name, x)
            return known[place, need]

        saved: dict[str, list] = {}
        for name, sites in found.sites.items():
            saved[name] = []
            for site in sites:
                own = {need: read(name, site.place, need) for need in site.rule.needs}
                below = {
                    place: {need: read(name, place, need) for need in step.needs}
                    for place, step, _ in site.path.steps
                    if step.needs
                }
                saved[name].append((site, own, below))
        return saved

    def _watched(self, what, x):
        """Return what was saved; a tensor may not change in place before the record is read."""
        if isinstance(x, tuple):
            return tuple([self._watched(what, part) for part in x])
        if not isinstance(x, Tensor):
            return x
        x = x.detach()
        if not x.is_inference():
            self.versions.append((what, x, x._version))
        return x if x.layout == torch.strided else x.to_dense()

    def _make_forms(self, graph, found: Cut, saved, arrived):
        """Turn cotangents into forms."""
        self.size = graph.size
        forms: dict[str, list] = {name: [] for name in self.parameters}
        for name, leaf in found.leaves.items():  # of one sample
            if (ct := arrived[leaf, 0]) is not None:
                row = ct.detach().to_dense()[None]
                forms[name].append(Formed(row.to(wide(row.dtype))))
        self._add_sites(forms, graph, saved, arrived)
        self._add_replays(forms, graph, found.replayed, arrived)
        for name, p in self.parameters.items():
            self.uses[name] = Uses(p, merged(forms[name]), graph.size)

    def _add_sites(self, forms, graph, saved, arrived):
        """Add the forms of all sites; those of single samples become one of the batch."""
        known: dict = {}
        for name, sites in saved.items():
            p, single = self.parameters[name], []
            for site, own, below in sites:
                ct = _arrived_at(site, own, graph, arrived, known)
                if ct is None:
                    continue
                form = site.path.apply(site.rule.make(site.use, ct, own), below, graph, name, p)
                if site.use.is_one_sample:
                    single.append((site.use.along.sample, form))
                else:
                    forms[name].append(form)
            if single:
                forms[name] += batched(single, graph.size)

    def _add_replays(self, forms, graph, replayed, arrived):
        """Add the forms of parameters whose rows come from autograd, run again."""
        groups: dict[frozenset, list[str]] = {}
        for name, places in replayed.items():
            groups.setdefault(places, []).append(name)
        for places, names in groups.items():
            starts, own = [], {}
            for place in places:
                for n, along in graph.layouts[place].items():
                    if (ct := arrived[place, n]) is not None:
                        start = Start(GradientEdge(graph.nodes[place], n), ct.detach(), along)
                        is_own = isinstance(along, OneSample)
                        (own.setdefault(along.sample, []) if is_own else starts).append(start)
            if starts or own:
                parameters = {name: self.parameters[name] for name in names}
                run = Replay(starts, own, graph.size, parameters)
                for name in names:
                    forms[name].append(Replayed(run, name, self.stops[name].where))

    # What a record asks for.
    def accumulate(self, totals: dict[str, Tensor]) -> None:
        """Add to the parameters' ``.grad`` as a backward pass does, so that their hooks run."""
        for name in totals:
            # Another one: fetched for the pass, by a module around it.
            if self.model.get_parameter(name) is not self.parameters[name]:
                raise RuntimeError(
                    f"add_clipped_sum: the model has another parameter {name} by now, and .grad "
                    "of the one that was recorded would be lost; under fully_shard take the rows "
                    "of a model whose parameters are whole."
                )
        parameters = [self.parameters[name] for name in totals]
        gradients = [x.to(p.dtype) for x, p in zip(totals.values(), parameters, strict=True)]
        torch.autograd.backward(parameters, gradients)

    def collect(self) -> tuple[int, dict[str, Uses]]:
        """Return the batch size and each parameter's uses, if nothing was changed in place."""
        if self.size is None:
            raise RuntimeError(
                "record: no backward pass was recorded; call record.backward(losses) with one "
                "loss for each sample, in place of loss.backward()."
            )
        for what, x, version in self.versions:
            if x._version != version:
                raise RuntimeError(
                    f"record: what {what} was applied to was changed in place after the forward "
                    "pass; read the record before its tensors are overwritten."
                )
        return self.size, self.uses


def _arrived_at(site, saved, graph, arrived, known):
    """Return the cotangent that a rule takes, or what it prepares once of those of all outputs."""
    place, rule = site.place, site.rule
    if rule.prepare is None:
        ct = arrived[place, 0]
        if ct is not None and rule.calls_node:
            saved |= {"node": graph.nodes[place], "slot": site.slot, "dtype": ct.dtype}
        return None if ct is None else ct.detach()
    if place not in known:
        cts = {n: arrived[place, n] for n in graph.layouts[place]}
        cts = {n: ct.detach() for n, ct in cts.items() if ct is not None}
        known[place] = rule.prepare(site.use, cts, saved) if cts else None
    return known[place]
