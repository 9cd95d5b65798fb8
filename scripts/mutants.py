"""Mutants of a Python file: copies with one small fault each, made by the operators of mutmut.

Separate from `mutate.py`, which runs tests on them, because this part executes nothing.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, WhitespaceInclusivePositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, the lines before and after, and the whole changed source.

    ``number`` tells apart equal changes of equal lines in one function, in reading order.
    ``place`` is common to the changes that one operator makes to one expression.
    """

    file: str
    function: str
    before: str
    after: str
    number: int
    place: tuple[int, int, str]
    source: str

    @property
    def key(self) -> tuple:
        """What names the mutant, and stays the same when code elsewhere in the file changes."""
        return self.file, self.function, self.before, self.after, self.number

    def rank(self, seed: int) -> str:
        """Return a text that looks random: a sample is what has the lowest ranks."""
        return hashlib.sha256(repr((seed, self.key)).encode()).hexdigest()

    @property
    def words(self) -> set[str]:
        """Return the names that a test of just this code is likely to have in its own name.

        They are those of the function, of texts in the lines, and of the row of a table.
        """
        name = self.function.rpartition(".")[2].removesuffix("_vjp").strip("_")
        words = {name, *re.findall(r"[\"'](\w+)[\"']", self.before)}
        if self.function == "module":
            words.update(re.findall(r'"(\w+)":', self.source[: self.place[0]])[-1:])
        return words - {"module"}

    def compiles(self) -> bool:
        """Say whether the changed source is Python at all."""
        try:
            compile(self.source, self.file, "exec")
        except (SyntaxError, ValueError):
            return False
        return True

    def __str__(self) -> str:
        number = f" (number {self.number})" if self.number > 1 else ""
        lines = [f"    - {line}" for line in self.before.splitlines()]
        lines += [f"    + {line}" for line in self.after.splitlines()]
        return "\n".join([f"{self.file}, {self.function}{number}", *lines])


def mutants(path: Path, name: str) -> Iterator[Mutant]:
    """Yield every mutant of the file, in reading order; ``name`` is what the report calls it."""
    source = path.read_text()
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    finder = _Finder(wrapper.module)
    wrapper.visit(finder)
    seen, count = {source}, Counter()
    for function, place, text in finder.changes:
        changed = source[: place[0]] + text + source[place[1] :]
        if changed not in seen:
            seen.add(changed)
            key = name, function, *_differing_lines(source, changed)
            count[key] += 1
            yield Mutant(*key, count[key], place, changed)


def sample(found: Iterable[Mutant], size: int, seed: int) -> list[Mutant]:
    """Draw at most ``size`` mutants, from each file in proportion to its places.

    A place gives one mutant: of the changes that one operator makes to one expression (each
    argument of a call left out in turn) one is drawn. The draw depends on the seed and on each
    mutant's own lines: a change elsewhere in the code leaves most of the sample as it is.
    """
    files: dict[str, dict[tuple, list[Mutant]]] = {}
    for mutant in found:
        files.setdefault(mutant.file, {}).setdefault(mutant.place, []).append(mutant)
    turns = []  # the i-th of a file's n places has its turn at i / n
    for places in files.values():
        drawn = sorted(places.values(), key=lambda group: group[0].rank(seed))
        turns += [(i / len(drawn), group[0].rank(seed), group) for i, group in enumerate(drawn)]
    chosen: list[Mutant] = []
    for *_, group in sorted(turns, key=lambda turn: turn[:2]):
        if len(chosen) == size:
            break
        if able := [mutant for mutant in group if mutant.compiles()]:
            chosen.append(min(able, key=lambda mutant: mutant.rank(seed + 1)))
    return chosen


class _Finder(cst.CSTVisitor):
    """Collect (function, place, new text) for everything that an operator changes.

    Left out: annotations, ``__all__``, the strings of a raise statement, which are prose, and
    ``strict=`` of zip, a guard that no correct program can reach. (The operators themselves
    leave out docstrings.)
    """

    METADATA_DEPENDENCIES = (WhitespaceInclusivePositionProvider,)

    def __init__(self, module: cst.Module):
        super().__init__()
        self.module = module
        self.starts = [0]  # the offset at which each line starts
        for line in module.code.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.names: list[str] = []
        self.raises = 0
        self.changes: list[tuple[str, tuple[int, int, str], str]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation) or _is_all(node) or _is_strict(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self.names.append(node.name.value)
        self.raises += isinstance(node, cst.Raise)
        for kind, operator in mutation_operators:
            if isinstance(node, kind) and not (operator is operator_string and self.raises):
                self._apply(node, operator)
        return True

    def on_leave(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self.names.pop()
        self.raises -= isinstance(node, cst.Raise)

    def _apply(self, node: cst.CSTNode, operator) -> None:
        changed = list(operator(node))
        if not changed:
            return
        span = self.get_metadata(WhitespaceInclusivePositionProvider, node)
        start = self.starts[span.start.line - 1] + span.start.column
        stop = self.starts[span.end.line - 1] + span.end.column
        text = self.module.code_for_node(node)
        if _stripped(self.module.code[start:stop]) != _stripped(text):
            raise AssertionError(f"line {span.start.line} does not hold {text}")
        where, place = ".".join(self.names) or "module", (start, stop, operator.__name__)
        for new in changed:
            new_text = self.module.code_for_node(new)
            if new_text != text and _strict(new) == _strict(node):
                self.changes.append((where, place, new_text))


def _is_all(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Assign) and any(
        isinstance(target.target, cst.Name) and target.target.value == "__all__"
        for target in node.targets
    )


def _is_strict(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "strict"
    )


def _strict(node: cst.CSTNode) -> list[str]:
    """Return the ``strict=`` argument of a call, if it has one."""
    if not isinstance(node, cst.Call):
        return []
    return [cst.Module([]).code_for_node(arg.value) for arg in node.args if _is_strict(arg)]


def _stripped(text: str) -> list[str]:
    """Return the lines without indentation, which a node's own text does not have."""
    return [line.strip() for line in text.splitlines()]


def _differing_lines(source: str, changed: str) -> tuple[str, str]:
    """Return the lines in which the two texts differ, before and after."""
    before, after = _stripped(source), _stripped(changed)
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return "\n".join(before), "\n".join(after)
