"""Generate a readable NumPy program from a graph.

A value that is read once is inlined into the expression that reads it. Large values get a line of
their own, and a large ufunc result is written into an operand that is not read afterwards. This
keeps the bits of every element, but the result may have another memory layout (transposed, say),
and a sum over it may then add in another order and round differently.
"""

import keyword
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..names import free_name, short_names
from .contraction import expression
from .core import ELEMENTWISE, VIEW
from .staging import Equation, Graph, Var

LARGE = 2**16  # bytes; from here on an array has a line of its own and its memory is reused
WIDTH = 88
COMPARE, SUM, PRODUCT, SIGN, ATOM = range(5)  # operator precedence


@dataclass
class Text:
    """A piece of the program, its operator precedence, and the variables it reads."""

    text: str
    precedence: int = ATOM
    reads: tuple = ()

    def within(self, precedence: int) -> str:
        return self.text if self.precedence >= precedence else f"({self.text})"


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
    """Write x[:, None] or x[:, 0] if only axes of length 1 come or go, else x.reshape."""
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
    precedence = ATOM if form.startswith("np.") else PRODUCT
    return form.format(x=x.within(ATOM), y=y.within(ATOM)), precedence


def _take(eq, x, i):
    simple = f"{x.within(ATOM)}.take({i.text}, axis=0)", ATOM
    return _call(eq, x, i) if eq.params["batch_dims"] else simple


def _call(eq, *inputs):
    name = eq.primitive.name
    name = f"np.{name}" if getattr(np, name, None) is eq.primitive.numpy else name
    params = [f"{key}={value!r}" for key, value in eq.params.items()]
    return f"{name}({', '.join([x.text for x in inputs] + params)})", ATOM


def _astype(eq, x):
    dtype = eq.params["dtype"]
    name = f"np.{dtype}" if dtype.isnative else repr(dtype.str)  # big-endian has no name
    return f"{x.within(ATOM)}.astype({name})", ATOM


def _concat(eq, *xs):
    operands = ", ".join(x.text for x in xs)
    return f"np.concatenate([{operands}], axis={eq.params['axis']})", ATOM


# Primitives that are not written as a call: write(equation, *operands) returns the text and its
# precedence.
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
    "astype": _astype,
    "einsum": _einsum,
    **{name: _reduction(name) for name in ("sum", "max", "min", "prod")},
    "reshape": _reshape,
    "permute_dims": _permute,
    "concat": _concat,
    "slice": _slice,
    "take": _take,
}


def memories(graph: Graph) -> dict[Var, tuple[Var | None, bool]]:
    """Return, for each variable, the owner of its memory, and whether it is a broadcast view.

    The owner is the variable itself or, for a view, the variable whose memory it shares (None: a
    constant).
    """
    found = {v: (v, False) for v in graph.inputs}
    for eq in graph.equations:
        found[eq.output] = eq.output, False
        if eq.primitive.kind == VIEW:
            x = eq.inputs[0]
            of, repeats = found[x] if isinstance(x, Var) else (None, False)
            found[eq.output] = of, repeats or eq.primitive.name == "broadcast_to"
    return found


