"""Work buffers that fit into the processor's cache, and arrays for rows in huge pages."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

# Bytes of a work buffer. It stays in the cache, and the allocator reuses it; fresh memory costs a
# page fault each 4 KiB, which takes longer than the arithmetic on it.
SCRATCH = 2**22
# Bytes of rows that may be cached for the next question.
CACHE_BYTES = 2**26
HUGE = 2**22  # bytes from which NumPy requests huge pages
LINE = 64  # bytes of a cache line


def slices(size: int, bytes_each: int) -> Iterator[slice]:
    """Yield consecutive slices that cover ``size`` samples, each of ``bytes_each`` bytes.

    A slice has as many samples as fit into `SCRATCH` bytes, but at least one.
    """
    step = max(1, SCRATCH // max(1, bytes_each))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def part_of(samples: slice, part: slice) -> slice:
    """Return ``part``, a slice relative to ``samples.start``, as a slice of the batch."""
    return slice(samples.start + part.start, samples.start + part.stop)


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype in which to sum and square: float32 for 16-bit dtypes, else ``dtype``."""
    return torch.promote_types(dtype, torch.float32)


def empty(shape: tuple[int, ...], like: Tensor, dtype: torch.dtype) -> Tensor:
    """Return an uninitialised tensor on ``like``'s device; NumPy allocates large ones on the CPU.

    NumPy requests 2 MiB pages on Linux, PyTorch only with THP_MEM_ALLOC_ENABLE=1. The start is
    aligned to a cache line: NumPy's own is 16 bytes behind one, where stores are slower.
    """
    size = math.prod(shape) * dtype.itemsize
    if like.device.type != "cpu" or size < HUGE:
        return torch.empty(shape, dtype=dtype, device=like.device)
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return torch.from_numpy(memory[start : start + size]).view(dtype).view(shape)
