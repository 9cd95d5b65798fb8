"""Libraries in more ways that they document: ``python -m conformance.variants [--save]``.

Opacus

- with the layers that it names as replacements, for models that have an LSTM, GRU, RNN or
  MultiheadAttention of PyTorch: ``ModuleValidator.fix``, and DPRNN in place of nn.RNN. The truth
  is the loop over samples on the replaced model, which must give the outputs of the original.
- with ``force_functorch=True``, for every model;

and torch.func with ``generate_vmap_rule`` in an own Function, which the suite's does not set.

With ``--save`` it writes variants.json, whose lines are those of results.json.
"""

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn

from conformance import report
from conformance.adapters import opacus_ghost, opacus_hooks, torch_func
from conformance.case import Case
from conformance.models import cases
from conformance.models.operations import Between, Softclip
from conformance.run import run
from conformance.task import Task

SAVED = Path(__file__).parent / "variants.json"
REPLACED = (nn.LSTM, nn.GRU, nn.RNN, nn.MultiheadAttention)
FUNCTORCH = "Opacus, functorch"


class Functorch(opacus_hooks.Adapter):
    """As with hooks, but all rows by functorch."""

    def __init__(self, model: nn.Module, task: Task):
        opacus_hooks.ModuleValidator.validate(model, strict=True)
        first = task.batch_axis == 0
        self.raw = model
        self.model = opacus_hooks.GradSampleModule(
            model, batch_first=first, loss_reduction="sum", force_functorch=True
        )


def replaced(model: nn.Module) -> nn.Module:
    """Return the model with Opacus' layers in place of PyTorch's, the parameters unchanged."""
    from opacus.layers import DPRNN

    for name, child in list(model.named_modules()):
        if type(child) is nn.RNN:
            options = ("input_size", "hidden_size", "num_layers", "bias", "batch_first")
            layer = DPRNN(**{key: getattr(child, key) for key in options})
            layer.load_state_dict(child.state_dict())
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, layer)
    return opacus_hooks.ModuleValidator.fix(model)


def has_replaced(case: Case) -> bool:
    return any(type(module) in REPLACED for module in case.build().modules())


def with_replacement(case: Case) -> Case:
    """Return the case with Opacus' layers, its name kept so that its batches are the same."""
    return dataclasses.replace(case, make=lambda: replaced(case.make()))


class Vmapped(Softclip):
    """The suite's own Function, and PyTorch makes a batching rule of its methods."""

    generate_vmap_rule = True


def is_own_function(case: Case) -> bool:
    return getattr(case.build(), "operation", None) == Softclip.apply


def with_vmap_rule(case: Case) -> Case:
    return dataclasses.replace(case, make=lambda: Between(Vmapped.apply))


def difference(case: Case, changed: Case) -> float:
    """Return the largest relative difference of the outputs after replacement, first batch."""
    task = Task(case, case.losses[0])
    model, other = case.build(), changed.build()
    batch = case.draw(task.loss, model, 0)
    with torch.no_grad():
        expected, found = (case.call(m, batch) for m in (model, other))
    return float((found - expected).abs().max() / expected.abs().max())


CHANGES = (
    (has_replaced, with_replacement, [opacus_hooks, opacus_ghost]),
    (is_own_function, with_vmap_rule, [torch_func]),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.variants")
    parser.add_argument("--only", default="", help="a regular expression for names of models")
    parser.add_argument("--save", action="store_true", help="write variants.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    functorch = SimpleNamespace(**{**vars(opacus_hooks), "NAME": FUNCTORCH, "Adapter": Functorch})
    lines, outputs = [], {}
    for case in cases():
        if not re.search(options.only, case.name):
            continue
        tried = [(case, [functorch])]
        for applies, change, adapters in CHANGES:
            if not applies(case):
                continue
            try:
                outputs[case.name] = float(f"{difference(case, change(case)):.0e}")
                tried.append((change(case), adapters))
            except Exception as error:
                outputs[case.name] = f"{type(error).__name__}: {error}"
        for one, adapters in tried:
            for loss in one.losses:
                task = Task(one, loss)
                steps = task.steps()
                for adapter in adapters:
                    lines.append(run(adapter, task, steps))
                    report.show(lines[-1])
    print(outputs, report.totals(lines), sep="\n")
    if options.save:
        versions = {name: importlib.metadata.version(name) for name in ("opacus", "torch")}
        date = datetime.date.today().isoformat()
        head = {"date": date, "versions": versions, "outputs differ by": outputs}
        for line in lines:
            line.pop("passes", None)
            line.pop("messages", None)
        body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        SAVED.write_text(f'{{"header":{json.dumps(head)},\n"lines":[\n{body}\n]}}\n')


if __name__ == "__main__":
    main()
