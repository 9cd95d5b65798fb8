"""Test libraries in further documented ways: ``python -m conformance.variants [--save]``.

- Opacus with the layers that it names as replacements, for models that have an LSTM, GRU, RNN or
  MultiheadAttention of PyTorch: ``ModuleValidator.fix``, and DPRNN in place of nn.RNN. The truth
  is the loop over samples on the replaced model, which must give the outputs of the original.
- Opacus with ``force_functorch=True``, for every model.
- torch.func with ``generate_vmap_rule`` in a custom Function, which the suite's does not set, and
  with the gradient of a penalty taken by ``torch.func.grad``.
- Every library on recurrent layers in float32.
- BackPACK with its converter (``use_converter=True``), wherever it refused or failed, and on
  models that the converter was written for.

With ``--save`` it writes variants.json, whose lines are like those of results.json.
"""

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import torch
from backpack import extend
from torch import Tensor, nn

from conformance import report
from conformance.adapters import backpack_, opacus_ghost, opacus_hooks, persample_, torch_func
from conformance.case import SINGLE, Case, Loss
from conformance.losses import TOKENS, VECTOR
from conformance.models import cases
from conformance.models.batches import features
from conformance.models.operations import Between, Softclip
from conformance.models.penalties import with_gradient
from conformance.models.recurrent import Recurrent
from conformance.run import run
from conformance.task import Task
from conformance.verdict import CRASH, REFUSED

HERE = Path(__file__).parent
STORED, SAVED = HERE / "results.json", HERE / "variants.json"
GROUPS = ("lines", "float32", "float32, own layers", "converter")  # the lists of variants.json
REPLACED = (nn.LSTM, nn.GRU, nn.RNN, nn.MultiheadAttention)
RECURRENT = (nn.RNNBase, nn.RNNCellBase)


class Functorch(opacus_hooks.Adapter):
    """`opacus_hooks.Adapter` with ``force_functorch=True``: functorch computes all rows."""

    def __init__(self, model: nn.Module, task: Task):
        opacus_hooks.ModuleValidator.validate(model, strict=True)
        first = task.batch_axis == 0
        self.raw = model
        self.model = opacus_hooks.GradSampleModule(
            model, batch_first=first, loss_reduction="sum", force_functorch=True
        )


class Converted(backpack_.Adapter):
    """BackPACK on the model that its converter returns; a single layer is put in a Sequential.

    The converter leaves the parameters as they are, so rows have the model's own names.
    """

    def __init__(self, model: nn.Module, task: Task):
        alone = torch.fx.Tracer().is_leaf_module(model, "")
        whole = nn.Sequential(model) if alone else model
        self.raw, self.model = model, extend(whole, use_converter=True)


def other(adapter, name: str, changed: type, *documented: str) -> SimpleNamespace:
    """Return a copy of an adapter's module with another class and more refusal messages."""
    more = {"NAME": name, "Adapter": changed, "documented": adapter.documented + documented}
    return SimpleNamespace(**{**vars(adapter), **more})


FUNCTORCH = other(opacus_hooks, "Opacus, functorch", Functorch)
# torch.fx, which the converter uses, says which programs it does not trace.
CONVERTED = other(backpack_, "BackPACK, converter", Converted, "symbolic", "Proxy")


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
    """Return the case with Opacus' layers; its name, and so its batches, stay the same."""
    return dataclasses.replace(case, make=lambda: replaced(case.make()))


class Vmapped(Softclip):
    """`Softclip` with ``generate_vmap_rule``, so that vmap can batch it."""

    generate_vmap_rule = True


def is_own_function(case: Case) -> bool:
    return getattr(case.build(), "operation", None) == Softclip.apply


def with_vmap_rule(case: Case) -> Case:
    return dataclasses.replace(case, make=lambda: Between(Vmapped.apply))


def is_penalty(case: Case) -> bool:
    return case.call is with_gradient


def func_gradient(model: nn.Module, batch: dict) -> Tensor:
    """`penalties.with_gradient`, with the gradient with respect to the images by torch.func."""

    def total(x: Tensor) -> tuple[Tensor, Tensor]:
        score = model(x)
        return score.sum(), score

    gradient, score = torch.func.grad(total, has_aux=True)(batch["x"])
    return torch.cat([score, gradient.flatten(1)], 1)


def with_func_gradient(case: Case) -> Case:
    return dataclasses.replace(case, call=func_gradient)


