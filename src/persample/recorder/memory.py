"""Detect shared and overlapping array memory, of NumPy's arrays and of tensors."""

from typing import Any

import numpy as np


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
