"""Validate in_axes and the batch size, for the engine's vmap and for functions of a batch.

``where`` is the name of the public function that was called; error messages begin with it.
"""

from collections.abc import Callable
from typing import Any

import optree


def tree_leaves(tree: Any) -> list:
    """Return the leaves of a tree in the order in which `optree.tree_map` visits them.

    It calls ``tree_map`` because torch.compile visits leaves in another order, and cannot compile
    optree's other functions where a part of the tree holds no tensor.
    """
    found: list = []
    optree.tree_map(lambda x: found.append(x), tree)  # PyTorch 2.10 compiles no bare append
    return found


def map_axes(f: Callable, axes: Any, tree: Any) -> Any:
    """Return the tree of f(axis, subtree) for the entries of ``axes``, a prefix of ``tree``."""
    return optree.tree_map(f, axes, tree, none_is_leaf=True)


def leaf_axes(
    where: str,
    in_axes: Any,
    arguments: tuple,
    map_axes: Callable = map_axes,
    leaves: Callable = tree_leaves,
) -> list[tuple[int, int | None, Any]]:
    """Return (argument index, axis, leaf) for each leaf; in_axes is as in ``jax.vmap``.

    Raise ValueError if in_axes, a sequence, does not fit the arguments. ``map_axes`` and
    ``leaves`` are functions of the same tree library, by default optree.
    """
    if len(in_axes) != len(arguments):
        raise ValueError(
            f"{where}: in_axes has {len(in_axes)} entries, the call has {len(arguments)} "
            "arguments; give one entry for each argument: the axis that counts the samples, or "
            "None (shared by all samples)."
        )
    found: list = []
    for n, (entry, argument) in enumerate(zip(in_axes, arguments, strict=True)):

        def add(axis, part, n=n):
            found.extend((n, axis, x) for x in leaves(part))

        try:
            map_axes(add, entry, argument)
        except ValueError as error:
            raise ValueError(
                f"{where}: in_axes has the entry {entry!r}, which does not fit argument {n}; give "
                "an axis, None, or a tree of these that begins like the argument."
            ) from error
    return found


def batch_size(where: str, found: list[tuple[int, int | None, Any]], empty: bool = False) -> int:
    """Return the common length of the sample axis in ``found``, a list from `leaf_axes`.

    `checks.check_axes` calls both functions for the trees of a backend. Raise ValueError if the
    lengths differ, an axis does not exist, no array is batched, or the length is 0 (unless
    ``empty``); TypeError if a batched leaf is not an array.
    """
    sizes: dict = {}  # length -> the first argument that has it
    for n, axis, x in found:
        if axis is None:
            continue
        if type(axis) is not int:
            raise ValueError(
                f"{where}: in_axes has the entry {axis!r}; each entry is an axis (an integer, 0 "
                "for the first) or None (shared by all samples)."
            )
        if not hasattr(x, "shape"):
            raise TypeError(
                f"{where}: argument {n} is batched and holds {x!r}, a Python value without an "
                "axis that counts samples (a list is a tree, not an array); make it an array "
                "with ps.backend(name).asarray, or mark it as shared with None in in_axes."
            )
        if not -len(x.shape) <= axis < len(x.shape):
            raise ValueError(
                f"{where}: argument {n} is {len(x.shape)}-d, so it has no axis {axis} that counts "
                "samples; give one entry for each sample, or mark it as shared with None in "
                "in_axes."
            )
        sizes.setdefault(x.shape[axis], n)
    if not sizes:
        raise ValueError(f"{where}: in_axes marks no array as batched; give an argument the 0.")
    if len(sizes) > 1:
        listed = ", ".join(f"{size} (argument {n})" for size, n in sizes.items())
        raise ValueError(
            f"{where}: the batch sizes differ: {listed}; the axis of samples must have one length "
            "in every batched argument; mark what all samples share with None in in_axes."
        )
    if 0 in sizes and not empty:
        raise ValueError(f"{where}: the batch is empty; give at least one sample.")
    return next(iter(sizes))
