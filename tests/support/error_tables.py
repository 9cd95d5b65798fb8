"""What a table of wrong calls is for: each gets its sentence, and no `raise` is left out."""

import ast
import re
import traceback
from pathlib import Path

import pytest


def check_errors(table, files):
    """Make every call, a row being (call, kind of error, words of it); look for other raises."""
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
