"""Printed source code: docstrings are removed, wide lines are broken, and the rest still runs."""

import ast
import inspect
import textwrap

import pytest

from persample import tape
from persample.engine import batching, core, reverse
from persample_book import sources

SHOWN = [core.bind, reverse.backward, batching._einsum, tape.TapeTrace.process]


def without_docstring(thing) -> str:
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    if ast.get_docstring(function):
        del function.body[0]
    return ast.dump(function)


@pytest.mark.parametrize("width", [45, 79])
@pytest.mark.parametrize("thing", SHOWN)
def test_what_is_shown_is_the_function_without_its_docstring(thing, width, capsys):
    sources.show(thing, width=width)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    (function,) = ast.parse(shown).body
    assert ast.dump(function) == without_docstring(thing)


def test_the_contents_list_every_file_with_its_size(capsys):
    sources.contents()
    lines = capsys.readouterr().out.splitlines()
    listed = {name: int(count) for name, count in (line.split()[:2] for line in lines)}
    assert listed == {name: sources.size([name]) for name in (*sources.READING, *sources.COMPILER)}
    assert sources.size(sources.READING) == sum(map(listed.get, sources.READING))
