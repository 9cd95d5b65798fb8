"""Which backend an array belongs to, and the three things losses need from it.

torch and jax are recognised, never imported, so that the NumPy path needs neither.
"""

import sys
from typing import Any

import numpy as np

from . import trees
from .engine import namespace as tracer_namespace
from .engine.tracer import Tracer


def _kind(x: Any) -> str | None:
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
            if (kind := _kind(x)) is not None:
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


def namespace_of(tree: Any) -> Any:
    """Return the Array API namespace of the first array in ``tree``: ``xp``.

    In a loss, ask it of the parameters: they decide, the data follow.
    """
    for x in trees.flatten(tree)[0]:
        kind = _kind(x)
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
    kind = _kind(x)
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
        return x.detach().cpu().numpy() if _kind(x) == "torch" else np.asarray(x)

    return trees.tree_map(convert, tree)
