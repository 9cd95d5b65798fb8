"""Source code on a page: docstrings go, wide lines are folded, and what remains still runs."""

import ast
import importlib

import pytest

from persample import tape
from persample.engine import batching, core, reverse, vjps
from persample_book import sources

SHOWN = [core.bind, reverse.backward, batching._einsum, tape.TapeTrace.process, tape._keep]


@pytest.mark.parametrize("thing", [*SHOWN, core.Trace])
def test_what_is_shown_is_the_function_without_its_docstring(thing, capsys):
    sources.show(thing)
    shown = capsys.readouterr().out
    assert '"""' not in shown
    assert f" {thing.__name__}" in shown.splitlines()[0]
    assert max(map(len, shown.splitlines())) <= 79
    if thing is not core.Trace:  # whose methods are nothing but docstrings
        ast.parse(shown)


def test_a_word_chooses_lines(capsys):
    sources.show(vjps, '"tanh"')
    (line,) = capsys.readouterr().out.splitlines()
    assert line.strip().startswith('"tanh": (lambda')


def test_a_wide_line_is_folded_and_loses_its_comment(capsys):
    sources.show(core.bind, "def bind", width=40)
    folded = capsys.readouterr().out
    assert max(map(len, folded.splitlines())) <= 40
    assert " ".join(folded.split()).startswith("def bind(primitive: Primitive, *inputs")
    sources.show(reverse.ReverseTrace.process, "cut =", width=60)
    assert "#" not in capsys.readouterr().out


@pytest.mark.parametrize("thing", SHOWN)
@pytest.mark.parametrize("width", [45, 60, 79])
def test_folding_changes_nothing_in_the_program(thing, width, capsys):
    sources.show(thing, width=width)
    folded = capsys.readouterr().out
    assert max(map(len, folded.splitlines())) <= width
    sources.show(thing, width=1000)
    assert ast.dump(ast.parse(folded)) == ast.dump(ast.parse(capsys.readouterr().out))


def test_the_contents_list_every_file_with_its_size(capsys):
    sources.contents()
    lines = capsys.readouterr().out.splitlines()
    listed = {name: int(count) for name, count in (line.split()[:2] for line in lines)}
    assert listed == {name: sources.size([name]) for name in (*sources.READING, *sources.COMPILER)}


def test_a_table_has_its_head_apart():
    text = sources.table(("a", "b"), (1, 2)).data
    assert text.splitlines() == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_the_size_is_that_of_the_files_together():
    alone = [sources.size([name]) for name in sources.READING]
    assert min(alone) > 0
    assert sources.size(sources.READING) == sum(alone)
    for name in sources.FUNCTIONS:
        importlib.import_module(f"persample.engine.{name.replace('/', '.')}")
