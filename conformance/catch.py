"""Count the wrong batches that the check of check.py catches: ``python -m conformance.catch``.

It runs every line of results.json that has a wrong batch again, compares the verdicts with the
stored ones, and applies the check to each batch. With ``--save`` it writes catch.json.

- weighting: a random weighting of the losses, or for a library that gives norms only the norm of
  one random sample; wrong shapes count as caught.
- sum: weights 1, so the plain sum of the rows is compared with ``.grad``.
- permuted: the rows (or norms) of a permuted batch are the permuted rows.

It also counts the batches whose number of rows is not that of the samples, and those on whose rows
Opacus' optimizer raises an exception when it clips and sums them.

Right batches are checked too, of these lines and of persample and torch.func on the same tasks: an
error that the check reports there is a false alarm.
"""

import argparse
import copy
import datetime
import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from conformance import oracle, tables, verdict
from conformance.check import error_of_norms, error_of_rows
from conformance.run import start
from conformance.task import Step, Task

HERE = Path(__file__).parent
STORED = HERE / "results.json"
SAVED = HERE / "catch.json"
CONTROLS = ("persample", "torch.func")
CHECKS = ("weighting", "sum", "permuted")
FAILED = float("inf")  # not even the shapes agree


def stored_lines() -> dict[tuple, dict]:
    lines = json.loads(STORED.read_text())["lines"]
    return {(line["library"], line["model"], line["loss"]): line for line in lines}


def chosen(lines: dict[tuple, dict]) -> list[dict]:
    """Return the lines with a wrong batch, and the control libraries' lines of the same tasks."""
    kinds = tables.read("families.json")
    lines = {
        key: line
        for key, line in lines.items()
        if tables.kind_of(line, kinds["families"]) not in kinds["left out"]
    }
    tasks = {key[1:] for key, line in lines.items() if verdict.WRONG in line["verdicts"]}
    return [
        line
        for key, line in lines.items()
        if verdict.WRONG in line["verdicts"] or (key[0] in CONTROLS and key[1:] in tasks)
    ]


def weighting(answer: dict, task: Task, plain: Any, step: Step, ones: bool = False) -> float:
    """Return the error that the check finds, on a copy of the model without the library.

    It is `FAILED` for wrong shapes. With ``ones`` all weights are 1, and norms are left out.
    """
    model = copy.deepcopy(plain)
    losses = task.losses(model, dict(step.batch))
    trained = oracle.trained(model)
    parameters, found = list(trained.values()), [0.0]
    if "rows" in answer:
        every = {k: answer["rows"].get(k) for k in trained}
        kept = [k for k, rows in every.items() if rows is not None]
        try:
            rows = [every[k].detach() for k in kept]
            w = torch.ones_like(losses) if ones else None
            found.append(error_of_rows(rows, losses, [trained[k] for k in kept], w))
        except AssertionError:
            return FAILED
        losses = task.losses(model, dict(step.batch))
    if "squared_norms" in answer and not ones:
        norms = answer["squared_norms"].detach().sqrt()
        if norms.shape != losses.shape:
            return FAILED
        found.append(error_of_norms(norms, losses, parameters))
    return max(found)


def permuted(answer: dict, again: dict, order: Tensor) -> float:
    """Return the largest relative error of the answer to a permuted batch.

    The expected answer is the permuted one; for wrong shapes the error is `FAILED`.
    """
    found = [0.0]
    pairs = [(answer["rows"][k], r) for k, r in again.get("rows", {}).items() if r is not None]
    if "squared_norms" in answer:
        pairs.append((answer["squared_norms"], again["squared_norms"]))
    for one, other in pairs:
        if one is None or len(one) != len(order) or one.shape != other.shape:
            return FAILED
        top = float(one.abs().max()) or 1.0
        found.append(float((one[order] - other).detach().abs().max()) / top)
    return max(found)


def reordered(task: Task, batch: dict, order: Tensor) -> dict:
    axes = task.axes(batch)
    return {k: v if axes[k] is None else v.index_select(axes[k], order) for k, v in batch.items()}


