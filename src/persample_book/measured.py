"""The stored measurements: what the scripts of benchmarks/ wrote, times in ordinary passes.

Separate because the pages draw them and must not hold the names that the files use.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from .frameworks import Table, table

# What the C library did with large blocks, and how the file with that run ends.
SETTINGS = {"default": "", "large pages": "_large_pages", "memory kept": "_kept_memory"}
# Name on the page -> part of the file, name there.
_WAYS = {
    "torch.func vmap": ("rows", "torch.func vmap(grad)"),
    "JAX jit(vmap)": ("rows", "jax jit(vmap(grad))"),
    "Opacus": ("rows", "Opacus hooks"),
    "record": ("rows", "record, fresh"),
    "clipped sum": ("sums", "record clipped sum"),
    "clipped sum, Opacus": ("sums", "Opacus ghost clipping"),
    "clipped sum, optax": ("sums", "optax clipped sum"),
    "norms only": ("sums", "record norms"),
}

# How the page says what a model has, where the file's words alone do not show it.
_TRAITS = {
    "positions for all at once": "positions from arange(T)",
    "positions, as many as samples": "the same, $T = B$",
    "a parameter beside layers": "a bare nn.Parameter",
    "nn.MultiheadAttention": "attention of torch.nn",
    "nn.GRU": "GRU of torch.nn",
}
_OUTCOMES = {"right": "✓", "refused": "error", "misshapen": "misshapen", "wrong": "**wrong**"}


@dataclass(frozen=True)
class Run:
    """One run of the benchmark; times are given in ordinary passes of the same model."""

    stored: Mapping[str, Any]

    @property
    def models(self) -> list[str]:
        return list(self.stored["cases"])

    def passes(self, way: str, model: str | None = None) -> float:
        """Return the time of a way; nan where it was not measured."""
        case = self.stored["cases"][model or self.models[0]]
        ordinary = min(case[key]["ordinary pass"] for key in case if key.startswith("limits"))
        part, name = _WAYS[way]
        time = case[part].get(name)
        return time / ordinary if isinstance(time, float) else math.nan


def outcomes(folder: str | Path) -> Table:
    """Return what each library made of each kind of model, as a table: ✓ where it was right.

    Those that are wrong most often come first, so that a phone shows them.
    """
    traits = _stored(folder, "model_traits")["traits"]
    often = {
        way: sum(found[way]["result"] != "right" for found in traits.values())
        for way in next(iter(traits.values()))
    }
    ways = sorted(often, key=often.__getitem__, reverse=True)
    rows = [
        [_TRAITS.get(trait, trait), *(_OUTCOMES[found[way]["result"]] for way in ways)]
        for trait, found in traits.items()
    ]
    return table(["a model with", *ways], rows)


# What the table of memory and time says of each contender, in its order: names in the file of
# peaks, and in _WAYS.
_PEAKS_OF_MODELS = {
    "an ordinary pass": ("ordinary pass", None),
    "norms, `record`": ("record norms", "norms only"),
    "clipped sum, `record`": ("record clipped sum", "clipped sum"),
    "clipped sum, Opacus ghost": ("Opacus ghost clipping", "clipped sum, Opacus"),
    "clipped sum, optax": ("optax clipped sum", "clipped sum, optax"),
    "rows, `record`": ("record, fresh", "record"),
    "rows, Opacus": ("Opacus hooks", "Opacus"),
    "rows, `torch.func`": ("torch.func vmap(grad)", "torch.func vmap"),
    "rows, JAX": ("jax jit(vmap(grad))", "JAX jit(vmap)"),
}


def memory_and_time(folder: str | Path, models: Mapping[str, str]) -> Table:
    """Return peak memory and time of each way on each model, {name in the file: name on the page}.

    Memory in MiB, to two digits; time in ordinary passes.
    """
    cases, run = _stored(folder, "whole_models_memory")["cases"], load(folder, "whole_models")
    rows = []
    for shown, (name, way) in _PEAKS_OF_MODELS.items():
        peaks = [f"{float(f'{cases[model][name]:.2g}'):g}" for model in models]
        times = [f"{run['default'].passes(way, model):.1f}" if way else "1" for model in models]
        rows.append([shown, *peaks, *times])
    titles = [f"{model}, {unit}" for unit in ("MiB", "passes") for model in models.values()]
    return table(["", *titles], rows)


def gpt2_memory(folder: str | Path) -> dict[str, Any]:
    """Return what one pass at GPT-2's sizes took: way -> GB at its peak, and what was measured."""
    stored = _stored(folder, "gpt2_memory")
    return stored | {"peaks": {way: mib * 2**20 / 1e9 for way, mib in stored["peaks"].items()}}


