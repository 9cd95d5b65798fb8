"""What a call of per_sample_grad must look like, and what is said where it does not.

Separate because every message is a sentence, and sentences are long. ``where`` opens each one.
"""

from collections.abc import Callable
from dataclasses import is_dataclass
from numbers import Integral, Number
from typing import Any

from . import trees
from .arrays import backend_of
from .backends import backend, kind_of
from .batches import axes_of, batch_size


def check_call(where: str, arguments: tuple, in_axes: Any) -> tuple[str, tuple, int]:
    """Return backend, axes and batch size, or say what is wrong with the call."""
    for n, argument in enumerate(arguments):
        for x in trees.flatten(argument)[0]:
            if (text := _refusal(x)) is not None:
                raise TypeError(f"{where}: argument {n} holds {text}.")
    name = backend_of(*arguments, where=where)
    axes = _axes(where, in_axes, len(arguments))
    for x in trees.flatten(arguments[0])[0]:
        dtype = getattr(x, "dtype", None)
        if dtype is None and not isinstance(x, Number):
            raise TypeError(
                f"{where}: a parameter is a {type(x).__name__}; give floating-point arrays, in a "
                "dict, tuple or list if there are several."
            )
        if "float" not in str(dtype):
            what = f"a Python {type(x).__name__}" if dtype is None else f"{dtype}"
            raise TypeError(
                f"{where}: a parameter is {what}; gradients need floating-point arrays: convert "
                'it with ps.backend(name).asarray(x, "float64").'
            )
    return name, axes, batch_size(where, arguments, axes)


def _refusal(x):
    """Say why a leaf is not taken; None if it is an array of a backend or a Python value."""
    kind, name = kind_of(x), type(x).__name__
    if kind is not None:
        return backend(kind).refusal(x)
    if hasattr(x, "__array__") or hasattr(x, "__dlpack__"):
        return (
            f"a {name} of {type(x).__module__.partition('.')[0]}, which is no array of a backend "
            "(its own index would be lost); give np.asarray(x), its numbers in their order"
        )
    if is_dataclass(x) and not isinstance(x, type):
        return (
            f"a {name}, a dataclass, which is no tree; give a dict, such as "
            "dataclasses.asdict(x), or a named tuple"
        )
    return None


def _axes(where, in_axes, count):
    """Return in_axes as a tuple that fits the arguments."""
    if in_axes is None:
        return (None,) + (0,) * (count - 1)
    if not isinstance(in_axes, tuple | list):
        raise TypeError(
            f"{where}: in_axes is {in_axes!r}; give a tuple with one entry for each argument, "
            "such as (None, 0, 0)."
        )
    return axes_of(where, in_axes, count)


def refuse_keywords(where: str, keywords: dict) -> None:
    """Say what to do instead of keyword arguments."""
    raise TypeError(
        f"{where}: the call has the keyword arguments {', '.join(keywords)}; in_axes counts "
        "positional arguments only: fix a constant beforehand with functools.partial(loss, "
        "name=value), and give the rest by position."
    )


def one_number(loss: Callable, has_aux: bool = False) -> Callable:
    """Return the loss, checked to give one number, in the same words in every backend."""

    def checked(*arguments):
        result = value = loss(*arguments)
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"the loss {checked.__name__} returned {_what(result)} for one sample; with "
                    "has_aux=True it must return a pair (one number, aux)."
                )
            value, aux = result
            for x in trees.flatten(aux)[0]:
                if kind_of(x) is None:
                    raise TypeError(
                        f"the loss {checked.__name__} returned an aux that holds {_what(x)}; aux "
                        "gets an axis for the samples, so give arrays: xp.asarray(x)."
                    )
        if tuple(getattr(value, "shape", (None,))) != ():
            raise ValueError(
                f"the loss {checked.__name__} returned {_what(value)} for one sample; it must "
                "return one number, a 0-d array: sum or average over the sample's own axes."
            )
        if "float" not in str(value.dtype):
            raise TypeError(
                f"the loss {checked.__name__} returned {value.dtype} for one sample; it must "
                "return a floating-point number, or it has no gradient."
            )
        return result

    checked.__name__, checked.__wrapped__ = getattr(loss, "__name__", "loss"), loss
    return checked


