"""The NumPy backend: the engine of this package. The other backends have the same names."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import engine, memory, trees
from ..engine import grad, vmap
from ..engine import namespace as tracer_namespace
from ..engine.tracer import Tracer
from ..memory import devices_along, into, samples_at_once, shared

__all__ = [
    "FREEZES",
    "KEEPS",
    "NAME",
    "asarray",
    "devices_along",
    "empty",
    "examine",
    "grad",
    "into",
    "jit",
    "may_write",
    "namespace",
    "overwrite",
    "own",
    "refusal",
    "samples_at_once",
    "shared",
    "stop_gradient",
    "to_numpy",
    "traced",
    "value_and_grad",
    "vmap",
]

NAME = "numpy"
FREEZES = True  # a compiled function keeps what the loss took from outside when it was traced
KEEPS = (object,)  # Python values that jit takes as they are; others are bound beforehand


# Arrays.
def asarray(x: Any, dtype: str | None = None) -> np.ndarray:
    """Return x as an array; ``dtype`` by name, "float64"; floats are float64 by default."""
    return np.asarray(x, dtype)


def to_numpy(x: Any) -> np.ndarray:
    """Return one array as a NumPy array, detached from any graph."""
    return np.asarray(x.concrete() if isinstance(x, Tracer) else x)


def namespace(x: Any) -> Any:
    """Return the Array API namespace of an array."""
    return np if isinstance(x, np.generic) else x.__array_namespace__()


def stop_gradient(x: Any) -> Any:
    """Return x with the same value and derivative zero; a plain array is held fixed anyway."""
    return tracer_namespace.stop_gradient(x) if isinstance(x, Tracer) else x


def refusal(x: Any) -> str | None:
    """Say why an array is not taken, and what to give in its place; None if it is."""
    if isinstance(x, Tracer | np.generic) or type(x) is np.ndarray:
        kind = x.dtype.kind
        if kind not in "biufc":
            return f"an array of type {x.dtype}; give an array of numbers"
        if x.dtype.isnative:
            return None
        return (
            f"an array of type {x.dtype.str}, whose bytes are in another order than this "
            'machine\'s; give x.astype(x.dtype.newbyteorder("="))'
        )
    way = "x.filled(value)" if isinstance(x, np.ma.MaskedArray) else "np.asarray(x)"
    return (
        f"a {type(x).__name__}, a subclass of NumPy's array whose own rules would be lost; "
        f"give {way}"
    )


# Transforms.
def value_and_grad(
    f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """Return a function computing (value, gradient), or ((value, aux), gradient)."""
    if not has_aux:
        return engine.value_and_grad(f, argnums)

    def run(*args):
        kept = []

        def value_alone(*lifted):
            value, aux = f(*lifted)
            own = {x._trace for x in trees.flatten(lifted)[0] if isinstance(x, Tracer)}
            # What belongs to this trace ends with it: keep the value behind it.
            plain = lambda x: x.value if getattr(x, "_trace", None) in own else x  # noqa: E731
            kept.append(trees.tree_map(plain, aux))
            return value

        value, gradient = engine.value_and_grad(value_alone, argnums)(*args)
        return (value, kept[0]), gradient

    return run


def jit(f: Callable) -> Callable:
    """Compile f to straight-line NumPy, once for each set of shapes and dtypes."""
    return engine.jit(f)


def examine(gradient: Callable, sample: Callable) -> None:
    """Refuse a loss that cuts its gradient unnoticed; the engine does so by itself."""


# The memory of rows.
def empty(shape: tuple[int, ...], like: Any) -> np.ndarray:
    """Return fresh memory of an array's type, where the array is."""
    return np.empty(shape, like.dtype)


def own(rows: Any) -> Any:
    """Return arrays to write to: those of ``rows``, fresh ones where they share memory."""
    return memory.apart(rows, np.empty_like)


def may_write(out: np.ndarray, arguments: tuple) -> bool:
    """Say at once whether ``out`` may be written over while arguments are read; False: look."""
    flags, plain = out.flags, np.ndarray
    if not (flags.owndata and flags.carray):  # carray: writable, and each number once
        return False
    for x in arguments:
        if x.__class__ is not plain or x is out:
            return False
        if x.base is not None and np.may_share_memory(out, x):  # no base: memory of its own
            return False
    return True


def overwrite(f: Callable) -> Callable | None:
    """Return ``g(out, *args)``, which writes f(\\*args) into ``out``, for f compiled by `jit`.

    None: nothing is faster than to copy, as ``into`` does.
    """
    return f.into


def traced(x: Any) -> bool:
    """Say whether x stands for an array inside a transform, where no memory can be written."""
    return isinstance(x, Tracer)
