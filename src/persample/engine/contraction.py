"""Translate an einsum of two arrays into a short, readable NumPy expression.

A module of its own because `primitives` evaluates the expression and `codegen` writes it into the
generated programs.
"""

from collections.abc import Callable
from functools import cache

import numpy as np


def expression(subscripts: str) -> str:
    """Return a NumPy expression in ``{x}`` and ``{y}`` for a two-operand einsum.

    Each letter of an operand must occur in the other or in the output, at most once in each.

    Example
    -------
    >>> expression("i,i->"), expression("bi,ij->bj"), expression("bi,bj->ij")
    ('{x} @ {y}', '{x} @ {y}', '{x}.T @ {y}')
    >>> expression("b,bi->bi"), expression("bi,bj->bij")
    ('{x}[:, None] * {y}', '{x}[:, :, None] * {y}[:, None, :]')
    """
    x, y, out = split(subscripts)
    summed = [letter for letter in x if letter in y and letter not in out]
    if not summed:
        return f"{_lay_out('{x}', x, out)} * {_lay_out('{y}', y, out)}"
    batch = "".join(letter for letter in out if letter in x and letter in y)
    rows = "".join(letter for letter in x if letter not in y)
    columns = "".join(letter for letter in y if letter not in x)
    leading = all(letters.startswith(batch) for letters in (x, y, out))
    if len(summed) == 1 and len(rows) <= 1 and len(columns) <= 1 and leading:
        return _matmul(x, y, out, batch, rows, summed[0], columns)
    if not batch:
        axes = [x.index(s) for s in summed], [y.index(s) for s in summed]
        order = [(rows + columns).index(letter) for letter in out]
        product = f"np.tensordot({{x}}, {{y}}, {axes})"
        return product if order == sorted(order) else f"{product}.transpose({order})"
    return f"np.einsum({subscripts!r}, {{x}}, {{y}})"


def split(subscripts: str) -> tuple[str, str, str]:
    """Return the letters of the first operand, the second and the output of "ab,bc->ac"."""
    operands, out = subscripts.split("->")
    x, y = operands.split(",")
    return x, y, out


def _lay_out(name: str, letters: str, out: str) -> str:
    """Return code for an operand with its axes as in ``out``, and None for letters it lacks."""
    order = [letters.index(letter) for letter in out if letter in letters]
    if order != sorted(order):
        name = f"{name}.T" if order == [1, 0] else f"{name}.transpose({order})"
    index = [":" if letter in letters else "None" for letter in out]
    while index and index[0] == "None":  # NumPy adds leading axes by itself
        index.pop(0)
    return f"{name}[{', '.join(index)}]" if "None" in index else name


def _matmul(x: str, y: str, out: str, batch: str, row: str, summed: str, column: str) -> str:
    """Return code for x @ y, or for y.T @ x.T if ``column`` precedes ``row`` in ``out``."""
    flip = ".mT" if batch else ".T"
    if not (row and column):
        left = "{x}" if x == batch + row + summed else "{x}" + flip
        right = "{y}" if y == batch + summed + column else "{y}" + flip
        if not batch:
            return f"{left} @ {right}"
        name = "np.matvec" if row else "np.vecmat" if column else "np.vecdot"
        return f"{name}({left}, {right})"
    if out == batch + row + column:
        left = "{x}" if x.endswith(summed) else "{x}" + flip
        right = "{y}" if y.endswith(column) else "{y}" + flip
        return f"{left} @ {right}"
    left = "{y}" if y.endswith(summed) else "{y}" + flip
    right = "{x}" if x.endswith(row) else "{x}" + flip
    return f"{left} @ {right}"


@cache
def contract(subscripts: str) -> Callable:
    """Return the `expression` of the subscripts as a function of two arrays."""
    source = expression(subscripts).format(x="x", y="y")
    return eval(f"lambda x, y: {source}", {"np": np})  # the text above, never the user's
