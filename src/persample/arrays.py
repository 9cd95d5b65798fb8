"""Which backend an array belongs to, where its memory is, and the three things losses need of it.

torch and jax are recognised, never imported, so that the NumPy path needs neither.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import trees
from .engine import namespace as tracer_namespace
from .engine.tracer import Tracer


def kind_of(x: Any) -> str | None:
    """Return the name of the backend that x belongs to, None if x is no array."""
    if isinstance(x, Tracer | np.ndarray | np.generic):
        return "numpy"
    for name, array_type in (("torch", "Tensor"), ("jax", "Array")):
        module = sys.modules.get(name)  # an array of a package that is not loaded cannot exist
        if module is not None and isinstance(x, getattr(module, array_type)):
            return name
    return None


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


def span(x: Any) -> tuple[int, int]:
    """Return where the memory of an array begins and ends, for a tensor that of its storage.

    A JAX array cannot be written to, so two share memory only where they are one object.
    """
    if isinstance(x, np.ndarray):
        return np.lib.array_utils.byte_bounds(x)
    if kind_of(x) == "torch":
        storage = x.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    return id(x), id(x) + 1


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Say whether two spans have an address in common."""
    return one[0] < other[1] and other[0] < one[1]


def repeats(x: Any) -> bool:
    """Say whether an array shows a number of its memory more than once: a broadcast."""
    strides = x.stride() if kind_of(x) == "torch" else getattr(x, "strides", ())
    return any(n > 1 and step == 0 for n, step in zip(x.shape, strides, strict=False))


def into(f: Callable, jit: bool) -> Callable:
    """Return ``g(out, start, *args)``: f(\\*args) written into ``out`` from row ``start`` on."""

    def write(out, start, *args):
        def put(whole, x):
            whole[start : start + len(x)] = x
            return whole

        return trees.tree_map(put, out, f(*args))

    return write


def namespace_of(tree: Any) -> Any:
    """Return the Array API namespace of the first array in ``tree``: ``xp``.

    In a loss, ask it of the parameters: they decide, the data follow.
    """
    for x in trees.flatten(tree)[0]:
        kind = kind_of(x)
        if kind == "torch":  # torch's own names differ from the standard's
            import array_api_compat.torch as torch_namespace

            return torch_namespace
        if kind is not None:
            return np if isinstance(x, np.generic) else x.__array_namespace__()
    raise TypeError(
        f"namespace_of: {type(tree).__name__} holds no array of NumPy, PyTorch or JAX; give it "
        "the parameters of the loss, as arrays."
    )


def stop_gradient(x: Any) -> Any:
    """Return x with the same value and derivative zero: held fixed.

    torch: ``detach``; JAX: ``lax.stop_gradient``; the NumPy engine: its own primitive. A plain
    NumPy array or a number has no derivative and is returned as it is.
    """
    if isinstance(x, Tracer):
        return tracer_namespace.stop_gradient(x)
    kind = kind_of(x)
    if kind == "torch":
        return x.detach()
    if kind == "jax":
        return sys.modules["jax"].lax.stop_gradient(x)
    if kind == "numpy" or isinstance(x, int | float):
        return x
    raise TypeError(
        f"stop_gradient: {type(x).__name__} is not an array or a number; give one array at a time."
    )


def to_numpy(tree: Any) -> Any:
    """Return the tree with every array as a NumPy array, detached from any graph."""

    def convert(x):
        if isinstance(x, Tracer):
            return np.asarray(x.concrete())
        return x.detach().cpu().numpy() if kind_of(x) == "torch" else np.asarray(x)

    return trees.tree_map(convert, tree)
