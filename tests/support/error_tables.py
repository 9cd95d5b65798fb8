"""Check a table of wrong calls: each raises its error, and every `raise` is reached."""

import ast
import re
import traceback
from pathlib import Path

import pytest


def check_errors(table, files):
    """Assert that every call raises its error, and that together they reach every ``raise``.

    An entry of ``table`` is (call, exception class, part of its message); ``files`` are the source
    files whose ``raise`` statements are counted.
    """
    reached = set()
    for call, kind, words in table:
        with pytest.raises(kind, match=re.escape(words)) as caught:
            call()
        assert type(caught.value) is kind, words
        frame = traceback.extract_tb(caught.value.__traceback__)[-1]
        reached.add((Path(frame.filename), frame.lineno))
    raises = {
        (Path(path), node.lineno)
        for path in files
        for node in ast.walk(ast.parse(Path(path).read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    }
    assert len(raises) > 20
    assert raises - reached == set()
