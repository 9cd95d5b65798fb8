"""The sweep over asserts: every form of assert is altered, and one that cannot fail is found."""

import ast

import nbformat
import numpy as np
import pytest
from execute_notebooks import METADATA
from nbformat.v4 import new_code_cell, new_notebook
from tampering import asserts, values

from persample import backend
from persample.backends import BACKENDS
from persample_book.notebook import same

FAIL = [
    "a == 3",
    "a == 3 == 3.0",
    "2 < a <= 3",
    "a >= 3 > x[0]",
    "a != 4 and b is None",
    "b is not a",
    "same(x, [1.0, 2.0])",
    "np.allclose(x, [1, 2], rtol=1e-2)",
    "not same(x, [1.0, 2.5])",
    "(x == x.copy()).all()",
    "np.all(x == [1, 2])",
    "all(v == v + 0 for v in x)",
    "all([v < 3 for v in x])",
    "a == 4 or a == 3",
    "s in 'some names' and s not in 'other words'",
    "{s} <= {'names', 'more'}",
    "(a, s) == (3, 'names')",
    "{'k': a} == {'k': 3}",
    "type(a) is int",
    "a == a",
]


@pytest.mark.parametrize("source", FAIL)
def test_an_altered_assert_fails(source):
    known = {"a": 3, "b": None, "x": np.array([1.0, 2.0]), "s": "names", "np": np, "same": same}
    known[asserts.HELPERS] = values
    assert eval(source, known)
    altered = list(asserts.altered_tests(ast.parse(source, mode="eval").body))
    assert altered
    for test in altered:
        code = compile(ast.fix_missing_locations(ast.Expression(test)), "altered", "eval")
        assert not eval(code, known), ast.unparse(test)


@pytest.mark.parametrize("source", ["x.flag", "not x.flag", "hasattr(x, 'y')", "a == 1 or x.flag"])
def test_a_truth_value_has_no_side_to_change(source):
    assert list(asserts.altered_tests(ast.parse(source, mode="eval").body)) == []


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 2)])
def test_another_array_differs_and_leaves_the_first_alone(name, shape):
    array = backend(name).asarray(np.arange(np.prod(shape), dtype=float).reshape(shape), "float32")
    other = values.other(array)
    assert same(array, np.arange(np.prod(shape)).reshape(shape))
    assert not same(array, other)


@pytest.mark.parametrize("value", [1, 1.5, True, None, "", "a", b"a", [], [1, [2]], {}, {1: 2}])
def test_another_value_differs(value):
    assert values.other(value) != value


def test_another_value_is_beyond_the_tolerance():
    assert not np.allclose(values.other(10.0, atol=0.5, rtol=0.1), 10.0, atol=0.5, rtol=0.1)
    assert np.allclose(values.other(10.0), 10.0, rtol=1e-2)


CELLS = """\
assert 1 + 1 == 2
assert all(row == 7 for row in [])
for n in range(3):
    assert n < 3
assert isinstance(n, int)
if n == 5:
    assert n == 5
assert sum([0.5]) == (0.5 if n else 0)
assert abs(n) in {n, n + 1}
assert n == 2 and n >= n and n"""


def test_an_assert_that_cannot_fail_is_found(tmp_path):
    notebook = new_notebook(cells=[new_code_cell(CELLS)], metadata=METADATA)
    nbformat.write(notebook, tmp_path / "cells.ipynb")
    instrument = asserts.sweep(tmp_path / "cells.ipynb")
    outcomes = {altered.source: altered.outcome for altered in instrument.altered}
    itself = "assert n == 2 and n >= n and n"
    assert outcomes.pop(itself) == "compares an expression with itself"
    assert outcomes == {
        "assert 1 + 1 == 2": "failed",
        "assert all((row == 7 for row in []))": "held",
        "assert n < 3": "failed",
        "assert n == 5": "never reached",
        "assert sum([0.5]) == (0.5 if n else 0)": "failed",
        "assert abs(n) in {n, n + 1}": "held",
    }
    assert (instrument.asserts, instrument.truth_values) == (8, 2)


def test_an_altered_assert_that_raises_is_named():
    values.OUTCOMES.clear()
    values.check(0, lambda: 1 / 0)
    assert values.OUTCOMES.pop(0) == ["raised ZeroDivisionError: division by zero"]
