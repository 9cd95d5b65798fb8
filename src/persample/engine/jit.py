"""``jit``: trace a function to a graph, optimise it, and compile it to a NumPy program."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from optree import tree_flatten, tree_unflatten

from .codegen import generate
from .core import refuse
from .optimise import PASSES, optimise
from .primitives import PRIMITIVES
from .staging import Graph, make_graph
from .tracer import Tracer, is_array, plain


@dataclass(frozen=True, eq=False)
class Compiled:
    """The program and the graph that `Jitted` stores for one signature.

    ``program`` takes the array leaves of the arguments, in order. It returns one array if the
    function does, else a tuple of arrays.
    """

    program: Callable
    graph: Graph

    def __call__(self, arrays: Iterable) -> Any:
        """Run the program and return its outputs in the structure of the function's result."""
        out, structure = self.program(*arrays), self.graph.structure
        return out if structure.is_leaf() else tree_unflatten(structure, out)


class Jitted:
    """A function compiled once for each signature: the arguments' structure, shapes and dtypes,
    and the values of leaves that are not arrays.

    ``traces`` counts how often the function has been traced. Results share no memory with the
    arguments, with constants or with each other.
    """

    def __init__(self, f: Callable, passes: Iterable[str] = tuple(PASSES)):
        self.__wrapped__ = f
        self.__name__ = getattr(f, "__name__", "function")
        self.passes = tuple(passes)
        self.traces = 0
        self._known: dict = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            refuse(keywords)
        key, arrays = _signature(args)
        if key is None:
            return self.__wrapped__(*args)  # inside another transform: part of its trace
        return (self._known.get(key) or self._compile(key, args))(arrays)

    def _compile(self, key: tuple, args: tuple) -> Compiled:
        graph = optimise(make_graph(self.__wrapped__)(*args), self.passes)
        self.traces += 1
        self._known[key] = Compiled(_program(graph), graph)
        return self._known[key]

    def compiled(self, args: tuple) -> Compiled:
        """Return the `Compiled` for these arguments, made if new; raise TypeError for tracers."""
        key, _ = _signature(args)
        if key is None:
            raise TypeError("jit: a program was asked for with tracers; give arrays as examples.")
        return self._known.get(key) or self._compile(key, args)

    def graph(self, *args: Any) -> Graph:
        """Return the optimised graph for these arguments; ``print`` shows its equations."""
        return self.compiled(args).graph

    def source(self, *args: Any) -> str:
        """Return the generated NumPy program for these arguments.

        A primitive that is not one function of NumPy (``scatter_add``, ``pad``) is called by its
        own name; arrays from outside are named ``constant_0``, ``constant_1``, ...
        """
        return generate(self.compiled(args).graph)[0]


def _program(graph: Graph) -> Callable:
    """Return the program generated from a graph, as a Python function of the graph's inputs."""
    source, constants = generate(graph)
    primitives = {name: primitive.numpy for name, primitive in PRIMITIVES.items()}
    scope = {**primitives, **constants, "np": np}
    exec(compile(source, f"<jit {graph.name}>", "exec"), scope)  # our own text
    return scope[graph.name]


def jit(f: Callable, passes: Iterable[str] = tuple(PASSES)) -> Jitted:
    """Return ``f`` as a `Jitted`: compiled to straight-line NumPy, once for each signature.

    ``f`` itself runs only while it is traced. As in JAX, all other values that it reads are fixed
    at that moment: closed-over variables, globals, attributes of objects, and numbers drawn from
    ``np.random``. Pass values that change as arguments. Side effects, such as a print, happen
    once for each trace. ``passes`` are those of `optimise`.

    The program has the name of the innermost function that was transformed:
    ``jit(grad(loss)).source(...)`` prints ``def loss``, which returns the gradient of the loss.

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


def _signature(args: tuple) -> tuple[tuple | None, Iterable]:
    """Return the signature of ``args`` as a hashable key, and the arrays to run the program on.

    Return (None, []) if an argument holds a tracer; raise TypeError for an unhashable leaf.
    """
    key = []
    for x in args:
        if type(x) is not np.ndarray and not isinstance(x, np.generic):
            break
        key += (x.shape, x.dtype)
    else:  # arrays alone: there is no tree to take apart
        return tuple(key), args
    leaves, structure = tree_flatten(args)
    key, arrays = [structure], []
    for x in leaves:
        if isinstance(x, Tracer):
            return None, []
        if is_array(x):
            key += (x.shape, x.dtype)
            arrays.append(plain(x))
        elif isinstance(x, Hashable):
            # As keys 1, 1.0 and True would be equal, and so would 0.0 and -0.0.
            key.append((type(x), repr(x) if isinstance(x, float) else x))
        else:
            raise TypeError(
                f"jit: an argument holds a {type(x).__name__}, which is not hashable, so no "
                "program can be kept for it; give arrays, numbers, strings, or trees of these."
            )
    return tuple(key), arrays
