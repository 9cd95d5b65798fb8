"""Run the backward pass of a recorded batch, and turn cotangents into closed forms of the rows.

The model is unchanged, except for hooks on BatchNorm layers inside the block, and no state is kept
from one pass to the next.
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

from .buffers import wide
from .forms import Formed
from .graph import Graph
from .layouts import OneSample, SampleAxis
from .merging import batched, merged
from .model import check_losses, refuse_batch_norm, refuse_hooks, refuse_opaque, trainable
from .parameter_rows import ParameterRows
from .passes import cotangents, during_a_pass, no_garbage_collection
from .replay import Replay, Replayed, Start
from .sites import LOSSES, Cut, Stop, cut
from .trial import Trials


class TorchCapture:
    """Records one pass of a model: a context manager around its forward pass.

    `backward` then builds the closed forms that `Record` reads.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.modules = list(model.named_modules())
        self.parameters = trainable(model, self.modules)
        self.names = {id(p): name for name, p in self.parameters.items()}
        self.size: int | None = None  # B; None before the backward pass
        # Set while the graph is needed, by `check` and by replays. Before PyTorch 2.13 a
        # GradientEdge alone does not keep the node of a custom Function alive.
        self.losses: Tensor | None = None
        self.parameter_rows: dict[str, ParameterRows] = {}
        self.stops: dict[str, Stop] = {}  # why a parameter's rows are replayed
        # (parameter, saved tensor, its version): to notice changes in place
        self.versions: list[tuple[str, Tensor, int]] = []

    # The with block.
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
    @no_garbage_collection()
    def backward(self, losses: Tensor, retain_graph: bool, accumulate: bool) -> None:
        """Run the backward pass of the sum of the losses, and build every parameter's forms."""
        check_losses(losses)
        if self.size is not None:
            raise RuntimeError(
                "backward: this record has its backward pass already, and one record holds one "
                "pass; add the losses and call backward once, or open a new with block."
            )
        refuse_hooks(self.parameters)
        if losses.grad_fn is None:  # the losses are a parameter
            losses = losses.clone()
        graph, the_cut, saved = self._analysed(losses)
        if not graph.leaves:
            raise RuntimeError(
                "backward: the losses do not depend on any parameter of the model that requires "
                "grad; compute them from model(x)."
            )
        self._warn(graph, the_cut)
        keep = retain_graph or the_cut.keeps_graph
        arrived = cotangents(graph, the_cut.edges, losses, keep, accumulate)
        if the_cut.replayed:  # unhooked: a hook on the losses runs in each replay
            arrived[LOSSES, losses.output_nr] = torch.ones_like(losses)
        self._make_forms(graph, the_cut, saved, arrived)
        self.losses = losses if keep else None

    def _has_hooks(self):
        """Return whether the block registered a hook that may change a cotangent.

        Forward hooks of modules do not count: their operations are in the graph.
        """
        new = set(range(self.first_new_hook, RemovableHandle.next_id))
        for _, module in self.modules if new else ():
            new -= module._forward_hooks.keys() | module._forward_pre_hooks.keys()
        return bool(new)

    def _analysed(self, losses):
        """Return (`Graph` of the losses (B,), its `Cut`, saved values as from `_saved`)."""

        def read():
            root = losses.grad_fn, losses.output_nr, SampleAxis(0)
            is_hooked = self._has_hooks()
            trials = None if is_hooked else Trials(losses)
            graph = Graph([root], self.names, len(losses), trials)
            refuse_opaque(graph, self.parameters)
            the_cut = cut(graph, is_hooked)
            return graph, the_cut, self._saved(graph, the_cut)

        return during_a_pass(read)

    def _warn(self, graph, the_cut: Cut):
        self.stops = the_cut.stops
        if graph.tried:
            warnings.warn(
                f"record: at {', '.join(sorted(graph.tried))} it is not known how the samples "
                f"lie, so it alone was run backward for each of {graph.size} samples, on the "
                "arrays of the whole batch; the rows are right, and where this takes long, "
                "ps.per_sample_grad or a loop over the samples is faster.",
                stacklevel=5,
            )
        if the_cut.stops:
            name, stop = next(iter(the_cut.stops.items()))
            others = f" and {len(the_cut.stops) - 1} more" if len(the_cut.stops) > 1 else ""
            apart = all(graph.is_of_one_sample(n) for n in the_cut.replayed[name])
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
                stacklevel=5,
            )

    def _saved(self, graph, the_cut: Cut):
        """Return node index -> {attribute: saved value} for the needs of rules and path steps."""
        saved: dict[int, dict] = {}
        for name, sites in the_cut.sites.items():
            for site in sites:
                steps = [(index, step) for index, step, _ in site.path.steps]
                for index, rule in [(site.node_index, site.rule), *steps]:
                    known = saved.setdefault(index, {})
                    for need in rule.needs:
                        if need not in known:
                            value = getattr(graph.nodes[index], f"_saved_{need}")
                            known[need] = self._watched(name, value)
        return saved

    def _watched(self, what, x):
        """Return x, a saved value, detached and dense; add (what, x, version) to ``versions``."""
        if isinstance(x, tuple):
            return tuple([self._watched(what, part) for part in x])
        if not isinstance(x, Tensor):
            return x
        x = x.detach()
        if not x.is_inference():
            self.versions.append((what, x, x._version))
        return x if x.layout == torch.strided else x.to_dense()

    def _make_forms(self, graph, the_cut: Cut, saved, arrived):
        """Make each parameter's `ParameterRows` from ``arrived``, the result of `cotangents`."""
        self.size = graph.size
        forms: dict[str, list] = {name: [] for name in self.parameters}
        for name, leaf in the_cut.leaves.items():  # B = 1
            if (ct := arrived[leaf, 0]) is not None:
                row = ct.detach().to_dense()[None]
                forms[name].append(Formed(row.to(wide(row.dtype))))
        prepared: dict = {}
        for name, sites in the_cut.sites.items():
            p, single = self.parameters[name], []
            for site in sites:
                ct = _arrived_at(site, saved, graph, arrived, prepared)
                if ct is None:
                    continue
                form = site.rule.make(site.arg, ct, saved[site.node_index])
                form = site.path.apply(form, saved, graph, name, p)
                if site.arg.is_one_sample:
                    single.append((site.arg.layout.sample, form))
                else:
                    forms[name].append(form)
            forms[name] += batched(single, graph.size)
        self._add_replays(forms, graph, the_cut.replayed, arrived)
        for name, p in self.parameters.items():
            self.parameter_rows[name] = ParameterRows(p, merged(forms[name]), graph.size)

    def _add_replays(self, forms, graph, replayed, arrived):
        """Append a `Replayed` to ``forms[name]``; names with equal start nodes share a run."""
        groups: dict[frozenset, list[str]] = {}
        for name, indices in replayed.items():
            groups.setdefault(indices, []).append(name)
        for indices, names in groups.items():
            starts, own = [], {}
            for index in indices:
                for n, layout in graph.layouts[index].items():
                    if (ct := arrived[index, n]) is not None:
                        start = Start(GradientEdge(graph.nodes[index], n), ct.detach(), layout)
                        is_own = isinstance(layout, OneSample)
                        (own.setdefault(layout.sample, []) if is_own else starts).append(start)
            if starts or own:
                parameters = {name: self.parameters[name] for name in names}
                run = Replay(starts, own, graph.size, parameters)
                for name in names:
                    forms[name].append(Replayed(run, name, self.stops[name].where))

    # What a record asks for.
    def accumulate(self, totals: dict[str, Tensor]) -> None:
        """Add ``totals`` to parameters' ``.grad`` by a backward pass, so that their hooks run."""
        for name in totals:
            # FSDP replaces a module's parameters for the time of a pass.
            if self.model.get_parameter(name) is not self.parameters[name]:
                raise RuntimeError(
                    f"add_clipped_sum: the model has another parameter {name} by now, and .grad "
                    "of the one that was recorded would be lost; under fully_shard take the rows "
                    "of a model whose parameters are whole."
                )
        parameters = [self.parameters[name] for name in totals]
        gradients = [x.to(p.dtype) for x, p in zip(totals.values(), parameters, strict=True)]
        torch.autograd.backward(parameters, gradients)

    def collect(self) -> tuple[int, dict[str, ParameterRows]]:
        """Return (B, name -> `ParameterRows`).

        Raise RuntimeError before a backward pass, or if a saved tensor was changed in place.
        """
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
        return self.size, self.parameter_rows

    def memory(self, size: int) -> dict[str, Tensor]:
        """Return parameter name -> uninitialised tensor for the rows of ``size`` samples."""
        return {name: each.empty(size) for name, each in self.parameter_rows.items()}

    def write(self, samples: slice, out: dict[str, Tensor]) -> None:
        """Write the rows of a slice of samples into ``out``, a dict as from `memory`."""
        _, by_name = self.collect()
        for name, each in by_name.items():
            each.rows(samples, out[name])


def _arrived_at(site, saved, graph, arrived, prepared):
    """Return the second argument of a rule's ``make``; None if the site got no cotangent.

    It is the cotangent of output 0 or, for a rule with ``prepare``, the result of ``prepare``,
    which is cached in ``prepared``, once per node.
    """
    index, prepare = site.node_index, site.rule.prepare
    if prepare is None:
        ct = arrived.get((index, 0))
        return None if ct is None else ct.detach()
    if index not in prepared:
        cts = {n: arrived[index, n] for n in graph.layouts[index]}
        cts = {n: ct.detach() for n, ct in cts.items() if ct is not None}
        prepared[index] = prepare(cts, saved[index], site.arg.dtype) if cts else None
    return prepared[index]