class Program:
    """The text of a program while it is written: its lines, constants and reserved names."""

    def __init__(self, graph: Graph):
        inputs = zip(graph.inputs, graph.names, strict=True)
        self.texts = {v: Text(name, ATOM, (v,)) for v, name in inputs}  # constants: by id
        self.taken = {*keyword.kwlist, graph.name, *graph.names}  # reserved names
        self.graph, self.memory = graph, memories(graph)
        self.constants: dict = {}
        self.lines: list[tuple[Equation, str, Text]] = []  # name = text, for the equation

    def text_of(self, x) -> Text:
        """Return the text of a variable or a constant; name the constant if it is new."""
        key = x if isinstance(x, Var) else id(x)
        if key not in self.texts:
            name = free_name(f"constant_{len(self.constants)}", self.taken)
            self.constants[name], self.texts[key] = x, Text(name)
        return self.texts[key]

    def operand(self, eq: Equation, x) -> Text:
        """Return the text of an input of ``eq``; a number is a literal if that keeps its dtype."""
        is_number = isinstance(x, np.generic) and not isinstance(x, np.longdouble)
        if eq.primitive.kind == ELEMENTWISE and is_number:
            takes_dtype = any(isinstance(y, Var) and y.dtype == x.dtype for y in eq.inputs)
            if takes_dtype or x.dtype == np.asarray(x.item()).dtype:
                return _number(x)
        return self.text_of(x)

    def write(self, eq: Equation) -> Text:
        """Return the text of the expression that computes an equation's output."""
        operands = [self.operand(eq, x) for x in eq.inputs]
        text, precedence = FORMS.get(eq.primitive.name, _call)(eq, *operands)
        return Text(text, precedence, tuple([r for x in operands for r in x.reads]))

    def call_into(self, place: str, eq: Equation) -> str:
        """Return the text of a call of the equation's ufunc with ``out=place``."""
        operands = ", ".join([self.operand(eq, x).text for x in eq.inputs])
        return f"np.{eq.primitive.numpy.__name__}({operands}, out={place})"

    def body(self, outputs: list) -> list[str]:
        """Return the statements; they overwrite or delete a large array after its last use."""
        # names: owner of a memory -> the program's names for it.
        ending, names, lines = self.last_reads(outputs), {}, []
        for n, (eq, name, text) in enumerate(self.lines):
            done = [v for v in ending[n] if v in names]  # not the arguments
            reused = next((v for v in done if _can_hold(eq, v)), None)
            call = self.call_into(self.texts[reused].text, eq) if reused else text.text
            lines.append(f"{name} = {call}")
            if eq.primitive.kind != VIEW:
                names[eq.output] = [*names.get(reused, []), name]
            elif self.memory[eq.output][0] in names:
                names[self.memory[eq.output][0]].append(name)
            released = [v for v in done if v is not reused and _large(v)]
            gone = [name for v in released for name in names[v]]
            lines += [f"del {', '.join(sorted(gone))}"] if gone else []
        return [*lines, self.results(outputs)]

    def last_reads(self, outputs: list) -> list[list[Var]]:
        """Return, for each line, the owners of memory that no later line reads."""
        ending, later = [], {v for x in outputs for v in self.read_by(self.text_of(x))}
        for *_, text in reversed(self.lines):
            ending.append([v for v in self.read_by(text) if v not in later])
            later.update(ending[-1])
        return ending[::-1]

    def read_by(self, text: Text) -> dict:
        """Return the owners of the memory that a text reads, as keys of a dict, in order."""
        return dict.fromkeys([self.memory[v][0] for v in text.reads])

    def results(self, outputs: list) -> str:
        """Return the return statement, which copies a result if it would share memory."""
        made_here = set(self.memory) - set(self.graph.inputs)
        texts = []
        for x in outputs:
            text = self.text_of(x)
            of, repeats = self.memory[x] if isinstance(x, Var) else (None, False)
            shared = repeats or of not in made_here
            copied = f"{text.within(ATOM)}.copy()" if shared else text.text
            texts.append(copied if x.shape else f"np.array({text.text})")
            made_here.discard(of)  # only the first output may have that memory itself
        if len(texts) > 1 or self.graph.structure.is_leaf():
            return f"return {', '.join(texts)}"
        return f"return ({texts[0]},)" if texts else "return ()"


def generate(graph: Graph) -> tuple[str, dict]:
    """Return the source of a function of the graph's inputs, and the constants it reads.

    The function returns one array if the traced function did, else a tuple of its arrays. None
    shares memory with an input, a constant or another output.
    """
    program = Program(graph)
    names = short_names(program.taken)
    read = [x for eq in graph.equations for x in eq.inputs]
    uses = Counter(map(id, [*graph.outputs, *read]))
    for eq in graph.equations:
        text = program.write(eq)
        small = eq.primitive.kind == VIEW or not _large(eq.output)
        if uses[id(eq.output)] > 1 or not small or len(text.text) >= WIDTH - 20:
            name = next(names)
            program.lines.append((eq, name, text))
            text = Text(name, ATOM, (eq.output,))
        program.texts[eq.output] = text
    header = f"def {graph.name}({', '.join(graph.names)}):"
    return "\n    ".join([header, *program.body(graph.outputs)]) + "\n", program.constants


def _number(x: np.generic) -> Text:
    """Return the `Text` of a NumPy scalar: a Python literal."""
    number = str(x).replace("inf", "np.inf").replace("nan", "np.nan")
    return Text(number, SIGN if number.startswith("-") else ATOM)


def _can_hold(eq: Equation, v: Var) -> bool:
    """Return whether eq can write its result into the memory of its operand v."""
    fits = v.shape == eq.output.shape and v.dtype == eq.output.dtype
    operand = any(v is x for x in eq.inputs)  # not ==, which for an array constant is an array
    return fits and _large(v) and operand and isinstance(eq.primitive.numpy, np.ufunc)


def _large(x) -> bool:
    return math.prod(x.shape) * x.dtype.itemsize >= LARGE