def is_recurrent(case: Case) -> bool:
    """Return whether a case in float64 has a recurrent layer or cell of PyTorch."""
    layers = any(isinstance(module, RECURRENT) for module in case.build().modules())
    return layers and case.dtype == torch.float64


def in_float32(case: Case) -> Case:
    return dataclasses.replace(case, **SINGLE)


# Models for the converter that BackPACK alone refuses. The suite's own LSTM of two layers has two
# directions, and its operations in place are not modules.
MADE_FOR = (
    Case("LSTM, two layers", lambda: Recurrent(nn.LSTM, num_layers=2), features(6, 3), TOKENS),
    Case(
        "ReLU in place, a module",
        lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3)),
        features(4),
        VECTOR,
    ),
)


def difference(case: Case, changed: Case) -> float:
    """Return max |changed outputs - outputs| / max |outputs| on the first batch of a case."""
    task = Task(case, case.losses[0])
    batch = case.draw(task.loss, case.build(), 0)
    with torch.no_grad():
        expected, found = (c.call(c.build(), batch) for c in (case, changed))
    return float((found - expected).abs().max() / expected.abs().max())


CHANGES = (
    (has_replaced, with_replacement, [opacus_hooks, opacus_ghost]),
    (is_own_function, with_vmap_rule, [torch_func]),
    (is_penalty, with_func_gradient, [torch_func]),
)


def without_numbers() -> set[tuple[str, str]]:
    """Return {(model, loss)} where BackPACK refused or crashed on any batch."""
    lines = json.loads(STORED.read_text())["lines"]
    return {
        (line["model"], line["loss"])
        for line in lines
        if line["library"] == backpack_.NAME and {REFUSED, CRASH} & {*line["verdicts"]}
    }


def trials(case: Case, outputs: dict) -> Iterator[tuple[str, Case, tuple[Loss, ...], list]]:
    """Yield (group, case as it is tried, losses, adapters) of the runs of a case.

    The difference of outputs after a change, or its error, is added to ``outputs``.
    """
    yield "lines", case, case.losses, [FUNCTORCH]
    single = is_recurrent(case)
    if single:
        each = [persample_, torch_func, opacus_hooks, FUNCTORCH, opacus_ghost, backpack_]
        yield "float32", in_float32(case), case.losses, each
    for applies, change, adapters in CHANGES:
        if not applies(case):
            continue
        changed = change(case)
        try:
            outputs[case.name] = float(f"{difference(case, changed):.0e}")
        except Exception as error:
            outputs[case.name] = f"{type(error).__name__}: {error}"
            continue
        yield "lines", changed, case.losses, adapters
        if single:
            yield "float32, own layers", in_float32(changed), case.losses, adapters
    tried = without_numbers()
    losses = tuple(loss for loss in case.losses if (case.name, loss.name) in tried)
    yield "converter", case, losses, [CONVERTED]


def save(groups: dict[str, list[dict]], outputs: dict) -> None:
    """Write variants.json: a header, and a list of lines for each group."""
    names = ("backpack-for-pytorch", "opacus", "torch")
    versions = {name: importlib.metadata.version(name) for name in names}
    date = datetime.date.today().isoformat()
    head = {"date": date, "versions": versions, "outputs differ by": outputs}
    parts = [f'"header":{json.dumps(head)}']
    for group, lines in groups.items():
        kept = [{k: v for k, v in x.items() if k not in ("passes", "messages")} for x in lines]
        body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in kept)
        parts.append(f'"{group}":[\n{body}\n]')
    SAVED.write_text("{" + ",\n".join(parts) + "}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.variants")
    parser.add_argument("--only", default="", help="a regular expression for names of models")
    parser.add_argument("--save", action="store_true", help="write variants.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    groups: dict[str, list[dict]] = {group: [] for group in GROUPS}
    outputs: dict[str, float | str] = {}
    chosen = [case for case in cases() if re.search(options.only, case.name)]
    every = [trial for case in chosen for trial in trials(case, outputs)]
    extra = [case for case in MADE_FOR if re.search(options.only, case.name)]
    every += [("converter", case, case.losses, [backpack_, CONVERTED]) for case in extra]
    for group, case, losses, adapters in every:
        for loss in losses:
            task = Task(case, loss)
            steps = task.steps()
            for adapter in adapters:
                groups[group].append(run(adapter, task, steps))
                report.show(groups[group][-1])
    for group, lines in groups.items():
        print(group, report.totals(lines), sep="\n")
    print(outputs)
    if options.save:
        save(groups, outputs)


if __name__ == "__main__":
    main()
