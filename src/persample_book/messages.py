"""Error messages as a page shows them: kind and first sentence, or all of it, wrapped.

Separate because pages about errors need nothing else, and the library needs no such thing.
"""

import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

WIDTH = 76  # letters, what a page shows without scrolling


def message(call: Callable, *args: Any) -> str:
    """Call a function and return its error's kind and first sentence, or "no error".

    Example
    -------
    >>> print(message(int, "x"))
      ValueError: invalid literal for int() with base 10: 'x'
    >>> print(message(int, "1"))
      no error
    """
    text = "no error"
    try:
        call(*args)
    except Exception as error:
        first = str(error).strip().partition("\n")[0].partition(". ")[0]
        text = f"{type(error).__name__}: {first}"
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def without_place(message: Any) -> str:
    """Return the text of a warning without the line of C++ that it came from."""
    return re.sub(r" ?\(Triggered internally at [^)]*\)", "", str(message))


@contextmanager
def show_message() -> Iterator[None]:
    """Print the error or the warnings of the ``with`` block, and go on after it.

    Raises
    ------
    RuntimeError
        "show_message: the block gave neither an error nor a warning": a page that shows a
        failing program has to notice when it no longer fails.

    Example
    -------
    >>> with show_message():
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:
            caught.append(error)
    if not caught:
        raise RuntimeError("show_message: the block gave neither an error nor a warning")
    for thing in caught:
        thing = getattr(thing, "message", thing)
        for line in f"{type(thing).__name__}: {without_place(thing)}".splitlines():
            print(textwrap.fill(line, WIDTH + 2))
