"""Functions on arrays and trees of any backend, which call methods of the arrays' backend."""

from collections.abc import Callable, Iterator
from typing import Any

from .backends import backend, kind_of, loaded
from .batches import tree_leaves


def backend_of(*trees: Any, where: str = "backend_of") -> str:
    """Return the name of the backend, "numpy", "torch" or "jax", of all arrays in the trees.

    ``where`` is the name of the public function that was called; error messages begin with it.

    Raises
    ------
    TypeError : the trees hold no array, or arrays of two backends.
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

    A leaf for optree can be a tree for another backend, since JAX has tree types of its own.
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
    """Return ``xp``, the Array API namespace of the first array in ``tree``.

    In a loss, pass the parameters: they are traced, while the data may be plain arrays. A tree
    without an array raises TypeError.
    """
    for kind, x in arrays_in(tree):
        return backend(kind).namespace(x)
    raise TypeError(
        f"array_namespace: {type(tree).__name__} holds no array of NumPy, PyTorch or JAX; give it "
        "the parameters of the loss, as arrays."
    )


def stop_gradient(x: Any) -> Any:
    """Return the value of x as a constant, whose derivative is zero.

    PyTorch: ``detach``; JAX: ``lax.stop_gradient``; the NumPy engine: its own primitive. A plain
    NumPy array or a number has no derivative and is returned as it is; a tree raises TypeError.
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
    """Return x as float32 if its dtype has 16 bits or fewer, else x itself."""
    xp = array_namespace(x)
    return x if x.dtype.itemsize > 2 else xp.astype(x, xp.float32)


def is_traced(x: Any) -> bool:
    """Return whether x is an array inside a transform of its backend (see `Backend.is_traced`)."""
    kind = kind_of(x)
    return kind is not None and backend(kind).is_traced(x)


def leaves(tree: Any) -> list:
    """Return the list of the arrays in a tree; other leaves are left out."""
    return [x for _, x in arrays_in(tree)]


def tree_map(f: Callable, tree: Any, *others: Any) -> Any:
    """Apply f to corresponding leaves of trees of one structure; return the tree of results."""
    kind = next((kind for kind, _ in arrays_in(tree)), "numpy")
    return backend(kind).tree_map(f, tree, *others)


def to_numpy(tree: Any) -> Any:
    """Return the tree with every leaf as a NumPy array in main memory, detached from any graph."""
    return tree_map(lambda x: backend(kind_of(x) or "numpy").to_numpy(x), tree)
