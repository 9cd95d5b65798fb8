"""`Record.check`: a few samples' rows against what autograd says of their losses alone."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from .graph import Graph

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}  # all others: 5e-2


def check_rows(capture: Any, row_of: Callable, samples: tuple[int, ...]) -> dict[str, float]:
    """Compare rows with gradients of single losses; return parameter -> largest difference."""
    if capture.losses is None:
        raise RuntimeError(
            "check: the graph of the pass is gone; call record.backward(losses, "
            "retain_graph=True) before you check."
        )
    size, parameters = capture.size, capture.parameters
    worst, tolerance = dict.fromkeys(parameters, 0.0), _tolerance(capture.losses)
    for i in samples:
        if not -size <= i < size:
            raise IndexError(f"check: there is no sample {i}; the batch has {size}.")
        alone = torch.autograd.grad(
            capture.losses[i], list(parameters.values()), retain_graph=True, materialize_grads=True
        )
        alone = [g.to_dense() for g in alone]
        whole = torch.linalg.vector_norm(torch.stack([g.float().norm() for g in alone]))
        for (name, row), expected in zip(row_of(i % size).items(), alone, strict=True):
            wide = torch.promote_types(expected.dtype, torch.float32)
            difference = torch.linalg.vector_norm(row.to(wide) - expected.to(wide))
            length = torch.linalg.vector_norm(expected.to(wide)).clamp(min=1e-3 * float(whole))
            relative = float(difference / length) if float(length) else float(difference)
            worst[name] = max(worst[name], relative)
            if not relative <= max(tolerance, TOLERANCE.get(expected.dtype, 5e-2)):
                raise RuntimeError(
                    f"check: the row of {name} for sample {i} differs from the gradient of that "
                    f"sample's loss by {relative:.2g} of its norm; use ps.per_sample_grad for "
                    "this model."
                )
    _look_for_coupling(capture, samples)
    return worst


def _tolerance(losses):
    """Return that of the least exact operation of the pass: under autocast one of 16 bits."""
    nodes = Graph([(losses.grad_fn, losses.output_nr, None)], {}, len(losses)).nodes
    dtypes = {x.dtype for node in nodes for x in node._input_metadata}
    return max(TOLERANCE.get(dtype, 5e-2) for dtype in dtypes if dtype.is_floating_point)


def _look_for_coupling(capture, samples):
    """Run single samples through the model in evaluation mode: the others must not matter."""
    if capture.inputs is None:
        return
    model, size = capture.model, capture.size
    was_training = {module: module.training for module in model.modules()}
    devices = sorted({p.get_device() for p in capture.parameters.values()} - {-1})
    try:
        with torch.no_grad(), torch.random.fork_rng(devices):
            model.eval()
            together = _outputs(model, capture.inputs)
            for i in samples:
                one = pytree.tree_map(lambda x, i=i: _part(x, i % size, size), capture.inputs)
                try:
                    alone = _outputs(model, one)
                except Exception as error:
                    raise RuntimeError(
                        f"check: sample {i} cannot go through the model alone, so whether the "
                        f"samples mix stays open; the model says: {error}"
                    ) from error
                for whole, part in zip(together, alone, strict=False):
                    if whole.shape[:1] == (size,) and part.shape[:1] == (1,):
                        _compare(i, whole[i], part[0])
    finally:
        for module, mode in was_training.items():
            module.training = mode


def _outputs(model, inputs):
    leaves = pytree.tree_leaves(model(*inputs[0], **inputs[1]))
    return [x for x in leaves if isinstance(x, Tensor) and x.is_floating_point()]


def _part(x, i, size):
    return x[i : i + 1] if isinstance(x, Tensor) and x.shape[:1] == (size,) else x


def _compare(i, together, alone):
    wide = torch.promote_types(alone.dtype, torch.float32)
    difference = torch.linalg.vector_norm(together.to(wide) - alone.to(wide))
    length = torch.linalg.vector_norm(alone.to(wide))
    if not float(difference) <= TOLERANCE.get(alone.dtype, 5e-2) * float(length) + 1e-12:
        raise RuntimeError(
            f"check: alone in its batch, sample {i} has another output, by "
            f"{float(difference / length):.2g} of its norm: the model mixes samples, as "
            "batch normalisation or x - x.mean(0) do, or shares an input whose axis 0 has the "
            "length of the batch. The rows are the gradients of the losses of this batch."
        )
