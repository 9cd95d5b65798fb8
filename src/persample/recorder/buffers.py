"""What ``rows(out=...)`` may write to: memory that is nobody else's. Checked before it is done."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from ..backends import backend, kind_of
from . import memory


def check_buffers(source: Any, size: int, forms: dict[str, list], out: dict[str, Any]) -> None:
    """Say what is wrong with ``out``: its kind, shapes, types, or whose memory it is."""
    _check_shapes(source.parameters, size, out)
    names, written = [f"out[{name!r}]" for name in out], list(out.values())
    for name, x in zip(names, written, strict=True):
        if not memory.can_be_written(x):
            raise ValueError(
                f"rows: {name} is read-only, or shows a number of its memory more than once, as a "
                "broadcast does; give the rows of an earlier call, or no out."
            )
    held = [
        (f"what the rows of {name} are made of", x)
        for name, uses in forms.items()
        for x in _arrays_of(uses)
    ]
    held += source.held()
    found = memory.first_overlap(written, [x for _, x in held])
    if found is not None:
        n, m = found
        raise ValueError(
            f"rows: {names[n]} shares memory with {[*names, *(what for what, _ in held)][m]}, so "
            "writing the one would change the other; give a copy of it, or no out."
        )


def _arrays_of(x: Any) -> Iterator[Any]:
    """Yield the arrays that forms hold."""
    if hasattr(x, "data_ptr") or hasattr(x, "__array_interface__"):
        yield x
    elif isinstance(x, list | tuple):
        for part in x:
            yield from _arrays_of(part)
    elif is_dataclass(x):
        yield from _arrays_of(list(vars(x).values()))


def _check_shapes(parameters: dict[str, Any], size: int, out: dict[str, Any]) -> None:
    """Say what is wrong with the names, kinds, shapes and types of ``out``."""
    if not isinstance(out, dict) or out.keys() != parameters.keys():
        given = dict.fromkeys(out, "*") if isinstance(out, dict) else f"a {type(out).__name__}"
        raise ValueError(
            f"rows: out is {given} and the rows are "
            f"{dict.fromkeys(parameters, '*')}, with * for an array; give the rows of an earlier "
            "call with these parameters, or no out."
        )
    for name, p in parameters.items():
        x, shape = out[name], (size, *p.shape)
        kind = kind_of(x)
        if kind is not None and (text := backend(kind).refusal(x)) is not None:
            raise TypeError(f"rows: out_{name} is {text}.")
        given, needed = _described(x, getattr(x, "shape", None)), _described(p, shape)
        if given != needed:
            raise ValueError(
                f"rows: out_{name} is {given}; the rows need {needed}: give the rows of an "
                "earlier call with these shapes, or no out."
            )


def _described(x, shape):
    kind = kind_of(x)
    dtype = str(getattr(x, "dtype", None)).removeprefix("torch.")
    array = f"a {kind} array of shape {tuple(shape or ())} and type {dtype}"
    return array if kind else f"a Python {type(x).__name__}"