def _what(x):
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"an array of shape {tuple(shape)}"


def row_shapes(params: Any, axis: int | None, size: int) -> list[tuple]:
    """Return the shapes of the rows' arrays, parameter by parameter."""
    return [(size, *x.shape[axis is not None :]) for x in trees.flatten(params)[0]]


def check_out(where: str, arguments: tuple, axes: tuple, size: int, out: Any) -> None:
    """Say what is wrong with the kind, shapes and types of ``out``."""
    (old, given), (params, needed) = trees.flatten(out), trees.flatten(arguments[0])
    if given != needed:
        given, needed = (trees.tree_map(lambda _: "*", tree) for tree in (out, arguments[0]))
        raise ValueError(
            f"{where}: out is {given} and the rows are {needed}, with * for an array; give the "
            "rows of an earlier call with these parameters, or no out."
        )
    names = trees.leaf_names(out, "out")
    shapes = row_shapes(arguments[0], axes[0], size)
    for name, x, shape, p in zip(names, old, shapes, params, strict=True):
        if kind_of(x) is not None and (text := _refusal(x)) is not None:
            raise TypeError(f"{where}: {name} is {text}.")
        given, needed = _described(x, getattr(x, "shape", None)), _described(p, shape)
        if given != needed:
            raise ValueError(
                f"{where}: {name} is {given}; the rows need {needed}: give the rows of an earlier "
                "call with these shapes, or no out."
            )


def _described(x, shape):
    kind = kind_of(x)
    dtype = str(getattr(x, "dtype", None)).removeprefix("torch.")
    array = f"a {kind} array of shape {tuple(shape or ())} and type {dtype}"
    return array if kind else f"a Python {type(x).__name__}"


def check_one_place(where: str, arguments: tuple, axes: tuple, devices_along: Callable) -> None:
    """Refuse to cut a batch into chunks whose samples lie on several devices (JAX).

    A chunk is a run of samples, so it would be moved to other devices, and its rows to all.
    """
    for n, (argument, axis) in enumerate(zip(arguments, axes, strict=True)):
        for x in trees.flatten(argument)[0] if axis == 0 else ():
            if (count := devices_along(x)) > 1:
                raise ValueError(
                    f"{where}: chunk_size, and axis 0 of argument {n} is divided among {count} "
                    "devices, which a chunk would cross; let each device cut its own samples: "
                    "jax.shard_map(..., check_vma=False) around this call."
                )


def check_apart(where: str, out: Any, arguments: tuple, captured: list, shared: Callable) -> None:
    """Refuse to write over what may still be read: wrong rows in silence.

    ``captured`` is (name, array) of what the loss takes from outside; ``shared`` is that of the
    backend of ``out``.
    """
    outs = trees.leaves_of(out)
    for n, argument in enumerate(arguments):
        for x in trees.leaves_of(argument):
            for i, y in enumerate(outs):
                if shared(y, x):
                    _refuse_shared(where, out, i, f"argument {n}")
    for name, x in captured:
        for i, y in enumerate(outs):
            if shared(y, x):
                _refuse_shared(where, out, i, f"{name}, which the loss uses")


def _refuse_shared(where, out, i, what):
    raise ValueError(
        f"{where}: {trees.leaf_names(out, 'out')[i]} shares memory with {what}, so writing the "
        "one would change the other; give a copy of it, or no out."
    )


def is_count(n: Any) -> bool:
    """Say whether n is a number of things, 1 or more."""
    return isinstance(n, Integral) and not isinstance(n, bool) and n >= 1
