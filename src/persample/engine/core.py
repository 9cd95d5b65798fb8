"""The common parts of all transforms: primitives, traces, and ``bind``.

A transform never inspects the source of the user's function. It passes *tracers* in, and every
operation on a tracer calls ``bind``, which applies a primitive by the tracer's *trace*. This
module depends neither on the list of primitives nor on any transform.
"""

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

ELEMENTWISE, VIEW, OTHER = "elementwise", "view", "other"


@dataclass(frozen=True, eq=False)
class Primitive:
    """An operation for which the transforms have rules; ``numpy`` computes it on arrays.

    ``kind`` is ELEMENTWISE if each output element depends only on the input elements in the same
    place, VIEW if the output may share the memory of the input, else OTHER. Arrays are positional
    arguments of ``numpy``, parameters such as axes are keywords.
    """

    name: str
    numpy: Callable
    kind: str = OTHER


class Trace:
    """One run of a transform, at nesting depth ``level``; ``alive`` is False once it has ended."""

    name = "trace"

    def __init__(self, level: int):
        self.level = level
        self.alive = True

    def lift(self, value: Any) -> Any:
        """Wrap a value from outside of the trace as a constant tracer; subclasses define this."""

    def process(self, primitive: Primitive, inputs: list, params: dict) -> Any:
        """Apply ``primitive`` to tracers of this trace; return another. Subclasses define this."""


def bind(primitive: Primitive, *inputs: Any, **params: Any) -> Any:
    """Apply ``primitive``: to arrays by NumPy, to tracers by the innermost of their traces.

    Levels keep nested transforms apart. In ``grad(lambda x: x * grad(lambda y: x + y)(1.0))`` the
    inner trace must treat ``x`` as a constant although it is itself being differentiated. It does,
    because ``x`` belongs to a lower level and is lifted, not unwrapped.
    """
    top = None
    for x in inputs:
        trace = getattr(x, "_trace", None)
        if trace is not None and (top is None or trace.level > top.level):
            top = trace
    if top is None:
        return primitive.numpy(*inputs, **params)
    return top.process(primitive, [as_tracer(top, x) for x in inputs], params)


def as_tracer(trace: Trace, x: Any) -> Any:
    """Return x if it is a tracer of ``trace``, else lift it; ValueError if its trace has ended."""
    own = getattr(x, "_trace", None)
    if own is not None and not own.alive:
        raise ValueError(
            f"a tracer of {own.name} was used after {own.name} had returned; "
            "return the value from the function instead of storing it outside."
        )
    return x if own is trace else trace.lift(x)


_running = threading.local()


@contextmanager
def new_trace(kind: type, *args: Any):
    """Yield a new innermost trace, ``kind(level, *args)``, which ends with the ``with`` block."""
    level = getattr(_running, "level", 0) + 1
    trace = kind(level, *args)
    _running.level = level
    try:
        yield trace
    except ValueError as error:
        # NumPy asked a tracer for a number and replaced the tracer's TypeError by a ValueError.
        asked = isinstance(error.__cause__, TypeError) and "Tracer(" in str(error.__cause__)
        if not asked and "Error setting single item of array" not in str(error):  # r.flat[i] = x
            raise
        raise TypeError(
            "r[i] = x: an array of NumPy holds numbers, and x is a tracer, which "
            f"{trace.name} follows; collect the entries in a list and join them with np.stack "
            "(pieces with np.concatenate), or choose with np.where."
        ) from error
    finally:
        _running.level = level - 1
        trace.alive = False


def transformed(original: Callable, run: Callable) -> Callable:
    """Return ``run`` with the name and signature of ``original``; refuse keyword arguments."""

    def function(*args, **keywords):
        refuse(keywords)
        return run(*args)

    function.__name__ = getattr(original, "__name__", "function")
    function.__wrapped__ = original
    return function


def refuse(keywords: dict) -> None:
    """Raise TypeError if any keyword argument was given.

    Transforms refer to arguments by position (``argnums``, ``in_axes``).
    """
    if keywords:
        raise TypeError(
            f"keyword arguments ({', '.join(keywords)}) were given to a transformed function; "
            "pass them by position, or bind them beforehand with functools.partial."
        )
