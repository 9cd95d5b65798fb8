"""What stands for an array while a JavaScript program is written: how each element is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .scalars import Text


@dataclass(frozen=True)
class Index:
    """Whole numbers times variables of loops, plus a whole number: which element is read."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __mul__(self, n: int) -> "Index":
        return Index(tuple([(name, n * k) for name, k in self.terms if n]), n * self.constant)

    def __add__(self, other: "Index") -> "Index":
        return Index(self.terms + other.terms, self.constant + other.constant)

    def __str__(self) -> str:
        parts = [name if k == 1 else f"{k} * {name}" for name, k in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class Value:
    """An array in the program: its shape, and the text of the element at a list of indices.

    ``name``: of the memory that holds all of it in order, or None. ``simple``: whether reading
    an element computes nothing.
    """

    shape: tuple[int, ...]
    at: Callable[[Sequence[Index]], Text]
    name: str | None = None
    simple: bool = False


def held(name: str, shape: tuple[int, ...]) -> Value:
    """Return the value that a name holds: a number, or an array in order."""
    if not shape:
        return Value((), lambda index: Text(name), name, True)
    return Value(shape, lambda index: Text(f"{name}[{offset(index, shape)}]"), name, True)


def offset(index: Sequence[Index], shape: tuple[int, ...]) -> Index:
    """Return where an element lies in memory that holds an array in order.

    Example
    -------
    >>> print(offset([Index((("i", 1),)), Index((("j", 1),), -1)], (4, 5)))
    5 * i + j - 1
    """
    place = Index()
    for i, n in zip(index, shape, strict=True):
        place = place * n + i
    return place
