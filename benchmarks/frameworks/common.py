"""Data, timing and report shared by the programs of all frameworks.

Imports no framework, so that each program runs in an environment of its own.
"""

import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Four moves of a random walk over five states; one feature for each state, none for an exit.
A, B, C, D, E = ([float(i == k) for i in range(5)] for k in range(5))
EXIT = [0.0] * 5
THETA = [0.2, 0.1, 0.4, 0.8, 0.9]
S, R, S_NEXT = [A, C, C, E], [0.0, 0.0, 0.0, 1.0], [EXIT, B, D, EXIT]

V1, V2 = [1.0, 1.0], [2.0, 2.0]  # of the leaf session: v_res = ((v1 + v2) * 2).sum()

SIZES, FEATURES = (1, 32, 1024), 16


def closed_form(theta: list, s: list, r: list, s_next: list) -> list:
    """Return the rows of 0.5 (target - s . theta)^2 with the target fixed: -(TD error) s."""
    rows = []
    for here, reward, there in zip(s, r, s_next, strict=True):
        error = reward + _dot(there, theta) - _dot(here, theta)
        rows.append([-error * x for x in here])
    return rows


def _dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def batch(size: int) -> tuple[list, list, list, list]:
    """Return theta, s, r, s_next: ``size`` transitions, no two alike, for the times."""
    draw = random.Random(size).gauss
    vectors = [[draw(0, 1) for _ in range(FEATURES)] for _ in range(2 * size + 1)]
    theta, s, s_next = vectors[0], vectors[1 : size + 1], vectors[size + 1 :]
    return theta, s, [draw(0, 1) for _ in range(size)], s_next


def said(run: Callable[[], Any], line: int = 0) -> str:
    """Return class and one line of the message of the exception that a call raises, "" if none."""
    try:
        run()
    except Exception as error:  # whichever class the framework has chosen
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        name = type(error).__name__
        return f"{name}: {lines[line].removeprefix(f'{name}: ') if lines else ''}"
    return ""


def times(rows: Callable, mean: Callable, convert: Callable, wait: Callable = lambda x: x) -> dict:
    """Return size -> seconds of rows and batch gradient: medians, and those of the first calls.

    ``rows`` and ``mean`` take (theta, s, r, s_next), each made by ``convert`` from a list;
    ``wait`` is called with their result, and returns once it is computed. With KEEP_TIMES in the
    environment nothing is timed, and the table is empty.
    """
    table: dict = {}
    if os.environ.get("KEEP_TIMES"):
        return table
    for size in SIZES:
        arguments = [convert(x) for x in batch(size)]
        runs = {
            "rows": lambda a=arguments: wait(rows(*a)),
            "mean": lambda a=arguments: wait(mean(*a)),
        }
        entry = {f"first {name}": _seconds(run, 1) for name, run in runs.items()}
        repeats = {name: max(1, int(0.02 / _seconds(run, 1))) for name, run in runs.items()}
        samples: dict = {name: [] for name in runs}
        for _ in range(7):
            for name, run in runs.items():
                samples[name].append(_seconds(run, repeats[name]))
        entry |= {name: statistics.median(t) for name, t in samples.items()}
        table[str(size)] = {name: float(f"{t:.3g}") for name, t in entry.items()}
    return table


def _seconds(run, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def named(scope: dict, words: dict[str, str]) -> dict[str, str]:
    """Return ``words`` unchanged; raise an exception if one does not evaluate in ``scope``.

    A word is an expression such as ``tf.GradientTape``; "" says that the framework has none.
    """
    for word in words.values():
        if word:
            eval(word, scope)  # our own text
    return words


def shared(program: str, words: str) -> str:
    """Return ``words``, the code by which the program's ``rows`` shares theta.

    Raise ValueError if the program's section [rows], which computes its results, lacks them.
    """
    code = Path(program).read_text(encoding="utf-8").partition("# [rows]")[2]
    if words not in code.partition("# [end]")[0]:
        raise ValueError(f"{words!r} is not in the rows of {Path(program).name}")
    return words


def keeps(tensor: Any) -> bool:
    """Return whether a tensor has both `backward()` and `.grad`."""
    return hasattr(tensor, "backward") and hasattr(tensor, "grad")


def report(package: str, **found: Any) -> None:
    """Print the results and versions as JSON, the last line of the program's output."""
    facts = {"version": version(package), "python": platform.python_version(), **found}
    sys.stdout.flush()
    print(json.dumps(facts), flush=True)
