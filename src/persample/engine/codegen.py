"""From a graph to the NumPy program that a person would have written.

A value that is read once becomes part of the line that reads it. Large values get a line of their
own, and an elementwise line reuses the memory of an operand that nobody reads afterwards.
"""

import keyword
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .contraction import expression
from .core import ELEMENTWISE, VIEW
from .staging import Equation, Graph, Var, identifier, letters

LARGE = 2**16  # bytes: from here on fresh memory costs more than a line in the program
WIDTH = 88
COMPARE, SUM, PRODUCT, SIGN, ATOM = range(5)  # how tightly a piece of text binds


@dataclass
class Text:
    """A piece of the program, how tightly it binds, and the named variables it reads."""

    text: str
    binds: int = ATOM
    reads: tuple = ()

    def within(self, binds: int) -> str:
        return self.text if self.binds >= binds else f"({self.text})"


def _infix(symbol, level):
    left = level + (level == COMPARE)  # Python chains comparisons: a < b != c is not (a < b) != c

    def write(eq, x, y):
        return f"{x.within(left)} {symbol} {y.within(level + 1)}", level

    return write


def _reduction(name):
    def write(eq, x):
        axes = eq.params["axes"]
        everything = len(axes) == len(eq.inputs[0].shape)
        axis = "" if everything else f"axis={axes[0] if len(axes) == 1 else axes}"
        return f"{x.within(ATOM)}.{name}({axis})", ATOM

    return write


def _reshape(eq, x):
    """x[:, None] and x[:, 0] where axes of length 1 come and go, else x.reshape."""
    old, new, index = list(eq.inputs[0].shape), list(eq.output.shape), []
    while old or new:
        if old and new and old[0] == new[0]:
            index.append(":")
            old.pop(0), new.pop(0)
        elif new and new[0] == 1:
            index.append("None")
            new.pop(0)
        elif old and old[0] == 1:
            index.append("0")
            old.pop(0)
        else:
            return f"{x.within(ATOM)}.reshape({eq.output.shape})", ATOM
    return f"{x.within(ATOM)}[{', '.join(index)}]", ATOM


def _permute(eq, x):
    axes = eq.params["axes"]
    return f"{x.within(ATOM)}{'.T' if axes == (1, 0) else f'.transpose({axes})'}", ATOM


def _slice(eq, x):
    parts = []
    for (start, stop, step), n in zip(eq.params["slices"], eq.inputs[0].shape, strict=True):
        first = 0 if step > 0 else n - 1
        begin, end = ("" if start == first else start), ("" if stop in (n, None) else stop)
        parts.append(f"{begin}:{end}" + (f":{step}" if step != 1 else ""))
    return f"{x.within(ATOM)}[{', '.join(parts)}]", ATOM


def _einsum(eq, x, y):
    form = expression(eq.params["subscripts"])
    binds = ATOM if form.startswith("np.") else PRODUCT
    return form.format(x=x.within(ATOM), y=y.within(ATOM)), binds


def _take(eq, x, i):
    simple = f"{x.within(ATOM)}.take({i.text}, axis=0)", ATOM
    return _call(eq, x, i) if eq.params["batch_dims"] else simple


def _call(eq, *inputs):
    name = eq.primitive.name
    name = f"np.{name}" if getattr(np, name, None) is eq.primitive.numpy else name
    params = [f"{key}={value!r}" for key, value in eq.params.items()]
    return f"{name}({', '.join([x.text for x in inputs] + params)})", ATOM


# One row a primitive that Python has a better form for than a call:
# write(equation, *operands) -> (text, how tightly it binds).
FORMS = {
    "add": _infix("+", SUM),
    "subtract": _infix("-", SUM),
    "multiply": _infix("*", PRODUCT),
    "divide": _infix("/", PRODUCT),
    "equal": _infix("==", COMPARE),
    "not_equal": _infix("!=", COMPARE),
    "less": _infix("<", COMPARE),
    "less_equal": _infix("<=", COMPARE),
    "negative": lambda eq, x: (f"-{x.within(SIGN)}", SIGN),
    "stop_gradient": lambda eq, x: (x.text, x.binds),
    "astype": lambda eq, x: (f"{x.within(ATOM)}.astype(np.{eq.params['dtype']})", ATOM),
    "einsum": _einsum,
    "sum": _reduction("sum"),
    "max": _reduction("max"),
    "reshape": _reshape,
    "permute_dims": _permute,
    "concat": lambda eq, *xs: (
        f"np.concatenate([{', '.join(x.text for x in xs)}], axis={eq.params['axis']})",
        ATOM,
    ),
    "slice": _slice,
    "take": _take,
}


