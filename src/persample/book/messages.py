"""Error messages as a page shows them: kind and first sentence, wrapped.

Separate because pages about errors need nothing else, and the library needs no such thing.
"""

import textwrap
from collections.abc import Callable
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
