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