def entries(adapter: Any, task: Task, steps: list[Step]) -> Iterator[dict]:
    """Run a line as `run.run` does; yield for each batch its verdict and the errors found."""
    model, plain = None, task.case.build()
    for number, step in enumerate(steps):
        oracle.set_parameters(plain, step.parameters)
        torch.manual_seed(number)
        try:
            if model is None:
                model, library = start(adapter, task, step)
            oracle.set_parameters(model, step.parameters)
            model.zero_grad(set_to_none=True)
            answer = copied(library(dict(step.batch), task.losses, step.max_norm))
            epsilon = getattr(adapter, "CLIP_EPSILON", 0.0)
            judged = verdict.judge(answer, step, task.case.tolerance, epsilon)
        except Exception as error:
            model = None
            yield {"verdict": verdict.judge_exception(error, adapter)}
            continue
        found = {"verdict": judged["verdict"], "size": step.size}
        found["weighting"] = weighting(answer, task, plain, step)
        found["sum"] = weighting(answer, task, plain, step, ones=True)
        rows = [r for r in answer.get("rows", {}).values() if r is not None]
        found["other number"] = any(len(r) != step.size for r in rows)
        found["stops"] = hasattr(library, "stops") and library.stops(step.size)
        if step.size > 1:
            order = torch.randperm(step.size).roll(1)
            try:
                model.zero_grad(set_to_none=True)
                batch = reordered(task, dict(step.batch), order)
                again = library(batch, task.losses, step.max_norm)
                found["permuted"] = permuted(answer, again, order)
            except Exception:
                model = None
                found["permuted"] = FAILED
        yield found


def copied(answer: dict) -> dict:
    """Return a copy of an answer, as the library's next call may change the original."""
    return {
        what: {k: None if v is None else v.detach().clone() for k, v in value.items()}
        if isinstance(value, dict)
        else value.detach().clone()
        for what, value in answer.items()
    }


def bound(task: Task) -> float:
    return task.case.tolerance if task.case.dtype != torch.bfloat16 else 1 / 16


def caught(entry: dict, limit: float) -> dict[str, bool]:
    """Return {check: whether its error is above ``limit``} of a batch."""
    return {what: not entry.get(what, 0.0) <= limit for what in CHECKS}


def run_line(adapter: Any, line: dict) -> list[dict]:
    from conformance.models import cases

    case = next(c for c in cases() if c.name == line["model"])
    task = Task(case, next(loss for loss in case.losses if loss.name == line["loss"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(entries(adapter, task, task.steps()))
    return [{**f, **caught(f, bound(task))} for f in found]


def summary(runs: list[tuple[dict, list[dict]]]) -> dict:
    """Return the counts of batches and lines, and of those caught, by library.

    A line counts as caught by its first, its first two or all its batches.
    """
    counts: dict[str, dict] = {}
    families = tables.read("families.json")["families"]
    parts = ("wrong", "right", "lines", "stops of a kind")
    for line, found in runs:
        mine = counts.setdefault(line["library"], {part: {} for part in parts})
        kind = tables.kind_of(line, families)
        for verdict_ in (verdict.WRONG, verdict.RIGHT):
            here = [f for f in found if f["verdict"] == verdict_]
            add(mine[verdict_], batches=len(here))
            for f in here:
                add(mine[verdict_], **{what: f[what] for what in CHECKS})
                add(mine[verdict_], either=f["weighting"] or f["permuted"])
                add(mine[verdict_], **{"other number": f["other number"]})
        if verdict.WRONG in line["verdicts"]:
            if stops := sum(f["verdict"] == verdict.WRONG and f["stops"] for f in found):
                add(mine["stops of a kind"], **{kind: stops})
            tried = [bool(f.get("weighting")) for f in found]
            add(mine["lines"], lines=1, first=tried[0], two=any(tried[:2]), every=any(tried))
    return counts


def add(count: dict, **more: int) -> None:
    for name, number in more.items():
        count[name] = count.get(name, 0) + int(number)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.catch", description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for names of models")
    parser.add_argument("--save", action="store_true", help="write catch.json")
    options = parser.parse_args()
    from conformance.__main__ import adapters

    torch.set_num_threads(1)
    libraries = {adapter.NAME: adapter for adapter in adapters("")}
    lines = [x for x in chosen(stored_lines()) if re.search(options.only, x["model"])]
    runs, missed, different = [], [], []
    for line in lines:
        where = f"{line['library']} | {line['model']} | {line['loss']}"
        if line["library"] not in libraries:
            print(f"not installed: {where}", file=sys.stderr)
            continue
        found = run_line(libraries[line["library"]], line)
        runs.append((line, found))
        if [f["verdict"] for f in found] != line["verdicts"]:
            different.append(where)
        missed += [
            f"{where} | batch {n + 1}"
            for n, f in enumerate(found)
            if f["verdict"] == verdict.WRONG and not f["weighting"]
        ]
    found = {
        "date": datetime.date.today().isoformat(),
        "lines run": len(runs),
        "lines with other verdicts than stored": different,
        "libraries": summary(runs),
        "wrong and not caught by the weighting": missed,
    }
    print(json.dumps(found, indent=1))
    if options.save:
        SAVED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
