"""Work on a few samples at a time, in memory that stays in the cache."""

from collections.abc import Iterator

# Bytes of a work buffer. It stays in the cache and is handed out again by the allocator, while
# fresh memory costs a page fault each 4 KiB: more than the arithmetic done in it.
SCRATCH = 2**22


def slices(size: int, bytes_each: int) -> Iterator[slice]:
    """Yield slices that cover ``size`` samples, each within the work buffer's bytes."""
    step = max(1, SCRATCH // max(1, bytes_each))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))
