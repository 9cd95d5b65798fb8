"""`Record.check`: compare rows of a few samples with autograd's gradients of their losses."""

from typing import Any

import torch

from .buffers import wide
from .graph import Graph

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}  # all others: 5e-2


def check_rows(capture: Any, samples: tuple[int, ...]) -> dict[str, float]:
    """Compare rows with gradients of single losses; see `Record.check` for result and errors."""
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
        rows = capture.memory(1)
        capture.write(slice(i % size, i % size + 1), rows)
        for (name, (row,)), expected in zip(rows.items(), alone, strict=True):
            dtype = wide(expected.dtype)
            difference = torch.linalg.vector_norm(row.to(dtype) - expected.to(dtype))
            length = torch.linalg.vector_norm(expected.to(dtype)).clamp(min=1e-3 * float(whole))
            relative = float(difference / length) if float(length) else float(difference)
            worst[name] = max(worst[name], relative)
            if not relative <= max(tolerance, TOLERANCE.get(expected.dtype, 5e-2)):
                raise RuntimeError(
                    f"check: the row of {name} for sample {i} differs from the gradient of that "
                    f"sample's loss by {relative:.2g} of its norm; use ps.per_sample_grad for "
                    "this model."
                )
    return worst


def _tolerance(losses):
    """Return the largest tolerance of all dtypes in the graph, such as 16-bit ones of autocast."""
    graph = Graph([(losses.grad_fn, losses.output_nr, None)], {}, len(losses))
    dtypes = {dtype for outputs in graph.dtypes for dtype in outputs}
    return max(TOLERANCE.get(dtype, 5e-2) for dtype in dtypes if dtype.is_floating_point)
