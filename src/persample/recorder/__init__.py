"""Per-sample gradients of a whole PyTorch model, from one ordinary backward pass.

How a row is computed. Take a Linear layer, z_i = W h_i: sample i's row for W is delta_i h_i^T,
with h_i the layer's input and delta_i the cotangent of z_i, both of which a backward pass holds.

1. `record` opens a block; `capture` gets the losses, (B,), and walks the autograd graph from them
   towards the parameters, once (`graph`). The table of `axes` says for each operation whether the
   sample axis stays, becomes another axis, or is summed over.
2. It is summed over at a parameter: the weight of a product, a bias, a scale. This operation is a
   *site* of the parameter (`sites`), and the table of `rules` has the form of its rows.
3. Autograd runs from the losses to the sites, and no further: it computes the cotangents. With the
   tensors that autograd saved in the forward pass each site becomes a form of `forms` or
   `layer_forms`, such as ``Outer(delta, h)``.
4. `recording` answers from the forms: rows, norms (of ``Outer``: |delta_i|^2 |h_i|^2), weighted
   sums (of ``Outer``: (w delta)^T h), moments, products.

If samples are computed separately, as in a loop, a part of the graph belongs to one sample,
whatever its operations are (`layouts`), and the forms of single samples are batched (`merging`).
Transposes, views and slices of a parameter before its use are undone step by step (`paths`).

An operation in neither table is tested numerically, with one sample's cotangent after the other
(`trial`). If it keeps the samples separate, the walk goes on. If not, autograd is run again from
the last proved operation, once for each sample (`replay`): slow and exact, with a warning that
names the operation and the cost.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .recording import Moments, NoiseScale, Record

__all__ = ["Moments", "NoiseScale", "Record", "record"]


@contextmanager
def record(model: Any) -> Iterator[Record]:
    """Record the per-sample gradients (rows) of a model in one ordinary backward pass.

    Row i is g_i = d loss_i / d params, without a factor 1/B: for a Linear layer delta_i h_i^T,
    with h_i its input and delta_i the cotangent of its output.

    Run the forward pass inside the block, and give ``record.backward`` the losses of the batch,
    (B,): one number for each sample. The rows are then those of exactly these numbers, also where
    samples mix. The sample axis of every array is proved from autograd's graph at every pass; rows
    for which it cannot be proved are computed sample by sample, with a warning. ``.grad`` does not
    change; ``record.add_clipped_sum(max_norm)`` adds the sum of the clipped rows to it.

    A hook on a parameter (``register_hook``) raises NotImplementedError; with a hook on a tensor
    that is registered inside the block all rows are computed sample by sample. Changes in place
    that PyTorch does not count (``.data``) go unnoticed, and can make the rows wrong.

    In several processes (``DistributedDataParallel``) a record has the rows of its own process.
    Open the block under ``model.no_sync()``, and add up the arrays of ``clipped_sum`` over the
    processes by ``all_reduce``. For ``moments`` add up the arrays times the process's number of
    samples, and divide by the sum of these numbers. Sharded parameters (``fully_shard``) raise
    TypeError, also while they are gathered for a pass.

    Parameters
    ----------
    model : a ``torch.nn.Module``, unmodified.

    Returns
    -------
    context manager that gives a `Record`.

    Raises
    ------
    ValueError, TypeError, NotImplementedError : a model or a batch that has no rows.

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
    with _capture(model) as capture:
        yield Record(capture)


def _capture(model):
    torch = sys.modules.get("torch")  # a model of a package that is not loaded cannot exist
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(
            f"record: the model is of type {type(model).__name__}; give a torch.nn.Module. For a "
            "loss as a function there is ps.per_sample_grad."
        )
    from .capture import TorchCapture

    return TorchCapture(model)
