"""``jit``: stage, optimise, generate, compile, and keep the program for the next call.

Separate because only here do staging, optimiser and code generator meet.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import trees
from .codegen import generate
from .core import refuse
from .optimise import PASSES, optimise
from .primitives import PRIMITIVES
from .staging import Graph, make_graph
from .tracer import Tracer, is_array, plain


def _not_yet(*args):
    return NotImplemented


@dataclass(eq=False)
class Compiled:
    """What is kept for one signature.

    ``program`` takes the array leaves of the arguments, in order, and returns one array if the
    function does, else a tuple of arrays. ``guard`` takes the arguments as they are
    and returns NotImplemented where they have another signature. ``writer`` takes arrays for the
    results before the arguments' leaves, and writes there.
    """

    program: Callable
    graph: Graph
    guard: Callable
    writer: Callable | None = None


class Jitted:
    """A function compiled once for each signature: the arguments' structure, shapes and dtypes,
    and the values of those that are no arrays.

    Call it like the function. ``graph(*args)`` returns the optimised Graph, ``source(*args)`` the
    generated program, ``program(*args)`` that program compiled, and ``traces`` counts how often
    the function has been traced. Results share memory with nothing.
    """

    def __init__(self, f: Callable, passes: Iterable[str] = tuple(PASSES)):
        self.__wrapped__ = f
        self.__name__ = getattr(f, "__name__", "function")
        self.passes = tuple(passes)
        self.traces = 0
        self._known: dict = {}
        self._latest = self._latest_into = _not_yet

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            refuse(keywords)
        out = self._latest(*args)
        return self._find(args) if out is NotImplemented else out

    def _find(self, args: tuple) -> Any:
        """Call the program for these arguments' signature, and try it first the next time."""
        key, arrays = _signature(args)
        if key is None:
            return self.__wrapped__(*args)  # inside another transform: part of its trace
        compiled = self._known.get(key) or self._compile(key, args)
        self._latest = compiled.guard
        out, structure = compiled.program(*arrays), compiled.graph.structure
        return out if structure is trees.LEAF else trees.unflatten(structure, out)

    def _compile(self, key: tuple, args: tuple) -> Compiled:
        graph = optimise(make_graph(self.__wrapped__)(*args), self.passes)
        self.traces += 1
        program = _program(graph)
        self._known[key] = Compiled(program, graph, _guard(program, graph.structure, args))
        return self._known[key]

    def _compiled(self, args: tuple) -> Compiled:
        key, _ = _signature(args)
        if key is None:
            raise TypeError("jit: a program was asked for with tracers; give arrays as examples.")
        return self._known.get(key) or self._compile(key, args)

    def into(self, out: Any, *args: Any) -> Any:
        """Call the function, write what it returns into ``out``, and return ``out``.

        ``out`` is like the result: the result of an earlier call, say. The caller sees to it that
        its arrays can be written to and share memory with no argument and not with each other.
        """
        result = self._latest_into(out, *args)
        if result is not NotImplemented:
            return result
        compiled, (outs, structure) = self._compiled(args), trees.flatten(out)
        given, wanted = [[(x.shape, x.dtype) for x in xs] for xs in (outs, compiled.graph.outputs)]
        if (structure, given) != (compiled.graph.structure, wanted):
            raise ValueError("jit: out has another structure, shape or dtype; give a result.")
        compiled.writer = compiled.writer or _program(compiled.graph, into=True)
        # LEAF: the one array that the writer returns is the result; trees have no guard.
        self._latest_into = _guard(compiled.writer, trees.LEAF, (out, *args))
        compiled.writer(*outs, *_signature(args)[1])
        return out

    def graph(self, *args: Any) -> Graph:
        """Return the optimised graph for these arguments; print it, or its ``removed``."""
        return self._compiled(args).graph

    def source(self, *args: Any) -> str:
        """Return the generated NumPy program for these arguments.

        An operation that NumPy has no function for (``scatter_add``, ``pad``) stands there under
        the name of its primitive, an array from outside as ``constant_0``.
        """
        return generate(self._compiled(args).graph)[0]

    def program(self, *args: Any) -> Callable:
        """Return the compiled program for these arguments, a plain function without any check.

        It takes the arrays among the arguments' leaves, in the order of ``trees.flatten``, which
        must have the shapes and dtypes of these. It returns one array if the function returns
        one, else a tuple of the arrays in what it returns.
        """
        return self._compiled(args).program


def _program(graph: Graph, into: bool = False) -> Callable:
    """Return the program for a graph; with ``into`` it takes arrays for its results first."""
    source, constants = generate(graph, into)
    primitives = {name: primitive.numpy for name, primitive in PRIMITIVES.items()}
    scope = {**primitives, **constants, "np": np}
    exec(compile(source, f"<jit {graph.name}>", "exec"), scope)  # our own text
    return scope[graph.name]


def _guard(program: Callable, structure: Any, args: tuple) -> Callable:
    """Return ``program`` behind a check that the arguments are arrays like ``args``.

    The check is written out as Python text: for small arrays, a loop over the arguments takes as
    long as half of the program. Arguments that are no arrays have no such check.
    """
    if not args or any(type(x) is not np.ndarray for x in args):
        return _not_yet
    given = {f"x{i}": x for i, x in enumerate(args)}
    scope = {"program": program, "structure": structure, "unflatten": trees.unflatten}
    scope |= {"ndarray": np.ndarray, **{f"d{name}": x.dtype for name, x in given.items()}}
    checks = [
        f"type({name}) is ndarray and {name}.dtype is d{name} and {name}.shape == {x.shape}"
        for name, x in given.items()
    ]
    run = f"program({', '.join(given)})"
    run = run if structure is trees.LEAF else f"unflatten(structure, {run})"
    head = f"def guard({'=None, '.join(given)}=None, *more):"
    test = f"not more and {' and '.join(checks)}"
    exec(f"{head}\n    return {run} if {test} else NotImplemented", scope)  # our own text
    return scope["guard"]


def jit(f: Callable, passes: Iterable[str] = tuple(PASSES)) -> Jitted:
    """Compile ``f`` to straight-line NumPy, once for each signature it is called with.

    ``f`` itself runs only while it is traced. What it reads besides its arguments is fixed at
    that moment, as in JAX: variables that it closes over, globals, attributes of objects, arrays
    from outside, and numbers drawn from ``np.random``. If one of them changes, later calls of a
    signature seen before do not notice; pass it as an argument. Side effects, a print say, happen
    once for each trace.

    The program has the name of the innermost function that was transformed. What it computes is
    what was transformed: ``jit(grad(loss)).source(...)`` prints ``def loss``, and that function
    returns the gradient of the loss.

    Parameters
    ----------
    f : callable of arrays, trees of arrays, and Python values; a program holds for these values.
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

    The key is None if an argument is a tracer.
    """
    key, arrays = [], []
    for arg in args:
        leaves, structure = trees.flatten(arg)
        key.append(structure)
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
