"""Hooks that collect, in one ordinary pass, each layer's input and its output's cotangent.

Nothing of the model changes: the hooks are put on at the start of the with block and taken off at
its end. What a hook cannot see, a parameter used outside its own layer, is watched for and named.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils import _pytree as pytree

from .torch_fallback import Fallback, Pause, Rerun, differentiable
from .torch_modules import Layer, batch_size, layers_of, refuse_batch_norm, trainable
from .torch_watch import Watch

HUGE = 2**22  # bytes from which NumPy asks for huge pages


@dataclass(eq=False)
class Call:
    """One call of a layer: what went in, and the cotangents of what came out."""

    layer: Layer
    args: tuple
    kwargs: dict
    cotangents: list[Tensor | None]
    versions: list[tuple[str, Tensor, int]] = field(default_factory=list)


class TorchCapture:
    """The source of a `Record` for a ``torch.nn.Module``."""

    xp = torch

    def __init__(self, model: nn.Module) -> None:
        self.modules = list(model.named_modules())  # walked once: a small model's pass is short
        self.parameters = trainable(model, self.modules)
        self.names = {id(p): name for name, p in self.parameters.items()}
        self.layers = list(layers_of(self.modules, self.names))
        self.calls: list[Call] = []
        self.watch = Watch(self.names)
        self.has_cotangents = False
        self.pause = Pause()
        self.backward = 0  # which backward pass the cotangents came from
        self._collected: tuple | None = None

    # The hooks.
    def __enter__(self) -> "TorchCapture":
        self.handles: list[Any] = []
        for layer in self.layers:
            before, after = partial(self._before, layer), partial(self._after, layer)
            self.handles += [
                layer.module.register_forward_pre_hook(before, prepend=True),
                layer.module.register_forward_hook(after, prepend=True, with_kwargs=True),
            ]
        for where, module in self.modules:
            if isinstance(module, _BatchNorm):
                refuse = partial(refuse_batch_norm, where)
                self.handles.append(module.register_forward_pre_hook(refuse))
        self.watch.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.watch.__exit__(*error)
        for handle in self.handles:
            handle.remove()

    def _before(self, layer, module, args):
        self.watch.running.append(layer)

    def _after(self, layer, module, args, kwargs, output):
        self.watch.running.pop()
        if self.pause.is_on:
            return None
        with torch._C.DisableTorchFunction():  # what the hook does is not the model's doing
            return self._record(layer, module, args, kwargs, output)

    def _record(self, layer, module, args, kwargs, output):
        outputs = differentiable(output)
        if not any(x.requires_grad for x in outputs):
            return None
        if self.has_cotangents:
            raise RuntimeError(
                f"layerwise: {layer.where} ran again after the backward pass had begun; one with "
                "block records one forward and one backward pass: open a new block for the next "
                "batch, and put torch.no_grad() around what is only evaluated."
            )
        if not layer.rule and (len(outputs) > 1 or outputs[0]._is_view()):
            # One output may be made from another, or be part of a tensor that is used elsewhere:
            # a copy's cotangent comes from what happens outside the layer alone.
            output = pytree.tree_map_only(Tensor, torch.clone, output)
            outputs = differentiable(output)
        if layer.rule:
            given = (next(iter((*args, *kwargs.values()))).detach(),), {}
            held = [("the input", given[0][0])]
        else:  # it will run again
            given = pytree.tree_map_only(Tensor, Tensor.detach, (args, kwargs))
            held = [("the input", x) for x in pytree.tree_leaves(given)]
            held += [("a parameter", p) for p in module.parameters()]
        call = Call(layer, *given, [None] * len(outputs))
        for what, x in held:
            if isinstance(x, Tensor) and not x.is_inference():
                call.versions.append((what, x, x._version))
        for n, x in enumerate(outputs):
            if x.requires_grad:
                # A change in place of a view leaves the view's hook behind, never that of its
                # base: the output of Linear for (B, T, d) is a view of all of (B T, d).
                x = x._base if x._is_view() else x
                x.register_hook(partial(self._receive, call, n, outputs[n].shape))
        self.calls.append(call)
        return output

    def _receive(self, call, n, shape, cotangent):
        if not self.has_cotangents:
            self.backward = self.watch.backwards
        if call.cotangents[n] is not None or self.watch.backwards != self.backward:
            raise RuntimeError(
                f"layerwise: a second backward pass reached {call.layer.where}; add the losses "
                "and call backward once, or open a new with block for the second."
            )
        self.has_cotangents = self.watch.is_over = True
        call.cotangents[n] = cotangent.detach().reshape(shape)

    def empty(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return memory for rows; large ones from NumPy, whose pages are large as well.

        Fresh memory costs a page fault a page, and Linux gives pages of 2 MiB instead of 4 KiB
        to a program that asks: NumPy does; PyTorch with THP_MEM_ALLOC_ENABLE=1 alone.
        """
        size = math.prod(shape) * like.itemsize
        if like.device.type != "cpu" or size < HUGE:
            return torch.empty(shape, dtype=like.dtype, device=like.device)
        return torch.from_numpy(np.empty(size, np.uint8)).view(like.dtype).view(shape)

    # What was collected.
    def collect(self) -> tuple[int, dict[str, list]]:
        """Return the batch size and, for each parameter, the forms of its uses."""
        if self._collected is None:
            self._collected = self._collect()
        for call in self.calls:
            for what, x, version in call.versions:
                if x._version != version:
                    raise RuntimeError(
                        f"layerwise: {what} of {call.layer.where} was changed in place after the "
                        "forward pass; read the record before its tensors are overwritten."
                    )
        return self._collected

    def _collect(self):
        called = {call.layer.where for call in self.calls}
        extra = {layer.where: dict(layer.names) for layer in self.layers}
        for (name, layer), function in self.watch.uses.items():
            self._attribute(name, layer, function, called, extra)
        if not self.calls:
            raise RuntimeError(
                "layerwise: no layer of the model ran inside the with block, or none with "
                "gradients on; call the model and backward inside it."
            )
        calls = [call for call in self.calls if any(ct is not None for ct in call.cotangents)]
        if not calls:
            raise RuntimeError(
                "layerwise: no backward pass was recorded; call backward() on the loss of the "
                "batch, then read the record."
            )
        size = batch_size(calls)
        forms: dict = {name: [] for name in self.parameters}
        for call in calls:
            for name, form in self._forms(call, size, extra[call.layer.where]):
                forms[name].append(form)
        return size, forms

    def _attribute(self, name, layer, function, called, names):
        """Account for a use of a parameter: its own layer's, or one that a re-run will repeat."""
        if layer is not None and name in layer.names.values():
            return
        owners = [other.where for other in self.layers if name in other.names.values()]
        if layer is not None and not layer.rule and not called.intersection(owners):
            local = [
                f"{prefix}.{key}" if prefix else key
                for prefix, module in layer.module.named_modules()  # each module once
                for key, p in module._parameters.items()
                if self.names.get(id(p)) == name
            ]
            names[layer.where].update(dict.fromkeys(local, name))
            if local:
                return
        raise NotImplementedError(
            f"layerwise: the parameter {name} is used by {function}() outside a call of its own "
            "layer, where no hook sees its input; call the layer itself, keep penalties on the "
            "parameters out of the loss, or use ps.per_sample_grad and torch.func.functional_call."
        )

    def _forms(self, call, size, names):
        """Yield (parameter name, form) for one call of a layer."""
        layer, module = call.layer, call.layer.module
        if not layer.rule:
            run = Rerun(
                layer.where,
                module,
                names,
                call.args,
                call.kwargs,
                call.cotangents,
                size,
                self.pause,
            )
            yield from ((name, Fallback(run, name)) for name in dict.fromkeys(names.values()))
            return
        x, delta = call.args[0], call.cotangents[0]
        for name, full_name in layer.names.items():
            dtype = self.parameters[full_name].dtype
            h = x.to(dtype) if x.is_floating_point() else x
            yield full_name, layer.rule[name](module, h, delta.to(dtype))