@dataclass
class Program:
    """A program under construction: its text, its constants, and what each variable is called."""

    graph: Graph
    taken: set  # names not to be used again
    texts: dict = field(default_factory=dict)  # Var, or id of a constant -> Text
    lines: list = field(default_factory=list)  # (equation, Text)
    constants: dict = field(default_factory=dict)
    returned: list = field(default_factory=list)  # variables that the outputs read
    given_away: set = field(default_factory=set)  # variables whose memory an output has

    def __post_init__(self):
        self.made_by = {eq.output: eq for eq in self.graph.equations}

    def operand(self, eq: Equation, x) -> Text:
        if isinstance(x, Var):
            return self.texts[x]
        if eq.primitive.kind == ELEMENTWISE and isinstance(x, np.generic):
            takes_dtype = any(isinstance(y, Var) and y.dtype == x.dtype for y in eq.inputs)
            if takes_dtype or x.dtype == np.asarray(x.item()).dtype:
                return _number(x)
        return self.constant(x)

    def constant(self, x) -> Text:
        if id(x) not in self.texts:
            name = identifier(f"constant_{len(self.constants)}", self.taken)
            self.constants[name], self.texts[id(x)] = x, Text(name)
        return self.texts[id(x)]

    def owner(self, x):
        """Return the variable whose memory x may share (None: a constant's), and whether x
        repeats its elements."""
        repeats = False
        while isinstance(x, Var) and (eq := self.made_by.get(x)) and eq.primitive.kind == VIEW:
            repeats |= eq.primitive.name == "broadcast_to"
            x = eq.inputs[0]
        return (x if isinstance(x, Var) else None), repeats

    def output(self, x) -> str:
        """Return the text of an output, as an array that shares memory with nothing."""
        text = self.texts[x] if isinstance(x, Var) else self.constant(x)
        self.returned.extend(text.reads)
        owner, repeats = self.owner(x)
        shared = owner not in self.made_by or repeats or owner in self.given_away
        self.given_away.add(owner)
        if x.shape == ():
            return f"np.array({text.text})"
        return f"{text.within(ATOM)}.copy()" if shared else text.text

    def body(self) -> list[str]:
        """Return the lines, reusing and releasing large memory after its last reader."""
        last = {self.owner(r)[0]: i for i, (_, text) in enumerate(self.lines) for r in text.reads}
        last |= {self.owner(r)[0]: len(self.lines) for r in self.returned}
        lines, same = [], {}  # same: variable -> all names of its memory
        for i, (eq, text) in enumerate(self.lines):
            name = self.texts[eq.output].text
            dying = dict.fromkeys(self.owner(r)[0] for r in text.reads)  # in order, each once
            dying = [v for v in dying if v in same and last[v] == i]
            reused = next((v for v in dying if _can_hold(eq, v)), None)
            same[eq.output] = [name]
            if reused is None:
                lines.append(f"{name} = {text.text}")
            else:
                operands = ", ".join(self.operand(eq, x).text for x in eq.inputs)
                out = self.texts[reused].text
                ufunc = eq.primitive.numpy.__name__
                lines.append(f"{name} = np.{ufunc}({operands}, out={out})")
                same[eq.output] += same[reused]
            gone = [n for v in dying if v is not reused and _large(v) for n in same[v]]
            if gone:
                lines.append(f"del {', '.join(sorted(gone))}")
        return lines

    def write(self, eq: Equation) -> Text:
        operands = [self.operand(eq, x) for x in eq.inputs]
        text, binds = FORMS.get(eq.primitive.name, _call)(eq, *operands)
        return Text(text, binds, tuple(r for x in operands for r in x.reads))


def generate(graph: Graph) -> tuple[str, dict]:
    """Return the source of a function of the graph's inputs, and the constants it reads.

    The function returns one array, or a tuple of as many arrays as the graph has outputs; none
    shares memory with an input, a constant or another output.
    """
    program = Program(graph, {*keyword.kwlist, graph.name, *graph.names})
    inputs = zip(graph.inputs, graph.names, strict=True)
    program.texts = {v: Text(name, ATOM, (v,)) for v, name in inputs}
    names = letters(program.taken)
    read = [x for eq in graph.equations for x in eq.inputs] + graph.outputs
    uses = Counter(x for x in read if isinstance(x, Var))
    for eq in graph.equations:
        text = program.write(eq)
        small = eq.primitive.kind == VIEW or not _large(eq.output)
        if uses[eq.output] == 1 and small and len(text.text) < WIDTH - 20:
            program.texts[eq.output] = text
        else:
            program.lines.append((eq, text))
            program.texts[eq.output] = Text(next(names), ATOM, (eq.output,))
    outputs = [program.output(x) for x in graph.outputs]
    body = [*program.body(), f"return {', '.join(outputs)}"]
    header = f"def {graph.name}({', '.join(graph.names)}):"
    return "\n    ".join([header, *body]) + "\n", program.constants


def _number(x: np.generic) -> Text:
    """Write a number as a Python number, which takes its partner's dtype."""
    number = str(x) if np.isfinite(x) else str(x).replace("inf", "np.inf").replace("nan", "np.nan")
    return Text(number, SIGN if number.startswith("-") else ATOM)


def _can_hold(eq: Equation, v: Var) -> bool:
    """Say whether eq may write its result into the memory of its operand v."""
    fits = v.shape == eq.output.shape and v.dtype == eq.output.dtype
    operand = any(v is x for x in eq.inputs)  # not ==, which for an array constant is an array
    return fits and _large(v) and operand and isinstance(eq.primitive.numpy, np.ufunc)


def _large(x) -> bool:
    return math.prod(x.shape) * x.dtype.itemsize >= LARGE
