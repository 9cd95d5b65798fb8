"""What may come of a generated call: right, refused with a documented error, or a fault.

Refusals are told from accidents by where an error is raised.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
