"""in_axes and the batch size of a call: what they must be, said once for vmap and per_sample_grad.

``where`` opens each message: the function that the reader called.
"""

from typing import Any

from . import trees


def axes_of(where: str, in_axes: Any, count: int) -> tuple:
    """Return in_axes as a tuple with one entry for each of ``count`` arguments."""
    if len(in_axes) != count:
        raise ValueError(
            f"{where}: in_axes has {len(in_axes)} entries, the call has {count} arguments; give "
            "one entry for each argument: 0 (axis 0 counts the samples) or None (shared)."
        )
    for axis in in_axes:
        if axis is not None and not (type(axis) is int and axis == 0):
            raise ValueError(
                f"{where}: in_axes has the entry {axis!r}; each entry is 0 (axis 0 counts the "
                "samples) or None (shared by all samples)."
            )
    return tuple(in_axes)


def batch_size(where: str, arguments: Any, axes: tuple) -> int:
    """Return the length of axis 0 of all batched arrays, which must be one."""
    sizes: dict = {}  # length -> the first argument that has it
    for n, (argument, axis) in enumerate(zip(arguments, axes, strict=True)):
        for x in trees.flatten(argument)[0] if axis == 0 else ():
            if not hasattr(x, "shape"):
                raise TypeError(
                    f"{where}: argument {n} is batched and holds {x!r}, a Python value without an "
                    "axis that counts samples (a list is a tree, not an array); make it an array "
                    "with ps.backend(name).asarray, or mark it as shared with None in in_axes."
                )
            if len(x.shape) == 0:
                raise ValueError(
                    f"{where}: argument {n} is 0-d, so it has no axis that counts samples; give "
                    "one entry for each sample, or mark it as shared with None in in_axes."
                )
            sizes.setdefault(x.shape[0], n)
    if not sizes:
        raise ValueError(f"{where}: in_axes marks no array as batched; give an argument the 0.")
    if len(sizes) > 1:
        listed = ", ".join(f"{size} (argument {n})" for size, n in sizes.items())
        raise ValueError(
            f"{where}: the batch sizes differ: {listed}; axis 0 of every batched argument must "
            "have one length; mark what all samples share with None in in_axes."
        )
    if 0 in sizes:
        raise ValueError(f"{where}: the batch is empty; give at least one sample.")
    return next(iter(sizes))
