"""What an altered assert is given in place of one of its sides, and a record of what happened.

Imported by the kernel that runs a notebook; `asserts` writes the calls into its cells.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from persample.arrays import to_numpy

STEP = 1e-3  # relative and absolute: slight, and clear of every rounding
OUTCOMES: dict[int, list[str]] = defaultdict(list)


def check(number: int, altered: Callable[[], Any]) -> None:
    """Evaluate an altered assert and note whether it failed, held or raised."""
    try:
        outcome = "held" if altered() else "failed"
    except Exception as error:  # whatever it is goes into the report
        outcome = f"raised {type(error).__name__}: {str(error).splitlines()[0][:80]}"
    OUTCOMES[number].append(outcome)


def other(value: Any, atol: float = 0.0, rtol: float = 0.0) -> Any:
    """Return a value of the same kind that differs slightly, by more than the tolerance.

    Of a container or an array only the last entry differs.
    """
    if isinstance(value, type):
        return object
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        return value + 1 + math.ceil(2 * (atol + rtol * abs(value)))
    if isinstance(value, float | complex | np.inexact):
        return value + _step(value, atol, rtol) if np.isfinite(value) else type(value)(0)
    if isinstance(value, str | bytes):
        return value + ("?" if isinstance(value, str) else b"?")
    if isinstance(value, list | tuple):
        kind = list if isinstance(value, list) else tuple
        return kind([*value[:-1], other(value[-1], atol, rtol)]) if value else kind([0])
    if isinstance(value, dict):
        last = next(reversed(value), None)
        return {**value, last: other(value.get(last), atol, rtol)}
    if isinstance(value, set | frozenset):
        return value ^ {"?"}
    if hasattr(value, "__array__"):
        return _other_array(value, atol, rtol)
    return object()


def _step(value: Any, atol: float, rtol: float) -> float:
    return STEP * (1 + abs(value)) + 2 * (atol + rtol * abs(value))


def _other_array(value: Any, atol: float, rtol: float) -> Any:
    """Return a copy of an array with its last entry changed; of PyTorch as a tensor."""
    changed = np.array(to_numpy(value))
    if changed.size == 0:
        return np.zeros((1, *changed.shape))
    changed.flat[-1] = other(changed.flat[-1], atol, rtol)
    if type(value).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_numpy(changed)
    return changed


def beyond(left: Any, operator: str) -> Any:
    """Return a right side for which ``left operator right`` does not hold, as close as can be."""
    if isinstance(left, set | frozenset):
        return set(list(left)[1:])
    if operator in ("<", ">"):
        return left
    sign = -1 if operator == "<=" else 1
    return left + sign * _step(left, 0.0, 0.0)


def including(container: Any, value: Any) -> Any:
    """Return a container that holds ``value`` as well."""
    return container + value if isinstance(container, str) else [*container, value]
