"""Functions on arrays and trees that find the backend and call its method."""

from collections.abc import Callable, Iterator
from typing import Any

from .backends import backend, kind_of, loaded
from .batches import tree_leaves


def backend_of(*trees: Any, where: str = "backend_of") -> str:
    """Return "numpy", "torch" or "jax": the one backend that all arrays belong to.

    ``where`` is the public function that was called; the message begins with it.

    Raises
    ------
    TypeError : there is no array, or there are arrays of two backends.
    """
    kinds: dict[str, int] = {}
    for n, tree in enumerate(trees):
        for kind, _ in arrays_in(tree):
            kinds.setdefault(kind, n)
    if not kinds:
        given = ", ".join(type(tree).__name__ for tree in trees)
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


def arrays_in(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name of its backend, array) for each array of a tree.

    What is a leaf for optree may be a tree for JAX, which has its own registry of tree types.
    """
    for x in tree_leaves(tree):
        if (kind := kind_of(x)) is not None:
            yield kind, x
            continue
        for own in loaded():
            for y in own.flatten(x)[0]:
                if kind_of(y) == own.name:
                    yield own.name, y


def array_namespace(tree: Any) -> Any:
    """Return the Array API namespace of the first array in ``tree``: ``xp``.

    In a loss, give it the parameters: they are traced, the data may be plain arrays.
    """
    for kind, x in arrays_in(tree):
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
    """Return a 16-bit array as float32, any other as it is."""
    xp = array_namespace(x)
    return x if x.dtype.itemsize > 2 else xp.astype(x, xp.float32)


def is_traced(x: Any) -> bool:
    """Return whether x is a tracer of a backend."""
    kind = kind_of(x)
    return kind is not None and backend(kind).is_traced(x)


def leaves(tree: Any) -> list:
    """Return the arrays of a tree."""
    return [x for _, x in arrays_in(tree)]


def tree_map(f: Callable, tree: Any, *others: Any) -> Any:
    """Apply f to the arrays of trees of one structure, place by place."""
    kind = next((kind for kind, _ in arrays_in(tree)), "numpy")
    return backend(kind).tree_map(f, tree, *others)


def to_numpy(tree: Any) -> Any:
    """Return the tree with every array as a NumPy array, detached from any graph."""
    return tree_map(lambda x: backend(kind_of(x) or "numpy").to_numpy(x), tree)
