"""Choose Python names for the arguments and values of a generated program."""

import inspect
import itertools
import keyword
from collections.abc import Callable, Iterator
from string import ascii_lowercase


def argument_names(f: Callable, args: tuple) -> list[str]:
    """Return a name for each argument: its parameter name in ``f``, else x and its position.

    Example
    -------
    >>> argument_names(lambda w, *rest: w, (1, 2))
    ['w', 'x1']
    """
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"x{i}" for i in range(len(names), len(args))])[: len(args)]


def free_name(wish: str, taken: set) -> str:
    """Return an identifier like ``wish`` that is not in ``taken``, and add it to ``taken``.

    Example
    -------
    >>> free_name("a key", taken := {"w"}), free_name("w", taken), free_name("if", taken)
    ('a_key', 'w_', 'if_')
    """
    name = "".join(c if f"_{c}".isidentifier() else "_" for c in wish)
    while name in taken or keyword.iskeyword(name) or not name.isidentifier():
        name += "_"
    taken.add(name)
    return name


def short_names(taken: set) -> Iterator[str]:
    """Return an endless iterator over a, b, ..., z, a1, b1, ... without the names in ``taken``."""
    names = (f"{letter}{n or ''}" for n in itertools.count() for letter in ascii_lowercase)
    return (name for name in names if name not in taken)
