"""Measure the size of the largest array that a PyTorch program makes."""

from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class _Watch(TorchDispatchMode):
    """Within ``with``, collect in ``sizes`` the number of entries that each new result stores."""

    def __init__(self):
        super().__init__()
        self.sizes = [0]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        results = out if isinstance(out, (tuple, list)) else [out]
        # What is expanded or transposed has no numbers of its own.
        self.sizes += [
            x.untyped_storage().nbytes() // x.itemsize
            for x in results
            if isinstance(x, torch.Tensor)
        ]
        return out


def largest_array(run: Callable[[], object]) -> int:
    """Return the number of entries of the largest array that ``run()`` makes.

    Example
    -------
    >>> x = torch.ones(3, 1)
    >>> largest_array(lambda: (x @ x.T).sum())
    9
    """
    with _Watch() as watch:
        run()
    return max(watch.sizes)