def data_selection(folder: str | Path) -> Table:
    """Return what was read rightly after training on a part: mean, lowest, highest of all draws.

    The first line is in percent; the others are the difference to it, in points, draw by draw.
    """
    steps = _stored(folder, "data_selection")["steps"]
    first, *others = next(iter(steps.values()))
    rows = [
        [f"{first}, percent", *(_mean_and_range(runs[first], ".1f") for runs in steps.values())]
    ]
    for name in others:
        pairs = [zip(runs[name], runs[first], strict=True) for runs in steps.values()]
        rows.append([name, *(_mean_and_range([a - b for a, b in of], "+.1f") for of in pairs)])
    return table(["trained on", *(f"{count} steps" for count in steps)], rows)


# What is compared with a random choice of the same size, as the table names it.
_AGAINST_RANDOM = {
    "the lowest 30 %": "30 %",
    "the highest 30 %": "30 %",
    "the highest 5 %": "5 %",
    "every wrong label": "5 %",
}


def against_random(folder: str | Path) -> Table:
    """Return how much better training without some images was than without random ones.

    The median difference in points, and in how many of the paired draws it was better or worse.
    """
    steps = _stored(folder, "data_selection")["steps"]
    rows = []
    for name, size in _AGAINST_RANDOM.items():
        cells = []
        for runs in steps.values():
            pairs = zip(runs[f"without {name}"], runs[f"without {size}, at random"], strict=True)
            apart = [a - b for a, b in pairs]
            better, worse = sum(x > 0 for x in apart), sum(x < 0 for x in apart)
            cells.append(f"{median(apart):+.1f} ({better} better, {worse} worse)")
        rows.append([name, *cells])
    return table(["left out", *(f"{count} steps" for count in steps)], rows)


def labels_found(folder: str | Path, scores: Sequence[str] | None = None) -> Table:
    """Return how many wrong labels each score found: mean, lowest and highest of all draws.

    ``scores`` are those to show, all without it.
    """
    steps = _stored(folder, "data_selection")["found"]
    rows = [
        [name, *(_mean_and_range(runs[name], ".0f") for runs in steps.values())]
        for name in scores or next(iter(steps.values()))
    ]
    return table(["score", *(f"{count} steps" for count in steps)], rows)


def attribution(folder: str | Path, scores: Sequence[str] | None = None) -> Table:
    """Return for each score its agreement with real trainings, and what its eight images did.

    ``scores`` are those to show, all without it.
    """
    stored = _stored(folder, "attribution")
    rows = []
    for name in scores or stored["scores"]:
        of = stored["scores"][name]
        order, size = "", ""
        if "ranks" in of:
            ranks, sizes = sorted(of["ranks"]), sorted(of["size"])
            order = f"{median(ranks):.2f} ({ranks[0]:.2f} to {ranks[-1]:.2f})"
            size = f"{median(sizes):.2f}" if name != "last product" else ""
        change = f"{median(of['change']) + 0.0:+.2f}".replace("-0.00", "+0.00")
        rows.append([name, order, size, change, str(of["mended"])])
    header = ["score", "rank correlation", "real / score", "change of loss"]
    header.append(f"mended of {stored['questions']}")
    return table(header, rows)


def _stored(folder, benchmark):
    return json.loads((Path(folder) / f"{benchmark}.json").read_text(encoding="utf-8"))


def _mean_and_range(values, form):
    mean = sum(values) / len(values)
    return f"{mean:{form}} ({min(values):{form}} to {max(values):{form}})"


def load(folder: str | Path, benchmark: str) -> dict[str, Run]:
    """Return setting of memory -> run, from the folder where a benchmark stores its results."""
    return {
        setting: Run(json.loads((Path(folder) / f"{benchmark}{end}.json").read_text("utf-8")))
        for setting, end in SETTINGS.items()
    }


def accountants(folder: str | Path, setting: str = "sampled") -> dict[str, Any]:
    """Return accountant -> epsilon, or [lower end, estimate, upper end] of an interval."""
    return _private_peers(folder)["epsilon"][setting]


def clipped_sums(folder: str | Path) -> Table:
    """Return how far the clipped sums of other libraries are from ours, as a table."""
    stored = _private_peers(folder)
    rows = [
        [f"{name} {stored['versions'][name.lower()]}", f"{apart:.0e}"]
        for name, apart in stored["clipped sums"].items()
    ]
    return table(["clipped sum by", "norm of the difference, relative to its norm"], rows)


def private_opacus(folder: str | Path) -> dict[str, Any]:
    """Return what the private loop that the page shows for Opacus did, and its epsilon."""
    return json.loads((Path(folder) / "private_opacus.json").read_text("utf-8"))["found"]


def private_training(folder: str | Path) -> dict[str, Any]:
    """Return the stored private trainings: settings, and the share of right answers by seed."""
    return json.loads((Path(folder) / "private_training.json").read_text(encoding="utf-8"))


def _private_peers(folder):
    return json.loads((Path(folder) / "private_peers.json").read_text(encoding="utf-8"))
