"""Select a model's trainable parameters; raise for models and losses that have no rows."""

import sys
from typing import Any

from torch import Tensor, nn

from .graph import Graph


def trainable(model: nn.Module, modules: list[tuple[str, nn.Module]]) -> dict[str, Tensor]:
    """Return name -> parameter for all that require grad, as named_parameters() names them.

    ``modules`` is the list of the model's named_modules(), made once, since that is slow. Raise
    ValueError if there is no parameter, TypeError for one that is sharded, lazy or complex.
    """
    named, seen = {}, set()
    for where, module in modules:
        for key, p in module._parameters.items():
            if p is not None and p.requires_grad and id(p) not in seen:
                seen.add(id(p))
                named[f"{where}.{key}" if where else key] = p
    if not named:
        raise ValueError(
            f"record: the model, a {type(model).__name__}, has no parameter that requires "
            "grad; give one that is to be trained, or call requires_grad_() on its parameters."
        )
    refuse_divided(named, modules)
    for name, p in named.items():
        if nn.parameter.is_lazy(p):
            raise TypeError(
                f"record: the parameter {name} of a lazy layer is not initialised; run the model "
                "once on a batch before you record it."
            )
        if p.is_complex():
            raise TypeError(
                f"record: the parameter {name} is complex, and norms and clipping are defined "
                "here for real numbers; keep its real and imaginary parts as two real parameters "
                "(or torch.view_as_real(w) as one) and join them in the forward pass by "
                "torch.complex or torch.view_as_complex."
            )
    return named


def refuse_divided(parameters: dict[str, Tensor], modules: list[tuple[str, nn.Module]]) -> None:
    """Raise TypeError for sharded parameters: a DTensor, or any parameter under FSDP.

    FSDP gathers a parameter during a pass only; it then looks whole, and its ``.grad`` would be
    lost afterwards. torch.distributed is not imported for this test.
    """
    for name, p in parameters.items():
        if hasattr(p, "full_tensor"):
            raise TypeError(
                f"record: the parameter {name} is a DTensor, which fully_shard and others make "
                "and of which each process holds a part; take the rows of a model whose "
                "parameters are whole, such as one with p.full_tensor() of each."
            )
    fsdp = sys.modules.get("torch.distributed.fsdp")  # not loaded, no module is under it
    if fsdp is None:
        return
    for where, module in modules:
        if isinstance(module, (fsdp.FSDPModule, fsdp.FullyShardedDataParallel)):
            raise TypeError(
                f"record: {where or 'the model'} is under fully_shard (or FSDP), so its "
                "parameters are whole for a pass only, and so would be their .grad; take the "
                "rows of a model whose parameters are whole, such as one with p.full_tensor() "
                "of each."
            )


def refuse_hooks(parameters: dict[str, Tensor]) -> None:
    """Raise NotImplementedError for a hook on a parameter: it changes ``.grad``, not the rows."""
    for name, p in parameters.items():
        if p._backward_hooks:
            raise NotImplementedError(
                f"record: the parameter {name} has a hook (register_hook), which would change "
                "the gradient of the whole batch and not the rows; remove it, and do to the "
                "rows what it does."
            )


def check_losses(losses: Any) -> None:
    """Raise unless the losses are a tensor (B,), B > 0, that requires grad.

    Raise TypeError for another type, ValueError for another shape, RuntimeError without a graph.
    """
    if not isinstance(losses, Tensor):
        raise TypeError(
            f"backward: the losses are of type {type(losses).__name__}; give a tensor with one "
            'loss for each sample, such as F.cross_entropy(model(x), y, reduction="none").'
        )
    if losses.ndim == 0:
        raise ValueError(
            "backward: the loss is one number, and a mean or a sum no longer tells the samples "
            'apart; give one loss for each sample, shape (B,): with reduction="none" in a loss '
            "of PyTorch, or without .mean() at the end."
        )
    if losses.ndim > 1:
        raise ValueError(
            f"backward: the losses have shape {tuple(losses.shape)}; give one number for each "
            "sample, shape (B,): sum or average what belongs to one sample, such as "
            "losses.flatten(1).mean(1)."
        )
    if not len(losses):
        raise ValueError("backward: the batch is empty; give at least one sample.")
    if not losses.requires_grad:
        raise RuntimeError(
            "backward: the losses carry no gradient; compute them from model(x) with gradients "
            "on, outside torch.no_grad()."
        )


def refuse_batch_norm(where: str, module: nn.Module, args: tuple) -> None:
    """Raise ValueError if a BatchNorm layer, called ``where``, uses batch statistics."""
    if module.training or module.running_mean is None:
        raise ValueError(
            f"record: {where or 'the model'} is a {type(module).__name__} that normalises by "
            "the mean and variance of the batch, so no sample has a gradient of its own; call "
            "model.eval(), or build the model with GroupNorm or LayerNorm."
        )


def refuse_opaque(graph: Graph, parameters: dict[str, Tensor]) -> None:
    """Raise NotImplementedError if a custom Function may use a parameter outside of the graph."""
    opaque = graph.opaque()
    if "CheckpointFunctionBackward" in opaque:
        raise NotImplementedError(
            "record: a part of the model is under activation checkpointing with "
            "use_reentrant=True, which hides its graph; call torch.utils.checkpoint.checkpoint "
            "with use_reentrant=False."
        )
    hidden = [name for name in parameters if name not in graph.leaves]
    if opaque and hidden:
        raise NotImplementedError(
            f"record: {opaque[0]}, a function of your own, may hide a graph, and no use of the "
            f"parameter {hidden[0]} shows; freeze that parameter if it takes no part."
        )
