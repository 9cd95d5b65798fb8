"""Whether the tensors that a record holds are still what they were: noticed, not prevented.

PyTorch counts the changes of a tensor. It sees none that others make in memory of theirs, such as
a NumPy array behind `torch.from_numpy`, so of such a tensor the numbers themselves are compared.
"""

from functools import cache, lru_cache, partial

import torch
from torch import Tensor

from .torch_owners import direction

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.uint8)


class Watch:
    """Tensors by what they are for, and what tells whether they have changed."""

    def __init__(self) -> None:
        self.versions: list[tuple[str, Tensor, int]] = []
        self.marks: list[tuple[str, Tensor, tuple[Tensor, Tensor]]] = []

    def add(self, what: str, x: Tensor) -> None:
        if x.numel() and not x.untyped_storage().resizable():  # the memory is not PyTorch's
            self.marks.append((what, x, _mark(x)))
        if not x.is_inference():
            self.versions.append((what, x, x._version))

    def check(self) -> None:
        changed = [what for what, x, version in self.versions if x._version != version]
        changed += [what for what, x, mark in self.marks if not _is_same(_mark(x), mark)]
        if changed:
            raise RuntimeError(
                f"record: what {changed[0]} was applied to was changed in place after the "
                "forward pass; read the record before its tensors are overwritten."
            )


def _mark(x):
    """Return a sum of the bits, exact, and one of the numbers, weighted, for each entry of axis 0.

    A change of sign may leave the first as it was, a small change the second.
    """
    if x.ndim != 2 or not x.is_contiguous():
        x = x.reshape(len(x) if x.ndim else 1, -1).contiguous()
    length, kind = x.shape[1], x.dtype
    bits = x.view(_integers(length * kind.itemsize)).sum(1)
    if kind not in (torch.float32, torch.float64):
        x = torch.view_as_real(x).flatten(1) if kind.is_complex else x
        x = x.to(torch.promote_types(x.dtype, torch.float32))
    return bits, torch.mv(x, _weights(x.shape[1], x.dtype, x.device))


@cache
def _integers(nbytes):
    return next(kind for kind in INTEGERS if nbytes % kind.itemsize == 0)


@lru_cache(maxsize=8)
def _weights(length, dtype, device):
    return direction(length, 0.7548776662, torch.empty(0, dtype=dtype, device=device))


def _is_same(mark, other):
    (bits, numbers), (other_bits, other_numbers) = mark, other
    if torch.equal(bits, other_bits):
        # Sums of another number of threads are rounded differently.
        close = partial(torch.allclose, rtol=1e-3, atol=0.0, equal_nan=True)
        return torch.equal(numbers, other_numbers) or close(numbers, other_numbers)
    return False
