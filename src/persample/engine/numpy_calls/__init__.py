"""NumPy's functions for tracers, by topic: each has NumPy's own name, signature and meaning.

What a function does stands in NumPy's documentation; a docstring here says only what is not
there. An argument marked ``Fixed`` may have NumPy's default and no other value: the table in
``numpy_functions`` refuses the rest before the function is called.
"""

import numpy as np


class Fixed:
    """Marks an argument of which only the default is accepted."""


def refuse(name, what, instead, where="np."):
    """Say which call of NumPy's the engine does not answer, and what to write."""
    raise TypeError(f"{where}{name}: {what}; {instead}.")


def tracers(x):
    """Return the tracers in x, also those in lists and tuples."""
    if isinstance(x, list | tuple):
        return [t for part in x for t in tracers(part)]
    return [x] if hasattr(x, "_trace") else []


def known(name, argument, value):
    """Return an argument that decides shapes or places as an array; a tracer is refused."""
    for x in tracers(value):
        refuse(
            name,
            f"{argument} is {x!r}, and the program must know it before it runs",
            "give numbers from outside the transform",
        )
    return np.asarray(value)
