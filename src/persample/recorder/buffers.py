"""What ``rows(out=...)`` may write to: memory that is nobody else's. Checked before it is done."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from .. import memory
from ..checks import check_out


def check_buffers(source: Any, size: int, forms: dict[str, list], out: dict[str, Any]) -> None:
    """Say what is wrong with ``out``: its kind, shapes, types, or whose memory it is."""
    check_out("rows", (source.parameters,), (None,), size, out)
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
