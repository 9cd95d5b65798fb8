"""What a piece of PyTorch code does, counted: products, operations, and bytes of new memory.

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


def operations_and_bytes(run: Callable) -> tuple[int, int]:
    """Run a function; return how many operations PyTorch carried out, and their new bytes.

    New is what a result holds in memory that none of the operation's arguments holds: a view and
    a result written with ``out=`` are not new. Memory that is freed meanwhile counts as well.

    Example
    -------
    >>> import torch
    >>> x = torch.ones(4, dtype=torch.float64)
    >>> operations_and_bytes(lambda: (x + 1).reshape(2, 2))
    (2, 32)
    >>> operations_and_bytes(lambda: torch.add(x, 1, out=x))
    (1, 0)
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    def storages(tree):
        """Return address -> bytes of the memory of each tensor in a tree."""
        tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
        return {x.untyped_storage().data_ptr(): x.nbytes for x in tensors}

    class Meter(TorchDispatchMode):
        """Is called for every operation in its place."""

        operations = new_bytes = 0

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            result = operation(*args, **(kwargs or {}))
            old, new = storages((args, kwargs)), storages(result)
            self.operations += 1
            self.new_bytes += sum(size for at, size in new.items() if at not in old)
            return result

    with Meter() as meter:
        run()
    return meter.operations, meter.new_bytes
