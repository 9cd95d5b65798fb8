"""What of a PyTorch model takes part: its parameters and layers; and what leaves no rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from .torch_rules import rule_for

Modules = list[tuple[str, nn.Module]]  # name in the model, module; each once


def trainable(model: nn.Module, modules: Modules) -> dict[str, Tensor]:
    """Return name -> parameter of those that require grad, named as in named_parameters()."""
    named, seen = {}, set()
    for where, module in modules:
        for key, p in module._parameters.items():
            if p is not None and p.requires_grad and id(p) not in seen:
                seen.add(id(p))
                named[f"{where}.{key}" if where else key] = p
    if not named:
        raise ValueError(
            f"layerwise: the model, a {type(model).__name__}, has no parameter that requires "
            "grad; give one that is to be trained, or call requires_grad_() on its parameters."
        )
    for name, p in named.items():
        lazy = nn.parameter.is_lazy(p)
        if lazy or p.is_complex():
            raise TypeError(
                f"layerwise: the parameter {name} is {'not initialised' if lazy else 'complex'}; "
                "it must hold real numbers: a lazy layer gets them when the model is run once on "
                "a batch."
            )
    return named


@dataclass(frozen=True, eq=False)
class Layer:
    """A module that holds trainable parameters of its own."""

    where: str  # its name in the model
    module: nn.Module
    names: dict[str, str]  # its parameters: name in the module -> name in the model
    rule: dict[str, Callable]  # its row of the table, empty without one


def layers_of(modules: Modules, names: dict[int, str]) -> Iterator[Layer]:
    """Yield each module with trainable parameters of its own; a parametrized one is whole.

    ``names`` is id(parameter) -> name in the model.
    """
    whole = None  # what the names of the parts of a parametrized module start with
    for where, module in modules:
        if whole is not None and where.startswith(whole):
            continue
        own = module._parameters.items()
        if "parametrizations" in module._modules:
            whole = f"{where}." if where else ""
            own = module.named_parameters(remove_duplicate=False)
        held = {name: names[id(p)] for name, p in own if id(p) in names}
        if held:
            rule = rule_for(module)
            rule = rule if set(held) <= set(rule) else {}
            yield Layer(where or "the model", module, held, rule)


def batch_size(calls: list[Any]) -> int:
    """Return the length of axis 0, which must be one for all layers."""
    sizes: dict = {}
    for call in calls:
        module = call.layer.module
        if getattr(module, "batch_first", True) is False:
            raise ValueError(
                f"layerwise: {call.layer.where}, a {type(module).__name__}, has batch_first="
                "False, so its samples are on axis 1; build it with batch_first=True."
            )
        cotangent = next(ct for ct in call.cotangents if ct is not None)
        sizes.setdefault(cotangent.shape[0] if cotangent.ndim else "no axis", call.layer.where)
    if len(sizes) > 1:
        listed = ", ".join(f"{size} ({where})" for size, where in sizes.items())
        raise ValueError(
            f"layerwise: the layers see different batch sizes: {listed}; axis 0 of every layer's "
            "input and output must count the samples: keep other axes apart from it, "
            "(B, T, d) and not (B T, d), and give each sample its own copy of what all share."
        )
    if 0 in sizes:
        raise ValueError("layerwise: the batch is empty; give at least one sample.")
    return next(iter(sizes))


def refuse_batch_norm(where: str, module: nn.Module, args: tuple) -> None:
    """Stop a layer that mixes the samples of a batch."""
    if module.training or module.running_mean is None:
        raise ValueError(
            f"layerwise: {where or 'the model'} is a {type(module).__name__} that normalises by "
            "the mean and variance of the batch, so no sample has a gradient of its own; call "
            "model.eval(), or build the model with GroupNorm or LayerNorm."
        )
