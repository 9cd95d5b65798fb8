"""Mutants of a Python file: copies with one small fault each, made by mutmut's operators."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, WhitespaceInclusivePositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string


@dataclass(frozen=True)
class Mutant:
    """One fault: its file and function, the changed lines before and after, the whole source.

    ``number`` counts equal changes of equal lines in one function, in reading order.
    """

    file: str
    function: str
    before: str
    after: str
    number: int
    source: str

    @property
    def key(self) -> tuple:
        """Return an identifier that does not change when other code of the file changes."""
        return self.file, self.function, self.before, self.after, self.number

    def compiles(self) -> bool:
        """Return whether the changed source compiles."""
        with suppress(SyntaxError, ValueError):
            return bool(compile(self.source, self.file, "exec"))
        return False


def mutants(path: Path, name: str) -> Iterator[Mutant]:
    """Yield every mutant of the file, in reading order; reports call the file ``name``."""
    source = path.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    finder = _Finder(wrapper.module)
    wrapper.visit(finder)
    seen, count = {source}, Counter()
    for function, start, stop, text in finder.changes:
        changed = source[:start] + text + source[stop:]
        # `strict=` of zip is a guard that no correct program can reach.
        if changed not in seen and changed.count("strict=True") == source.count("strict=True"):
            seen.add(changed)
            key = name, function, *_differing_lines(source, changed)
            count[key] += 1
            yield Mutant(*key, count[key], changed)


class _Finder(cst.CSTVisitor):
    """Collect (function, start, stop, new text) for everything that an operator changes.

    Annotations, ``__all__`` and the strings of a raise statement, which are prose, are left out.
    (The operators themselves skip docstrings.)
    """

    METADATA_DEPENDENCIES = (WhitespaceInclusivePositionProvider,)

    def __init__(self, module: cst.Module):
        super().__init__()
        self.module = module
        lines = module.code.splitlines(keepends=True)
        self.starts = list(accumulate(map(len, lines), initial=0))  # the offset of each line
        self.names: list[str] = []
        self.raises = 0
        self.changes: list[tuple[str, int, int, str]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        names = isinstance(node, cst.Assign) and node.targets[0].target
        if isinstance(node, cst.Annotation) or names and names.deep_equals(cst.Name("__all__")):
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
        span = self.get_metadata(WhitespaceInclusivePositionProvider, node)
        start = self.starts[span.start.line - 1] + span.start.column
        stop = self.starts[span.end.line - 1] + span.end.column
        where = ".".join(self.names) or "module"
        for new in operator(node):
            self.changes.append((where, start, stop, self.module.code_for_node(new)))


def _differing_lines(source: str, changed: str) -> tuple[str, str]:
    """Return the lines from the first to the last difference, before and after, not indented."""
    before, after = ([line.strip() for line in text.splitlines()] for text in (source, changed))
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return "\n".join(before), "\n".join(after)
