"""Per-sample gradients of a model made of layers, from one ordinary backward pass.

A row is a closed formula of two things that a backward pass holds anyway: what a layer took, h,
and the cotangent delta of what it gave. `torch_capture` keeps the two, `torch_owners` finds out
where the samples lie in them, `closed` and `torch_rules` have the formulas, `record` the answers.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .numpy_layers import Linear, Network, NetworkCapture, ReLU, Tanh
from .recording import Moments, Record

__all__ = ["Linear", "Moments", "Network", "ReLU", "Record", "Tanh", "record"]

REDUCTIONS = ("mean", "sum")


@contextmanager
def record(model: Any, *, reduction: str | None = None) -> Iterator[Record]:
    """Record the per-sample gradients (rows) of a model in one ordinary backward pass.

    Row i is g_i = d loss_i / d params, without a factor 1/B: for a Linear layer delta_i h_i^T,
    with h_i its input and delta_i the cotangent of its output.

    Give ``record.backward`` the losses of the batch, (B,): one number for each sample. The rows
    are then those of exactly these numbers. Where the samples lie in the model's arrays is not
    guessed from the shapes: the first pass of a model, and of each new shape, runs backward a few
    times more to find out (twice for up to 30 samples), and hooks of your own on tensors run with
    it. For a model you have not used before, call ``record.check()`` once.

    In several processes (``DistributedDataParallel``) a record has the rows of its own process.
    Open the block under ``model.no_sync()``, and add up over processes, by ``all_reduce``, the
    arrays of ``clipped_sum``; of ``moments`` those times the process's number of samples, and
    these numbers. Parameters that are themselves divided (``fully_shard``) are refused.

    Parameters
    ----------
    model : a ``torch.nn.Module``, unmodified, or a `Network` of NumPy layers.
    reduction : only for a backward pass of your own, ``loss.backward()``: what the loss does with
        the losses of the samples, "mean" or "sum" over axis 0 of the model's output. There is no
        default. A mean with weights (class weights, ``ignore_index``, tokens that do not count)
        is neither of the two: write it with ``record.backward``. A `Network` without it takes
        each sample's own cotangent in ``network.backward(cotangent)``.

    Returns
    -------
    context manager that gives a `Record`: ``backward(losses)``, then ``rows(out=None)``,
        ``chunks(chunk_size)``, ``squared_norms()``, ``clipped_sum(max_norm)``, ``moments()``,
        ``gram(other=None)`` and ``check(samples)``.

    Raises
    ------
    ValueError, TypeError, NotImplementedError : a model or a batch that has no rows.
    RuntimeError : no backward pass, or a second one.

    Example
    -------
    >>> import torch
    >>> import persample as ps
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> _ = torch.nn.init.ones_(model.weight)
    >>> x, y = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([1.0, 6])
    >>> with ps.record(model) as record:
    ...     losses = 0.5 * (model(x)[:, 0] - y) ** 2
    ...     record.backward(losses)
    >>> record.rows()["weight"]
    tensor([[[2., 4.]],
    <BLANKLINE>
            [[3., 4.]]])
    >>> record.squared_norms()
    tensor([20., 25.])

    Source: Goodfellow (2015) for the formula and the norm; Li et al. (2021) for sequences.
    """
    if reduction is not None and reduction not in REDUCTIONS:
        raise ValueError(
            f"record: reduction={reduction!r} is not one of {', '.join(REDUCTIONS)}; say what "
            "the loss does over the batch."
        )
    with _capture(model, reduction) as source:
        yield Record(source, reduction)


def _capture(model, reduction):
    if isinstance(model, Network):
        return NetworkCapture(model)
    torch = sys.modules.get("torch")  # a model of a package that is not loaded cannot exist
    if torch is not None and isinstance(model, torch.nn.Module):
        from .capture import TorchCapture

        return TorchCapture(model, reduction)
    raise TypeError(
        f"record: the model is of type {type(model).__name__}; give a torch.nn.Module or a "
        "persample.recorder.Network. For a loss as a function there is ps.per_sample_grad."
    )
