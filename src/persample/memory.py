"""What memory an array has: where it lies, whether two arrays share it, whether one repeats it.

It imports no framework: a NumPy array is known by its type, a tensor by its storage. Any other
array is its own memory here, which is right if it cannot be written to (JAX); a backend of other
arrays brings a ``shared`` of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import trees

# Bytes of rows computed at a time and copied into ``out``: few enough to stay in the cache, and
# to be handed out again by the allocator, which returns larger blocks to the system.
CHUNK = 2**23


def span(x: Any) -> tuple[int, int]:
    """Return where the memory of an array begins and ends; for a tensor, that of its storage."""
    if isinstance(x, np.ndarray):
        return np.lib.array_utils.byte_bounds(x)
    if hasattr(x, "untyped_storage"):
        storage = x.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    return id(x), id(x) + 1


def shared(x: Any, y: Any) -> bool:
    """Say whether writing to x may change y: their spans have an address in common."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return np.may_share_memory(x, y)  # compares the same spans, ten times as fast
    (start, end), (other_start, other_end) = span(x), span(y)
    return start < other_end and other_start < end


def any_shared(xs: Sequence, ys: Sequence, shared: Callable = shared) -> bool:
    """Say whether writing to one of ``xs`` may change one of ``ys``.

    ``shared`` says it of two: the function above, or that of another backend.
    """
    may_share, plain = np.may_share_memory, np.ndarray
    for x in xs:
        for y in ys:
            both = x.__class__ is plain and y.__class__ is plain
            if may_share(x, y) if both else shared(x, y):
                return True
    return False


def extent(x: Any) -> tuple[int, int]:
    """Return the addresses between which the numbers of an array or a tensor lie."""
    if isinstance(x, np.ndarray):
        return np.lib.array_utils.byte_bounds(x)
    start = x.data_ptr()
    if x.is_contiguous() or not x.numel():
        return start, start + x.nbytes
    last = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))
    return start, start + (last + 1) * x.itemsize


def first_overlap(written: list, held: list) -> tuple[int, int] | None:
    """Return n and m if ``written[n]`` has a number in common with array m, and None if none has.

    The arrays are counted through: those that are written, then those that are held.
    """
    arrays = [*written, *held]
    end = end_written = 0
    for start, stop, n in sorted((*extent(x), n) for n, x in enumerate(arrays)):
        if start < (end if n < len(written) else end_written):
            break
        end = max(end, stop)
        end_written = max(end_written, stop if n < len(written) else 0)
    else:
        return None  # no two extents meet
    for n, x in enumerate(written):
        for m, y in enumerate(arrays):
            if m > n and _common(x, y):
                return n, m
    return None


def _common(x, y):
    """Say whether two arrays have a number in common; where that is hard to tell, that they do."""
    try:
        return np.shares_memory(_Addresses(x).view(), _Addresses(y).view(), max_work=10**5)
    except np.exceptions.TooHardError:
        return True


class _Addresses:
    """Where the numbers of an array lie, in the form in which NumPy takes it; nothing is read."""

    def __init__(self, x: Any) -> None:
        start, strides = extent(x)[0], getattr(x, "strides", None)
        if isinstance(x, np.ndarray):
            start = x.__array_interface__["data"][0]
        else:
            strides = tuple(n * x.itemsize for n in x.stride())
        self.__array_interface__ = {
            "version": 3,
            "data": (start, True),
            "shape": tuple(x.shape),
            "strides": strides,
            "typestr": f"|V{x.itemsize}",
        }

    def view(self) -> np.ndarray:
        return np.asarray(self)


def repeats(x: Any) -> bool:
    """Say whether an array shows a number of its memory more than once: a broadcast."""
    strides = x.stride() if hasattr(x, "untyped_storage") else getattr(x, "strides", ())
    return 0 in strides and any(n > 1 and s == 0 for n, s in zip(x.shape, strides, strict=True))


def can_be_written(x: Any) -> bool:
    """Say whether each number of an array has memory of its own, which is not read-only."""
    return getattr(getattr(x, "flags", None), "writeable", True) and not repeats(x)


def apart(tree: Any, fresh: Callable, shared: Callable = shared) -> Any:
    """Return arrays that can be written to one by one: ``fresh(x)`` where x shares its memory.

    Rows of an ordinary call may be a broadcast, or one array for two parameters. ``shared`` is
    that of ``any_shared``.
    """
    if not isinstance(tree, trees.CONTAINERS):
        return tree if can_be_written(tree) else fresh(tree)
    taken: list = []

    def own(x):
        if not can_be_written(x) or any(shared(x, other) for other in taken):
            return fresh(x)
        taken.append(x)
        return x

    return trees.tree_map(own, tree)


def into(f: Callable, jit: bool) -> Callable:
    """Return ``g(out, start, *args)`` for f(\\*args) = (rows, extra).

    It writes the rows into ``out``, from row ``start`` on, and returns (rows, extra). None in
    place of ``start``: the rows fill ``out``.
    """

    def write(out, start, *args):
        rows, extra = f(*args)
        if start is None:
            return trees.tree_map(_fill, out, rows), extra

        def put(whole, x):
            whole[start : start + x.shape[0]] = x
            return whole

        return trees.tree_map(put, out, rows), extra

    return write


def _fill(whole, x):
    whole[...] = x
    return whole


def devices_along(x: Any) -> int:
    """Return over how many devices axis 0 of an array is divided; a backend of one array on one
    device needs no other.
    """
    return 1


def samples_at_once(size: int, nbytes: int) -> int:
    """Return how many of ``size`` samples to write at a time if their rows have ``nbytes``."""
    parts = -(-nbytes // CHUNK)
    return -(-size // max(parts, 1))
