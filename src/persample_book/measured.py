"""The stored measurements: what the scripts of benchmarks/ wrote, times in ordinary passes.

Separate because the pages draw them and must not hold the names that the files use.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
