"""Run one library on one task, batch after batch on one live model."""

import statistics
import time
import warnings
from typing import Any

from conformance import oracle, verdict
from conformance.task import Step, Task

TIMED = 1  # the batch that is timed: the second, of the first one's size


def start(adapter: Any, task: Task, step: Step) -> tuple[Any, Any]:
    """Return a model with the parameters of a step, and an adapter made for it."""
    model = task.case.build()
    oracle.set_parameters(model, step.parameters)
    return model, adapter.Adapter(model, task)


def answer(library: Any, task: Task, step: Step, repeat: int) -> tuple[dict, float]:
    """Return the library's answer to a batch, and the median time of ``repeat`` calls in s."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        found = library(dict(step.batch), task.losses, step.max_norm)
        times.append(time.perf_counter() - begin)
    return found, statistics.median(times)


def run(adapter: Any, task: Task, steps: list[Step]) -> dict:
    """Return the verdicts of all batches of a task, as one line of the results.

    The model lives through the whole sequence. After an exception the adapter is made again, on a
    new model with the parameters of the next batch.
    """
    found: list[dict] = []
    model, seconds = None, None
    for number, step in enumerate(steps):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if model is None:
                    model, library = start(adapter, task, step)
                oracle.set_parameters(model, step.parameters)
                model.zero_grad(set_to_none=True)
                repeat = 3 if number == TIMED else 1
                given, taken = answer(library, task, step, repeat)
                seconds = taken if number == TIMED else seconds
            epsilon = getattr(adapter, "CLIP_EPSILON", 0.0)
            found.append(verdict.judge(given, step, task.case.tolerance, epsilon))
        except Exception as error:
            model = None
            judged = verdict.judge_exception(error, adapter)
            found.append({"verdict": judged, "message": verdict.message(error)})
        if found[-1]["verdict"] == verdict.NO_TWIN:
            break
    return line(adapter, task, steps, found, seconds)


def line(adapter: Any, task: Task, steps: list[Step], found: list[dict], seconds) -> dict:
    """Return a line of the results: verdicts, errors, first messages, time in ordinary passes."""
    kept = {
        "library": adapter.NAME,
        "model": task.case.name,
        "loss": task.loss.name,
        "sizes": [step.size for step in steps],
        "verdicts": [f["verdict"] for f in found],
    }
    right = [f["error"] for f in found if f["verdict"] == verdict.RIGHT]
    if right:
        kept["right_within"] = verdict.stored(max(right))
    wrong = {n: f for n, f in enumerate(found) if f["verdict"] == verdict.WRONG}
    if wrong:
        kept["errors"] = {n: verdict.stored(f["error"]) for n, f in wrong.items()}
        kept["wrong"] = sorted({what for f in wrong.values() for what in f["where"]})
    for name in (verdict.REFUSED, verdict.CRASH):
        messages = [f["message"] for f in found if f["verdict"] == name]
        if messages:
            kept.setdefault("messages", {})[name] = messages[0]
    if seconds is not None:
        kept["passes"] = verdict.stored(seconds / task.pass_seconds(steps[TIMED]))
    return kept
