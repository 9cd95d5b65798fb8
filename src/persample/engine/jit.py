"""``jit``: stage, optimise, generate, compile, and keep the program for the next call.

Separate because it is the only place where the four meet.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import trees
from .codegen import generate
from .optimise import PASSES, optimise
from .primitives import PRIMITIVES
from .staging import Graph, make_graph
from .tracer import Tracer, is_array


class Jitted:
    """A function compiled once a signature: the arguments' structure, shapes, dtypes, numbers.

    Call it like the function. ``graph(*args)`` returns the optimised Graph, ``source(*args)`` the
    generated program, ``traces`` how often the function has been traced. Side effects of the
    function happen once a trace. Results share memory with nothing.
    """

    def __init__(self, f: Callable, passes: Iterable[str] = tuple(PASSES)):
        self.__wrapped__ = f
        self.__name__ = getattr(f, "__name__", "function")
        self.passes = tuple(passes)
        self.traces = 0
        self._programs: dict = {}

    def __call__(self, *args: Any) -> Any:
        key, arrays = _signature(args)
        if key is None:
            return self.__wrapped__(*args)  # inside another transform: part of its trace
        entry = self._programs.get(key)
        if entry is None:
            entry = self._programs[key] = self._compile(args)
        run, structure = entry
        if structure is trees.LEAF:
            return run(*arrays)
        outputs = run(*arrays)
        return trees.unflatten(structure, outputs if isinstance(outputs, tuple) else [outputs])

    def _compile(self, args: tuple) -> tuple:
        graph = self.graph(*args)
        self.traces += 1
        source, constants = generate(graph)
        rows = {name: primitive.numpy for name, primitive in PRIMITIVES.items()}
        scope = {**rows, **constants, "np": np}
        exec(compile(source, f"<jit {graph.name}>", "exec"), scope)  # our own text
        return scope[graph.name], graph.structure

    def graph(self, *args: Any) -> Graph:
        """Return the optimised graph for these arguments; print it, or its ``removed``."""
        return optimise(make_graph(self.__wrapped__)(*args), self.passes)

    def source(self, *args: Any) -> str:
        """Return the generated NumPy program for these arguments."""
        return generate(self.graph(*args))[0]


def jit(f: Callable, passes: Iterable[str] = tuple(PASSES)) -> Jitted:
    """Compile ``f`` to straight-line NumPy, once for each signature it is called with.

    Parameters
    ----------
    f : callable of arrays, trees of arrays, and Python values; the values are fixed per trace.
    passes : names of the optimiser's passes to run, all by default.

    Example
    -------
    >>> print(jit(lambda x: (x - x.mean(0)) * 2.0).source(np.ones((2, 3))))
    """
    return Jitted(f, passes)


def _signature(args: tuple) -> tuple[tuple | None, list]:
    """Return what a program depends on, hashable, and the arrays to run it on.

    None in place of it where an argument is a tracer.
    """
    key, arrays = [], []
    for arg in args:
        if type(arg) is np.ndarray:
            key += (arg.shape, arg.dtype)
            arrays.append(arg)
            continue
        leaves, structure = trees.flatten(arg)
        key.append(structure)
        for x in leaves:
            if isinstance(x, Tracer):
                return None, []
            if is_array(x):
                key += (x.shape, x.dtype)
                arrays.append(x)
            else:  # 1, 1.0 and True are equal, and so are 0.0 and -0.0: the text tells them apart
                key.append((type(x), repr(x)))
    return tuple(key), arrays
