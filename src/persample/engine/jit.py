"""``jit``: stage, optimise, generate, compile, and keep the program for the next call.

Separate because it is the only place where the four meet.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from .. import trees
from .codegen import generate
from .core import refuse
from .optimise import PASSES, optimise
from .primitives import PRIMITIVES
from .staging import Graph, make_graph
from .tracer import Tracer, is_array


class Jitted:
    """A function compiled once a signature: the arguments' structure, shapes, dtypes, numbers.

    Call it like the function. ``graph(*args)`` returns the optimised Graph, ``source(*args)`` the
    generated program, ``traces`` how often the function has been traced. Side effects of the
    function happen once a trace; so does the reading of arrays that it takes from outside.
    Results share memory with nothing.
    """

    def __init__(self, f: Callable, passes: Iterable[str] = tuple(PASSES)):
        self.__wrapped__ = f
        self.__name__ = getattr(f, "__name__", "function")
        self.passes = tuple(passes)
        self.traces = 0
        self._programs: dict = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            refuse(keywords)
        key, arrays = _signature(args)
        if key is None:
            return self.__wrapped__(*args)  # inside another transform: part of its trace
        run, structure, *_ = self._programs.get(key) or self._compile(key, args)
        out = run(*arrays)
        if structure is trees.LEAF:
            return out
        return trees.unflatten(structure, out if isinstance(out, tuple) else [out])

    def _compile(self, key: tuple, args: tuple) -> tuple:
        graph = optimise(make_graph(self.__wrapped__)(*args), self.passes)
        self.traces += 1
        source, constants = generate(graph)
        rows = {name: primitive.numpy for name, primitive in PRIMITIVES.items()}
        kept = {k: x.copy() if x.flags.writeable else x for k, x in constants.items()}
        scope = {**rows, **kept, "np": np}
        exec(compile(source, f"<jit {graph.name}>", "exec"), scope)  # our own text
        self._programs[key] = scope[graph.name], graph.structure, graph, source
        return self._programs[key]

    def _program(self, args: tuple) -> tuple:
        key, _ = _signature(args)
        if key is None:
            raise TypeError("jit: a program was asked for with tracers; give arrays as examples.")
        return self._programs.get(key) or self._compile(key, args)

    def graph(self, *args: Any) -> Graph:
        """Return the optimised graph for these arguments; print it, or its ``removed``."""
        return self._program(args)[2]

    def source(self, *args: Any) -> str:
        """Return the generated NumPy program for these arguments."""
        return self._program(args)[3]


def jit(f: Callable, passes: Iterable[str] = tuple(PASSES)) -> Jitted:
    """Compile ``f`` to straight-line NumPy, once for each signature it is called with.

    Parameters
    ----------
    f : callable of arrays, trees of arrays, and Python values; the values are fixed per trace.
    passes : names of the optimiser's passes to run, all by default.

    Example
    -------
    >>> def loss(w, x, y):
    ...     return 0.5 * (x @ w - y) ** 2
    >>> print(jit(loss).source(np.ones(3), np.ones(3), np.ones(())))
    def loss(w, x, y):
        a = x @ w - y
        return np.array(0.5 * (a * a))
    <BLANKLINE>
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
            elif isinstance(x, Hashable):  # 1, 1.0 and True are equal, so are 0.0 and -0.0
                key.append((type(x), repr(x) if isinstance(x, float) else x))
            else:
                raise TypeError(
                    f"jit: an argument holds a {type(x).__name__}, which is not hashable, so no "
                    "program can be kept for it; give arrays, numbers, strings, or trees of these."
                )
    return tuple(key), arrays
