"""Compare answers with the truth, and judge exceptions."""

import dis
import math
import re
from types import TracebackType
from typing import Any

from torch import Tensor

from conformance import oracle

RIGHT, REFUSED, WRONG, CRASH, NO_TWIN = "right", "refused", "wrong", "crash", "no twin"
MESSAGE = 300
FLOOR = 1e-8  # a parameter whose rows are smaller than this part of the largest is compared to it
SHAPE, NOT_FINITE = math.inf, 1e308  # errors of an array of another shape, of one with NaN
SPOKEN = (NotImplementedError, ValueError, TypeError, RuntimeError)


class NoRowsError(NotImplementedError):
    """A library returned no rows for a parameter whose true rows are not all zero: a refusal."""


class NoTwinError(Exception):
    """The model is not written for this library."""


def difference(found: Tensor, true: Tensor, top: float) -> float:
    """Return the largest error relative to ``true``'s largest entry; `SHAPE`, `NOT_FINITE`.

    The divisor is at least `FLOOR` times ``top``.
    """
    if tuple(found.shape) != tuple(true.shape):
        return SHAPE
    scale = max(float(true.abs().max()), FLOOR * top) or 1.0
    error = float((found.detach().double() - true.double()).abs().max()) / scale
    return error if math.isfinite(error) else NOT_FINITE


def tree_error(found: dict[str, Tensor], true: dict[str, Tensor]) -> float:
    """Return the largest `difference` over the parameters.

    Raise NoRowsError if a parameter is missing whose true rows are not all zero.
    """
    top = max(float(t.abs().max()) for t in true.values())
    missing = [k for k, t in true.items() if found.get(k) is None and t.abs().max() > 0]
    if missing:
        raise NoRowsError(f"returned nothing for {', '.join(missing)}")
    pairs = [(found[k], t) for k, t in true.items() if found.get(k) is not None]
    return max((difference(f, t, top) for f, t in pairs), default=0.0)


def errors(answer: dict[str, Any], rows: oracle.Rows, max_norm: float, epsilon: float) -> dict:
    """Return {quantity: error} for the rows, squared norms and clipped sum in an answer."""
    found = {}
    if "rows" in answer:
        found["rows"] = tree_error(answer["rows"], rows)
    if "squared_norms" in answer:
        true = oracle.squared_norms(rows)
        found["squared_norms"] = difference(answer["squared_norms"], true, 0.0)
    if "clipped_sum" in answer:
        true = oracle.clipped_sum(rows, max_norm, epsilon)
        found["clipped_sum"] = tree_error(answer["clipped_sum"], true)
    return found


def judge(answer: dict[str, Any], step: Any, tolerance: float, epsilon: float) -> dict:
    """Return the verdict, the largest error and the quantities that are wrong.

    For a 16-bit model there are two true results, the loop in its own dtype and in float64: the
    smaller error counts, and the bound is at least twice the error of the first against the
    second.
    """
    every = [errors(answer, rows, step.max_norm, epsilon) for rows in step.truths]
    best = {what: min(e[what] for e in every) for what in every[0]}
    bounds = dict.fromkeys(best, tolerance)
    if len(step.truths) == 2:
        loop, wide = step.truths
        own = errors(every_answer(loop, step.max_norm, epsilon), wide, step.max_norm, epsilon)
        bounds = {what: max(tolerance, 2 * own[what]) for what in best}
    where = [what for what, error in best.items() if error >= bounds[what]]
    return {"verdict": WRONG if where else RIGHT, "error": max(best.values()), "where": where}


def every_answer(rows: oracle.Rows, max_norm: float, epsilon: float) -> dict[str, Any]:
    """Return the rows, and the squared norms and clipped sum computed from them."""
    clipped = oracle.clipped_sum(rows, max_norm, epsilon)
    return {"rows": rows, "squared_norms": oracle.squared_norms(rows), "clipped_sum": clipped}


def innermost(error: BaseException) -> TracebackType:
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def raised_by(error: BaseException, packages: tuple[str, ...]) -> bool:
    """Return whether a ``raise`` statement in a file of these packages raised the error."""
    trace = innermost(error)
    code = trace.tb_frame.f_code
    ours = any(f"/{name}/" in code.co_filename for name in packages)
    return ours and code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def judge_exception(error: BaseException, adapter: Any) -> str:
    """Return "refused" for a deliberate exception, "no twin" for NoTwinError, else "crash".

    An exception is deliberate if it is a NoRowsError, if a ``raise`` statement of the library
    raised it and its class is in `SPOKEN` or the library's own, or if its text contains a
    documented message.
    """
    if isinstance(error, NoTwinError):
        return NO_TWIN
    if isinstance(error, NoRowsError):
        return REFUSED
    own = type(error).__module__.split(".")[0] in adapter.packages
    if raised_by(error, adapter.packages) and (own or isinstance(error, SPOKEN)):
        return REFUSED
    text = f"{type(error).__name__}: {error}"
    return REFUSED if any(pattern in text for pattern in adapter.documented) else CRASH


def message(error: BaseException) -> str:
    """Return the first 300 characters of an exception's text, without folders and addresses."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return re.sub(r"(?<![:/\w])(/[\w.+-]+)+/(?=[\w.-]+)|0x[0-9a-f]+", "", text)[:MESSAGE]


def worst(verdicts: list[str]) -> str:
    """Return the worst of several verdicts, "no twin" if there is none."""
    return next((v for v in (WRONG, CRASH, REFUSED, RIGHT) if v in verdicts), NO_TWIN)


def stored(value: float) -> float | str:
    """Return an error as it is stored: two significant digits, or "shape", or "not finite"."""
    named = {SHAPE: "shape", NOT_FINITE: "not finite"}
    return named.get(value, float(f"{value:.1e}"))
