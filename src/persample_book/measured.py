"""The stored measurements: what the scripts of benchmarks/ wrote.

Separate because the pages draw them and must not hold the names that the files use.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from .frameworks import Table, table


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
