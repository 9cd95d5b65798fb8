"""What may come of a generated call: right, refused with a documented error, or a fault.

Separate because both kinds of calls, and the tests of the harness itself, are judged by it.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import persample

RIGHT, REFUSED, FAILED = "right", "refused", "failed"
DOCUMENTED = (
    *(ValueError, TypeError, NotImplementedError, RuntimeError),
    *(IndexError, AttributeError),
)
PACKAGE = Path(persample.__file__).resolve().parent
SHORTEST = 30  # characters: a message says where, what was given and what is needed


class Outcome(NamedTuple):
    kind: str  # RIGHT, REFUSED or FAILED
    what: str  # the call in a few words
    text: str = ""  # what was refused, or what went wrong


class Wrong(Exception):
    """An answer that is not the oracle's."""


def judged(what: str, run: Callable, must_refuse: bool = False, may_refuse: bool = True):
    """Return the Outcome of ``run()``, which raises Wrong where the answer is not right."""
    try:
        run()
    except Wrong as wrong:
        return Outcome(FAILED, what, str(wrong))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if not documented(error):
            return Outcome(FAILED, what, f"bare error: {text[:600]}")
        kind = REFUSED if may_refuse else FAILED
        return Outcome(kind, what, text if may_refuse else f"refused without need: {text}")
    if must_refuse:
        return Outcome(FAILED, what, "answered in silence, where a refusal is needed")
    return Outcome(RIGHT, what)


def documented(error: Exception) -> bool:
    """Say whether an error is one of the package's own sentences.

    It has to come from a ``raise`` in the package: what a framework, NumPy or an accident inside
    the package raises does not.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or type(error) not in DOCUMENTED or len(str(error)) < SHORTEST:
        return False
    path = Path(place.tb_frame.f_code.co_filename).resolve()
    return place.tb_lineno in RAISES.get(path, ())


def raises_of(path: Path) -> frozenset[int]:
    """Return the lines of a file that belong to a ``raise`` with an error of its own."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            lines.update(range(node.lineno, node.end_lineno + 1))
    return frozenset(lines)


RAISES = {path: raises_of(path) for path in PACKAGE.rglob("*.py")}  # as it was loaded


def compare(what: str, actual: Any, expected: Any, tolerance: float) -> None:
    """Raise Wrong unless two arrays agree in shape and in every entry, NaN and infinities too."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        raise Wrong(f"{what}: shape {actual.shape}, needed {expected.shape}")
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= tolerance * (1 + np.abs(b))
    fine = same | (near & np.isfinite(a) & np.isfinite(b))
    if not fine.all():
        at = tuple(int(k) for k in np.argwhere(~fine)[0])
        raise Wrong(f"{what}{list(at)}: {a[at]!r}, needed {b[at]!r}")
