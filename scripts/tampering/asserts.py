"""Change one side of every assert of a notebook and see whether the assert fails.

One execution is enough: after each assert that passed, the altered one is evaluated in place.
"""

import ast
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import nbformat
from execute_notebooks import run
from nbformat.v4 import new_code_cell

HERE = Path(__file__).resolve().parent
COMPARE_ARRAYS = {"same", "allclose", "isclose", "array_equal", "equal", "array_equiv"}
ORDER = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
NEVER = "never reached"
HELPERS = "_altered_values"  # a name that no notebook uses


@dataclass
class Altered:
    """One assert with one side changed, and what became of it."""

    notebook: str
    cell: int
    source: str
    what: str
    outcome: str = NEVER


def _call(name: str, *arguments: ast.expr, **keywords: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(HELPERS, ast.Load()), name, ast.Load())
    given = [ast.keyword(key, value) for key, value in keywords.items()]
    return ast.Call(function, [deepcopy(argument) for argument in arguments], given)


def altered_tests(test: ast.expr) -> Iterator[ast.expr]:
    """Yield a test with one side changed, for each side; nothing for a mere truth value."""
    match test:
        case ast.BoolOp(op=ast.And()):
            for place, value in enumerate(test.values):
                for changed in altered_tests(value):
                    copy = deepcopy(test)
                    copy.values[place] = changed
                    yield copy
        case ast.BoolOp(op=ast.Or()):
            changed = [next(altered_tests(value), None) for value in test.values]
            if None not in changed:
                yield ast.BoolOp(ast.Or(), changed)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call) if _compares_arrays(call):
            yield ast.UnaryOp(ast.Not(), _with_second(call, deepcopy(call.args[0])))
        case ast.Compare():
            yield from _altered_comparisons(test)
        case ast.Call() if _compares_arrays(test):
            tolerances = {k.arg: k.value for k in test.keywords if k.arg in ("atol", "rtol")}
            yield _with_second(test, _call("other", test.args[1], **tolerances))
        case ast.Call():
            yield from _altered_inside(test)


def truth_values(test: ast.expr) -> int:
    """Count the parts of a test that have no side to change, such as ``x.is_leaf``."""
    if isinstance(test, ast.BoolOp):
        return sum(truth_values(value) for value in test.values)
    return int(next(altered_tests(test), None) is None)


def same_on_both_sides(test: ast.expr) -> bool:
    """Say whether anything in a test is compared with the very same expression."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and _compares_arrays(node):
            sides = node.args[:2]
        else:
            continue
        written = [ast.dump(side) for side in sides]
        if len(set(written)) < len(written):
            return True
    return False


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _compares_arrays(call: ast.Call) -> bool:
    return _name(call) in COMPARE_ARRAYS and len(call.args) >= 2


def _with_second(call: ast.Call, argument: ast.expr) -> ast.Call:
    copy = deepcopy(call)
    copy.args[1] = argument
    return copy


def _altered_comparisons(test: ast.Compare) -> Iterator[ast.expr]:
    """Yield a chain of comparisons with one of its sides changed, for each link."""
    for place, operator in enumerate(test.ops):
        left = test.comparators[place - 1] if place else test.left
        right = test.comparators[place]
        copy = deepcopy(test)
        match operator:
            case ast.Eq() | ast.Is():
                copy.comparators[place] = _call("other", right)
            case ast.NotEq() | ast.IsNot():
                copy.comparators[place] = deepcopy(left)
            case ast.In():
                copy.left = _call("other", left)
            case ast.NotIn():
                copy.comparators[place] = _call("including", right, left)
            case _:
                sign = ast.Constant(ORDER[type(operator)])
                copy.comparators[place] = _call("beyond", left, sign)
        yield copy


def _altered_inside(call: ast.Call) -> Iterator[ast.expr]:
    """Yield ``all(...)``, ``any(...)`` and ``(...).all()`` with what they gather changed."""
    if _name(call) not in ("all", "any", "bool"):
        return
    if not call.args:
        for changed in altered_tests(call.func.value):
            copy = deepcopy(call)
            copy.func.value = changed
            yield copy
        return
    gathered = call.args[0]
    if isinstance(gathered, ast.GeneratorExp | ast.ListComp):
        for changed in altered_tests(gathered.elt):
            copy = deepcopy(call)
            copy.args[0].elt = changed
            yield copy
    else:
        for changed in altered_tests(gathered):
            yield ast.Call(deepcopy(call.func), [changed], [])


class Instrument(ast.NodeTransformer):
    """Put after each assert one call for each way of altering it, and list them."""

    def __init__(self, notebook: str) -> None:
        self.notebook, self.cell = notebook, 0
        self.altered: list[Altered] = []
        self.asserts = self.truth_values = 0

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        self.asserts += 1
        self.truth_values += truth_values(node.test)
        calls: list[ast.stmt] = []
        for test in altered_tests(node.test):
            number = ast.Constant(len(self.altered))
            self._add(node, _readable(test))
            function = ast.Lambda(ast.arguments([], [], None, [], [], None, []), test)
            calls.append(ast.Expr(_call("check", number, function)))
        if same_on_both_sides(node.test):
            self._add(node, "it stands", "compares an expression with itself")
        return [node, *calls]

    def _add(self, node: ast.Assert, what: str, outcome: str = NEVER) -> None:
        source = ast.unparse(node)
        self.altered.append(Altered(self.notebook, self.cell, source, what, outcome))

    def source(self, number: int, source: str) -> str:
        """Return a cell's code with the calls written in; code without asserts as it is."""
        if "assert" not in source:
            return source
        self.cell = number
        return ast.unparse(ast.fix_missing_locations(self.visit(ast.parse(source))))


def _readable(test: ast.expr) -> str:
    return ast.unparse(test).replace(f"{HELPERS}.", "")


def sweep(path: Path) -> Instrument:
    """Run a notebook once with every assert followed by its altered forms; fill in outcomes."""
    notebook = nbformat.read(path, as_version=4)
    instrument = Instrument(path.stem)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.source = instrument.source(number, cell.source)
    paths = [str(HERE.parent)]
    first = f"import sys; sys.path[:0] = {paths!r}\nfrom tampering import values as {HELPERS}"
    last = f"import json; print(json.dumps({HELPERS}.OUTCOMES))"
    notebook.cells.insert(0, new_code_cell(first))
    notebook.cells.append(new_code_cell(last))
    run(notebook, path.parent)
    outcomes = json.loads(notebook.cells[-1].outputs[0].text)
    for number, altered in enumerate(instrument.altered):
        if seen := outcomes.get(str(number)):
            # In a loop one failure is enough: the cell stops there.
            altered.outcome = "failed" if "failed" in seen else seen[0]
    return instrument
