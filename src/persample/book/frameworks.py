"""Tables of what scripts/frameworks.py found: the same line in other frameworks.

Every cell comes from a run; a framework that could not be installed has its reason instead.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

NONE = "none"  # a framework without such a thing
WAYS = {
    "numpy_engine": "`jit(vmap(grad))`",
    "pytorch": "`vmap(grad)`, compiled or not",
    "jax": "`jit(vmap(grad))`",
    "mindspore": "`jit(vmap(grad))`",
    "mlx": "`compile(vmap(grad))`",
    "tensorflow": "a tape in `vectorized_map`; `tape.jacobian`",
    "pytensor": "`vectorize_graph` of `grad`; `jacobian`",
    "autograd": "`jacobian`; a loop",
    "chainer": "copies of the weights; a loop",
}


class Table(str):
    """Markdown, which a notebook shows as a table."""

    def _repr_markdown_(self) -> str:
        return str(self)


def load(path: str | Path) -> dict[str, dict[str, Any]]:
    """Return framework -> what its program found, of those that ran, in the order of the page."""
    stored = json.loads(Path(path).read_text(encoding="utf-8"))["frameworks"]
    return {name: stored[name] for name in WAYS if "not had" not in stored[name]}


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> Table:
    """Return a table with these column names, one line for each of the rows."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return Table("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def differences(found: Mapping[str, dict], wanted: Any) -> dict[str, float]:
    """Return framework -> the largest difference of any of its rows from ``wanted``."""
    return {
        name: max(float(np.abs(np.array(rows) - wanted).max()) for rows in facts["rows"])
        for name, facts in found.items()
    }


def ways(found: Mapping[str, dict], wanted: Any) -> Table:
    """Return the table of versions, ways to the rows, and differences from ``wanted``."""
    largest = differences(found, wanted)
    lines = [
        [facts["name"], facts["version"].split("+")[0], WAYS[name], _below(largest[name])]
        for name, facts in found.items()
    ]
    return table(["framework", "version", "its way to the rows", "difference below"], lines)


def _below(x):
    return next(text for text in ("1e-15", "1e-7", "1e-6") if x < float(text))


def words(found: Mapping[str, dict], *which: str) -> Table:
    """Return the table of what each framework calls these things."""
    lines = [
        [facts["name"], *[_short(facts["words"][word]) for word in which]]
        for facts in found.values()
    ]
    return table(["framework", *which], lines)


def _short(name):
    """Return a name as code, without its package where a class or a module follows."""
    rest = name.partition(".")[2]
    return f"`{rest if '.' in rest else name}`" if name else NONE


def behaviour(found: Mapping[str, dict]) -> Table:
    """Return the table of what three small programs do in each framework."""
    lines = [
        [facts["name"], _vector(facts["vector"]), _unused(facts["unused"]), _twice(facts["twice"])]
        for facts in found.values()
    ]
    return table(
        ["framework", "a loss of two numbers", "an unused input", "backward, twice"], lines
    )


def _vector(seen):
    return "**sum, in silence**" if isinstance(seen, list) else "error"


def _unused(seen):
    if seen.startswith(".grad is None"):
        return "`.grad` None; `autograd.grad` error; `func.grad` 0"
    return {"0.0": "0", "None": "None"}.get(seen, "error")


def _twice(seen):
    return "adds up" if seen[1] == 2 * seen[0] else "each its own"


def branches(found: Mapping[str, dict]) -> Table:
    """Return the table of where a Python `if` on a value runs."""
    lines = []
    for facts in found.values():
        seen = facts["branch"]
        lines.append([facts["name"], *[_runs(seen, k) for k in ("eager", "compiled", "batched")]])
    return table(["framework", "`if` as it runs", "compiled", "batched"], lines)


def _runs(seen, where):
    if where not in seen:
        return NONE
    return "error" if seen[where] else "runs"


def messages(found: Mapping[str, dict], of: str, where: str | None = None) -> None:
    """Print the messages of one kind, each below its framework's name."""
    for facts in found.values():
        text = facts[of] if where is None else facts[of].get(where, "")
        if isinstance(text, str) and "Error" in text:
            print(f"{facts['name']}\n  {text.removeprefix('.grad is None; ')}")


def ratios(found: Mapping[str, dict]) -> dict[str, list[float]]:
    """Return framework -> time of the rows in batch gradients, for each batch size."""
    return {
        name: [times["rows"] / times["mean"] for times in facts["times"].values()]
        for name, facts in found.items()
    }


def costs(found: Mapping[str, dict]) -> Table:
    """Return the table of rows in batch gradients, for each batch size, and of first calls."""
    lines = []
    for name, each in ratios(found).items():
        first = max(times["first rows"] for times in found[name]["times"].values())
        seconds = f"{first:.0f} s" if first >= 1 else f"{first:.1g} s"
        lines.append([found[name]["name"], *map(_two_digits, each), seconds])
    sizes = next(iter(found.values()))["times"]
    return table(["framework", *[f"B = {size}" for size in sizes], "first call"], lines)


def _two_digits(x):
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def others(path: str | Path) -> dict[str, dict[str, Any]]:
    """Return framework -> what was asked of those without rows."""
    stored = json.loads(Path(path).read_text(encoding="utf-8"))["frameworks"]
    return {name: stored[name] for name in ("keras", "tinygrad")}
