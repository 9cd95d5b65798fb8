"""How many matrix products a piece of PyTorch code needs, counted.

Separate because only chapters count. The numbers are the same on every machine.
"""

from collections.abc import Callable


def matrix_products(run: Callable) -> int:
    """Return the multiplications and additions in the matrix products of a function's call.

    Example
    -------
    >>> import torch
    >>> matrix_products(lambda: torch.ones(2, 3) @ torch.ones(3, 4))
    48
    """
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()
