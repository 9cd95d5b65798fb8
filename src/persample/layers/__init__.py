"""Rows, norms and clipped sums of a model made of layers, from one ordinary backward pass.

A layer's gradient for one sample is a closed formula of two things that a backward pass holds
anyway: the layer's input h and the cotangent delta of its output. `closed` and `torch_rules` have
the formulas, `torch_capture` collects h and delta, `record` puts the answers together.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .numpy_layers import Linear, Network, NetworkCapture, ReLU, Tanh
from .record import Moments, Record

__all__ = ["Linear", "Moments", "Network", "ReLU", "Record", "Tanh", "layerwise"]

REDUCTIONS = ("mean", "sum")


@contextmanager
def layerwise(model: Any, reduction: str = "mean") -> Iterator[Record]:
    """Record one forward and backward pass of ``model``; give what it says about each sample.

    Row i is g_i = d loss_i / d params, without a factor 1/B, whatever the loss does over the
    batch: for a Linear layer delta_i h_i^T, with h_i its input and delta_i the cotangent of its
    output. ``.grad`` is left as ``backward`` leaves it.

    Parameters
    ----------
    model : a ``torch.nn.Module``, unmodified, or a `Network` of NumPy layers. Axis 0 of every
        layer's input counts the samples; a sample's output depends on that sample alone.
    reduction : what the loss of the batch does with the losses of its samples, "mean" or "sum".

    Returns
    -------
    context manager that gives a `Record`. After backward it has ``rows(out=None)``,
        ``chunks(size)``, ``squared_norms()``, ``clipped_sum(max_norm)`` and ``moments()``.

    Raises
    ------
    ValueError, TypeError, NotImplementedError : a model or a batch that has no rows, or whose
        rows no rule gives. RuntimeError : no backward pass, or a second one.

    Example
    -------
    >>> import torch
    >>> import persample as ps
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> _ = torch.nn.init.ones_(model.weight)
    >>> x, y = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[1.0], [6]])
    >>> with ps.layerwise(model) as record:
    ...     (0.5 * (model(x) - y) ** 2).mean().backward()
    >>> record.rows()["weight"]
    tensor([[[2., 4.]],
            [[3., 4.]]])
    >>> record.squared_norms()
    tensor([20., 25.])

    Source: Goodfellow (2015) for the formula and the norm; Li et al. (2021) for sequences.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"layerwise: reduction={reduction!r} is not one of {', '.join(REDUCTIONS)}; say what "
            "the loss does over the batch."
        )
    with _capture(model) as source:
        yield Record(source, reduction)


def _capture(model):
    if isinstance(model, Network):
        return NetworkCapture(model)
    torch = sys.modules.get("torch")  # a model of a package that is not loaded cannot exist
    if torch is not None and isinstance(model, torch.nn.Module):
        from .torch_capture import TorchCapture

        return TorchCapture(model)
    raise TypeError(
        f"layerwise: the model is of type {type(model).__name__}; give a torch.nn.Module or a "
        "persample.layers.Network. For a loss as a function there is ps.per_sample_grad."
    )
