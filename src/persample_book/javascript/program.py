"""A JavaScript function under construction, equation by equation.

Elementwise results are computed where they are read; what is read more than once, and every
sum, gets a line of its own, in loops over the shape.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from persample.engine import jit
from persample.engine.staging import Equation, Graph, Var
from persample.names import free_name, short_names

from .arrays import ARRAYS
from .scalars import ATOM, HELPERS, SCALARS, TRUTH, Text, convert
from .values import Index, Value, held, offset

LOOPS = "ijklmnop"
KINDS = {np.dtype("float64"), np.dtype("bool"), np.dtype("int64")}
# Words that JavaScript keeps for itself, and names that the program uses.
RESERVED = """arguments await break case catch class const continue debugger default delete do
else enum eval export extends false finally for function if implements import in instanceof
interface let new null package private protected public return static super switch this throw true
try typeof undefined var void while with yield Math Infinity NaN Number Object Float64Array"""


def javascript(f: Callable, *args: Any) -> str:
    """Return ``f`` as the source of a JavaScript function, for arguments of these shapes.

    Arrays become its parameters, flat and in the order of their rows; 0-d arrays are numbers
    there. Python numbers are fixed at their values. It returns what ``f`` returns: a flat
    Float64Array, a number, or a list of these if ``f`` returns more than one array. It keeps
    nothing and changes no argument.

    Raises
    ------
    NotImplementedError
        "javascript: there is no form for cholesky; a figure in the page can use abs, ..."

    Example
    -------
    >>> from persample.engine import grad
    >>> def loss(w, x, y):
    ...     return 0.5 * (x @ w - y) ** 2
    >>> print(javascript(grad(loss), np.ones(3), np.ones(3), np.ones(())))
    function loss(w, x, y) {
      // w[3], x[3], y[] -> [3]
      let a = 0;
      for (let i = 0; i < 3; i++)
        a += x[i] * w[i];
      const b = a - y;
      const c = new Float64Array(3);
      for (let i = 0; i < 3; i++)
        c[i] = b * x[i];
      return c;
    }
    <BLANKLINE>
    """
    return Program(jit(f).graph(*args)).text()


class Program:
    """A program under construction."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.taken = {*RESERVED.split(), *LOOPS, *HELPERS}
        self.name = free_name(graph.name, self.taken)
        self.names = [free_name(name, self.taken) for name in graph.names]
        self.fresh = short_names(self.taken)
        self.lines: list[str] = []
        self.helpers: list[str] = []
        self.constants: dict[int, Value] = {}
        self.owned: set[str] = set()  # memory that the program made and has not returned
        named = zip(graph.inputs, self.names, strict=True)
        self.values = {v: held(name, v.shape) for v, name in named}

    def value(self, x: Any) -> Value:
        """Return what stands for a variable or a constant in the program."""
        if isinstance(x, Var):
            return self.values[x]
        if not x.shape:
            return Value((), lambda index: number(x), None, True)
        if id(x) not in self.constants:
            name = next(self.fresh)
            numbers = ", ".join([number(n).text for n in x.ravel()])
            self.lines.append(f"const {name} = Float64Array.of({numbers});")
            self.owned.add(name)
            self.constants[id(x)] = held(name, x.shape)
        return self.constants[id(x)]

    def helper(self, name: str) -> None:
        """Note that the program calls one of HELPERS."""
        if name not in self.helpers:
            self.helpers.append(name)

    def memory(self, shape: tuple[int, ...], start: str = "0") -> str:
        """Write a line that makes room for an array, or for a number; return its name."""
        name = next(self.fresh)
        filled = f".fill({start})" if start != "0" else ""
        room = f"const {name} = new Float64Array({prod(shape)}){filled};"
        self.lines.append(room if shape else f"let {name} = {start};")
        self.owned.add(name)
        return name

    def loop(self, shape: Sequence[int], line: Callable[[list[Index]], str]) -> None:
        """Write a line that runs for every element of a shape."""
        index, depth = [], 0
        for i, n in zip(LOOPS, shape, strict=False):
            index.append(Index(((i, 1),)) if n != 1 else Index())
            if n != 1:
                self.lines.append(f"{'  ' * depth}for (let {i} = 0; {i} < {n}; {i}++)")
                depth += 1
        self.lines.append(f"{'  ' * depth}{line(index)};")

    def keep(self, value: Value) -> Value:
        """Compute a value now, and return it as memory holds it."""
        if not value.shape:
            name = next(self.fresh)
            self.lines.append(f"const {name} = {value.at([])};")
            return held(name, ())
        name, shape = self.memory(value.shape), value.shape
        self.loop(shape, lambda index: f"{name}[{offset(index, shape)}] = {value.at(index)}")
        return held(name, shape)

    def spread(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Show x in a shape that it broadcasts to."""
        if x.shape == shape:
            return x
        kept = x if x.simple else self.keep(x)

        def at(index):
            pairs = zip(index[len(index) - len(kept.shape) :], kept.shape, strict=True)
            return kept.at([i if n != 1 else Index() for i, n in pairs])

        return Value(shape, at, None, True)

    def write(self, eq: Equation) -> Value:
        """Write the lines of an equation; return its result, which may still be to compute."""
        name, inputs = eq.primitive.name, [self.value(x) for x in eq.inputs]
        if name in ARRAYS:
            return ARRAYS[name](self, eq, *inputs)
        kinds = [x.dtype.kind for x in eq.inputs]
        if name not in {*SCALARS, "astype"} or (name in TRUTH and set(kinds) != {"b"}):
            known = ", ".join(sorted({*SCALARS, *ARRAYS}))
            raise NotImplementedError(
                f"javascript: there is no form for {name}; a figure in the page can use {known}."
            )
        if name in HELPERS:
            self.helper(name)
        inputs = [self.spread(x, eq.output.shape) for x in inputs]

        def at(index):
            operands = [x.at(index) for x in inputs]
            if name == "astype":
                return convert(*operands, kinds[0], eq.params["dtype"].kind)
            return SCALARS[name](*operands)

        return Value(eq.output.shape, at)

    def text(self) -> str:
        """Write the whole function."""
        results = [eq.output for eq in self.graph.equations]
        for v in [*self.graph.inputs, *results]:
            if v.dtype not in KINDS:
                raise NotImplementedError(
                    f"javascript: a page computes in float64; {v.dtype} has no form there."
                )
        read = [x for eq in self.graph.equations for x in eq.inputs] + self.graph.outputs
        uses = Counter(map(id, read))
        for eq in self.graph.equations:
            value = self.write(eq)
            again = uses[id(eq.output)] > 1 and not value.simple
            self.values[eq.output] = self.keep(value) if again else value
        texts = [self.result(x) for x in self.graph.outputs]
        single = self.graph.structure.is_leaf()
        self.lines.append(f"return {texts[0] if single else '[' + ', '.join(texts) + ']'};")
        return self.header() + "".join([f"  {line}\n" for line in self.lines]) + "}\n"

    def header(self) -> str:
        """Return the first lines: names, shapes, and the helpers that are called."""
        pairs = zip(self.names, self.graph.inputs, strict=True)
        inputs = ", ".join([f"{name}[{listed(v.shape)}]" for name, v in pairs])
        outputs = ", ".join([f"[{listed(x.shape)}]" for x in self.graph.outputs])
        lines = [f"// {inputs} -> {outputs}"]
        lines += [f"const {name} = {HELPERS[name]};" for name in self.helpers]
        head = f"function {self.name}({', '.join(self.names)}) {{\n"
        return head + "".join([f"  {line}\n" for line in lines])

    def result(self, x: Any) -> str:
        """Return the text of a result, in memory that nothing else has."""
        value = self.value(x)
        if not value.shape:
            text = value.at([])
            return f"+{text.within(ATOM)}" if x.dtype.kind == "b" else text.text
        if value.name not in self.owned:
            value = self.keep(value)
        self.owned.discard(value.name)
        return value.name


def number(x: np.generic) -> Text:
    """Write a number with all its bits; a truth value as 1 or 0."""
    text = repr(x.item() + 0 if x.dtype.kind == "b" else x.item())
    text = text.replace("inf", "Infinity").replace("nan", "NaN")
    return Text(f"({text})" if text.startswith("-") else text)


def listed(shape: tuple[int, ...]) -> str:
    """Write a shape as graphs do: 2,3."""
    return ",".join(map(str, shape))
