"""Measure how much of what the notebooks store and assert is really compared.

    python scripts/tamper.py [--only td0]

Each notebook is executed once as it is: every stored output is then altered, in every way that
applies, and the tests' own comparison must notice. It is executed once more with every assert
followed by the same assert with one side changed, which must fail. What survives is listed, and
the command then fails. A full run writes its figures to tests/figures/tamper.json.
"""

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from execute_notebooks import execute
from notebook_rules import chapters
from tampering import asserts
from tampering.outputs import Alteration, alterations
from tampering.verdict import Judge, collect, flags

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "tests" / "figures" / "tamper.json"


@dataclass
class Sweep:
    """What became of the altered outputs of one notebook, by kind."""

    noticed: Counter = field(default_factory=Counter)
    survived: Counter = field(default_factory=Counter)
    exempt: Counter = field(default_factory=Counter)  # a tag says that nothing is compared
    sanitised: Counter = field(default_factory=Counter)  # all of the change is hidden on purpose
    survivors: list[str] = field(default_factory=list)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def sweep_outputs(name: str, cells: list[nbformat.NotebookNode], judge: Judge) -> Sweep:
    """Alter the outputs of these cells, one at a time, and see who notices."""
    sweep = Sweep()
    for number, cell in enumerate(cells):
        if judge.notices(number, cell):
            raise RuntimeError(f"{name}, code cell {number}: differs from what it gives now")
    for alteration in alterations(cells):
        count_one(sweep, name, alteration, judge)
    return sweep


def count_one(sweep: Sweep, name: str, alteration: Alteration, judge: Judge) -> None:
    """Judge one alteration and enter it where it belongs."""
    kind, numbers = alteration.kind, list(alteration.cells)
    if any(judge.notices(number, cell) for number, cell in alteration.cells.items()):
        sweep.noticed[kind] += 1
    elif all(judge.exempt(number) for number in numbers):
        sweep.exempt[kind] += 1
    elif (
        alteration.before
        and len(
            {judge.sanitised(numbers[0], text) for text in (alteration.before, alteration.after)}
        )
        == 1
    ):
        sweep.sanitised[kind] += 1
    else:
        sweep.survived[kind] += 1
        sweep.survivors.append(f"{name}, code cells {numbers}: {kind}; {alteration.what}")


def share(part: int, whole: int) -> str:
    """Write a number with its share; 100 % only if it is all."""
    if not whole:
        return "0"
    return f"{part:,} ({'100' if part == whole else f'{min(99.9, 100 * part / whole):.1f}'} %)"


def report_outputs(sweeps: dict[str, Sweep]) -> None:
    """Print the share noticed by kind and by notebook, and every survivor."""
    compared = {name: s.noticed + s.survived for name, s in sweeps.items()}
    print(f"{'altered outputs':52}{'number':>8}  noticed")
    for kind in sorted(set().union(*compared.values())):
        whole = sum(counts[kind] for counts in compared.values())
        print(
            f"{kind:52}{whole:8,}  {share(sum(s.noticed[kind] for s in sweeps.values()), whole)}"
        )
    for name, counts in compared.items():
        whole = counts.total()
        print(f"{name:52}{whole:8,}  {share(sweeps[name].noticed.total(), whole)}")
    for what in ("exempt", "sanitised"):
        for name, sweep in sweeps.items():
            if counts := getattr(sweep, what):
                print(f"{what}, not counted above: {name}, {counts.total()}: {dict(counts)}")
    for sweep in sweeps.values():
        for survivor in sweep.survivors:
            print("NOT NOTICED", survivor)


def report_asserts(found: list[asserts.Instrument]) -> None:
    """Print the share of altered asserts that fail, by notebook, and every survivor."""
    print(f"\n{'altered asserts':52}{'number':>8}  failed")
    for instrument in found:
        fail = sum(altered.outcome == "failed" for altered in instrument.altered)
        whole = len(instrument.altered)
        print(
            f"{instrument.notebook:52}{whole:8,}  {share(fail, whole)};"
            f" {instrument.asserts} asserts, {instrument.truth_values} truth values"
        )
    for altered in (altered for instrument in found for altered in instrument.altered):
        if altered.outcome != "failed":
            place = f"{altered.notebook}, cell {altered.cell}"
            print(
                f"DOES NOT FAIL {place}: {altered.source}\n  as {altered.what}: {altered.outcome}"
            )


def figures(sweeps: dict[str, Sweep], found: list[asserts.Instrument]) -> list[list[str]]:
    """Return the rows of the table in CONTRIBUTING.md."""
    noticed, survived, exempt, sanitised = (
        sum(getattr(sweep, what).total() for sweep in sweeps.values())
        for what in ("noticed", "survived", "exempt", "sanitised")
    )
    altered = [altered for instrument in found for altered in instrument.altered]
    failed = sum(one.outcome == "failed" for one in altered)
    cells = sum(bool(sweep.exempt) for sweep in sweeps.values())
    return [
        ["stored outputs altered, in every notebook", f"{noticed + survived:,}"],
        ["noticed", share(noticed, noticed + survived)],
        ["alterations in outputs exempt by a tag, not counted", f"{exempt:,}"],
        ["alterations the sanitiser hides, not counted", f"{sanitised:,}"],
        ["notebooks with an exempt cell", f"{cells}"],
        ["asserts with one side changed", f"{len(altered):,}"],
        ["failed, as they must", share(failed, len(altered))],
        [
            "truth values asserted, which have no side to change",
            f"{sum(i.truth_values for i in found)}",
        ],
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="notebooks whose name contains this")
    only, start = parser.parse_args().only, time.perf_counter()
    paths = [path for path in chapters(ROOT) if only in path.name]
    if not paths:
        print(f"no notebook has {only!r} in its name", file=sys.stderr)
        return 1
    with ProcessPoolExecutor(2) as pool:  # a kernel each
        executed = [pool.submit(execute, path) for path in paths]
        asserted = [pool.submit(asserts.sweep, path) for path in paths]
        items = collect(paths, flags(ROOT))
        sweeps = {}
        for path, fresh in zip(paths, executed, strict=True):
            stored = nbformat.read(path, as_version=4)
            judge = Judge(items[path], fresh.result())
            sweeps[path.stem] = sweep_outputs(path.stem, code_cells(stored), judge)
        found = [one.result() for one in asserted]
    report_outputs(sweeps)
    report_asserts(found)
    print(f"\n{time.perf_counter() - start:.0f} s")
    if not only:
        today = datetime.now(UTC).date().isoformat()
        rows = figures(sweeps, found)
        FIGURES.parent.mkdir(exist_ok=True)
        record = {"date": today, "command": "make tamper", "figures": rows}
        FIGURES.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    survivors = any(sweep.survivors for sweep in sweeps.values())
    return int(survivors or any(one.outcome != "failed" for each in found for one in each.altered))


if __name__ == "__main__":
    sys.exit(main())
