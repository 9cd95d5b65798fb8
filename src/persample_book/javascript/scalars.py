"""How JavaScript writes an operation on numbers: one row for each elementwise primitive."""

from collections.abc import Callable
from dataclasses import dataclass

TERNARY, COMPARE, SUM, PRODUCT, SIGN, ATOM = range(6)  # how tightly a piece of text binds


@dataclass(frozen=True)
class Text:
    """A piece of the program, and how tightly it binds."""

    text: str
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """Return the text, in parentheses where what stands around it binds tighter."""
        return self.text if self.binds >= binds else f"({self.text})"

    def __str__(self) -> str:
        return self.text


def infix(symbol: str, level: int) -> Callable[..., Text]:
    """Return the form of an operator between two operands."""
    left = level + (level == COMPARE)  # a < b == c would compare c with a truth value

    def write(x, y):
        return Text(f"{x.within(left)} {symbol} {y.within(level + 1)}", level)

    return write


def prefix(symbol: str) -> Callable[..., Text]:
    """Return the form of an operator before its operand."""
    return lambda x: Text(f"{symbol}{x.within(ATOM)}", SIGN)


def call(name: str) -> Callable[..., Text]:
    """Return the form of a function's call."""
    return lambda *xs: Text(f"{name}({', '.join([x.text for x in xs])})")


def choice(condition: Text, x: Text, y: Text) -> Text:
    """Write x where a condition holds, else y."""
    return Text(
        f"{condition.within(COMPARE)} ? {x.within(COMPARE)} : {y.within(COMPARE)}", TERNARY
    )


def convert(x: Text, kind: str, wanted: str) -> Text:
    """Write a number of one kind (float, integer, truth value) as one of another."""
    if wanted == "b" and kind != "b":
        return infix("!=", COMPARE)(x, Text("0"))
    if wanted == "i" and kind == "f":
        return call("Math.trunc")(x)
    return prefix("+")(x) if kind == "b" != wanted else x


# Functions that JavaScript lacks; a program begins with those that it calls.
HELPERS = {
    "round": "(x) => { const r = Math.round(x);"
    " return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r; }",
    "isinf": "(x) => x === Infinity || x === -Infinity",
    "signbit": "(x) => x < 0 || Object.is(x, -0)",
    "remainder": "(x, y) => { const r = x % y; return r !== 0 && r < 0 !== y < 0 ? r + y : r; }",
    "floor_divide": "(x, y) => { const r = x % y;"
    " return y === 0 ? x / y : Math.round((x - r) / y) - (r !== 0 && r < 0 !== y < 0); }",
    "logaddexp": "(x, y) => x === y ? x + Math.LN2"
    " : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))",
    "wrap": "(i, n) => i < 0 ? i + n : i",  # an index from the end
}

IN_MATH = "abs exp expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh"
IN_MATH += " asinh acosh atanh sign floor ceil trunc atan2 hypot"
TRUTH = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"}  # of truth values only


def bits(symbol: str) -> Callable[..., Text]:
    """Return the form of an operator on truth values."""
    return lambda x, y: Text(f"({x} {symbol} {y})")


# One row for each primitive: write(*operands) returns its text.
SCALARS = {
    **{name: call(f"Math.{name}") for name in IN_MATH.split()},
    **{name: call(name) for name in HELPERS if name != "wrap"},
    "add": infix("+", SUM),
    "subtract": infix("-", SUM),
    "multiply": infix("*", PRODUCT),
    "divide": infix("/", PRODUCT),
    "negative": prefix("-"),
    "power": call("Math.pow"),
    "maximum": call("Math.max"),
    "minimum": call("Math.min"),
    "equal": infix("==", COMPARE),
    "not_equal": infix("!=", COMPARE),
    "less": infix("<", COMPARE),
    "less_equal": infix("<=", COMPARE),
    "isfinite": call("Number.isFinite"),
    "isnan": call("Number.isNaN"),
    "bitwise_invert": prefix("!"),
    "bitwise_and": bits("&"),
    "bitwise_or": bits("|"),
    "bitwise_xor": bits("^"),
    "where": choice,
}
