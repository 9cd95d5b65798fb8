"""Memory to work in: a few samples at a time, in the cache; large rows in large pages."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

# Bytes of a work buffer. It stays in the cache and is handed out again by the allocator, while
# fresh memory costs a page fault each 4 KiB: more than the arithmetic done in it.
SCRATCH = 2**22
# Bytes of rows that may be kept because they will be asked for again.
CACHE_BYTES = 2**26
HUGE = 2**22  # bytes from which NumPy asks for huge pages
LINE = 64  # bytes of a cache line


def slices(size: int, bytes_each: int) -> Iterator[slice]:
    """Yield slices that cover ``size`` samples, each within the work buffer's bytes."""
    step = max(1, SCRATCH // max(1, bytes_each))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def part_of(samples: slice, part: slice) -> slice:
    """Return the part of a slice of samples."""
    return slice(samples.start + part.start, samples.start + part.stop)


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type to work in: numbers of 16 bits are too short for sums and squares."""
    return torch.promote_types(dtype, torch.float32)


def empty(shape: tuple[int, ...], like: Tensor, dtype: torch.dtype) -> Tensor:
    """Return memory for rows; large ones from NumPy, which asks Linux for pages of 2 MiB.

    PyTorch does so with THP_MEM_ALLOC_ENABLE=1 alone. But NumPy begins 16 bytes behind a cache
    line, and vector stores across two lines take half as long again.
    """
    size = math.prod(shape) * dtype.itemsize
    if like.device.type != "cpu" or size < HUGE:
        return torch.empty(shape, dtype=dtype, device=like.device)
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return torch.from_numpy(memory[start : start + size]).view(dtype).view(shape)
