"""Which backend arrays belong to, and what a loss or a statistic needs of its backend.

Each asks the backend's own module, which is loaded when the first of its arrays is seen.
"""

from typing import Any

from . import trees
from .backends import backend, kind_of


def backend_of(*trees_of_arrays: Any, where: str = "backend_of") -> str:
    """Return "numpy", "torch" or "jax": the one backend that all arrays belong to.

    ``where`` opens the error text: the function that the reader called.

    Raises
    ------
    TypeError : there is no array, or there are arrays of two backends.
    """
    kinds: dict[str, int] = {}
    for n, tree in enumerate(trees_of_arrays):
        for x in trees.flatten(tree)[0]:
            if (kind := kind_of(x)) is not None:
                kinds.setdefault(kind, n)
    if not kinds:
        given = ", ".join(type(tree).__name__ for tree in trees_of_arrays)
        raise TypeError(
            f"{where}: the arguments ({given or 'none were given'}) hold no array, so no backend "
            "can be chosen; convert them with ps.backend(name).asarray."
        )
    if len(kinds) > 1:
        listed = " and ".join(f"{kind} (argument {n})" for kind, n in kinds.items())
        raise TypeError(
            f"{where}: the arguments mix arrays of {listed}; all must belong to one backend: "
            "convert them with ps.backend(name).asarray."
        )
    return next(iter(kinds))


def array_namespace(tree: Any) -> Any:
    """Return the Array API namespace of the first array in ``tree``: ``xp``.

    In a loss, ask it of the parameters: they decide, the data follow.
    """
    for x in trees.flatten(tree)[0]:
        kind = kind_of(x)
        if kind is not None:
            return backend(kind).namespace(x)
    raise TypeError(
        f"array_namespace: {type(tree).__name__} holds no array of NumPy, PyTorch or JAX; give it "
        "the parameters of the loss, as arrays."
    )


def stop_gradient(x: Any) -> Any:
    """Return x with the same value and derivative zero: held fixed.

    torch: ``detach``; JAX: ``lax.stop_gradient``; the NumPy engine: its own primitive. A plain
    NumPy array or a number has no derivative and is returned as it is.
    """
    kind = kind_of(x)
    if kind is not None:
        return backend(kind).stop_gradient(x)
    if isinstance(x, int | float):
        return x
    raise TypeError(
        f"stop_gradient: {type(x).__name__} is not an array or a number; give one array at a time."
    )


def widened(x: Any) -> Any:
    """Return an array in float32 if its numbers have 16 bits, as it is if not."""
    xp = array_namespace(x)
    return x if x.dtype.itemsize > 2 else xp.astype(x, xp.float32)


def to_numpy(tree: Any) -> Any:
    """Return the tree with every array as a NumPy array, detached from any graph."""
    return trees.tree_map(lambda x: backend(kind_of(x) or "numpy").to_numpy(x), tree)
