"""Measure the tests: put one fault at a time into the package and count how many are noticed.

    python scripts/mutate.py [--same tests/mutants.json] [--only engine/reverse] [--workers 1]

A mutant that no test notices is either a gap in the tests or changes nothing that anybody sees.
"""

import argparse
import datetime
import hashlib
import json
import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import mutation_runner
from mutants import Mutant, mutants
from mutation_runner import PASSED

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "persample"
STORED = ROOT / "tests" / "mutants.json"

# The test files that each module needs, the quickest to notice a fault first; `test_` and `.py`
# are added. A module takes the first row that its name begins with; its doctests come first.
TRANSFORMS = "engine_errors engine_structure tape engine_transforms"
FUNCTIONS = "engine_errors engine_arrays array_api engine_numbers"
COMPILER = "engine_jit engine_errors engine_numbers engine_random_programs"
CALLS = "errors trees torch_backend per_sample generated_calls"
RECORDS = (
    "record_rules record_errors record_passes record_programs record_precision record dataclasses"
)
GROUPS = {
    "engine": {
        "engine/contraction.py": "engine_arrays engine_jit engine_random_programs engine_rules",
        "engine/operations.py": f"{FUNCTIONS} engine_transforms engine_rules",
        "engine/functions/": f"{FUNCTIONS} numpy_functions",
        "engine/namespace.py": "array_api engine_errors",
        "engine/numpy_": "numpy_functions engine_structure engine_errors",
        "engine/vjps": "engine_structure engine_numbers engine_rules engine_transforms",
        "engine/optimise.py": COMPILER,
        "engine/codegen.py": f"{COMPILER} dataclasses",
        "engine/jit.py": f"{COMPILER} {CALLS} dataclasses",
        "engine/": f"{TRANSFORMS} engine_errors errors dataclasses engine_arrays engine_rules"
        f" {COMPILER}",
        "names.py": COMPILER,
    },
    "per_sample": {
        "per_sample.py": CALLS,
        "checks.py": CALLS,
        "batches.py": f"errors engine_transforms {CALLS}",
        "arrays.py": f"backends losses {CALLS}",
        "backends/": f"backends {CALLS}",
    },
    "recorder": {
        "recorder/__init__.py": "record_errors record",
        "recorder/axes.py": "axes record_rules record_programs record",
        "recorder/buffers.py": "record gram project",
        "recorder/": RECORDS,
    },
    "statistics": {
        "statistics.py": "statistics",
        "projection.py": "project",
        "privacy.py": "privacy",
    },
    "losses": {"losses.py": "losses"},
    "tape": {"tape.py": "tape leaf_programs"},
}
# How many mutants of each group are tried.
SIZES = (160, 90, 80, 30, 15, 25)


def modules() -> dict[str, tuple[str, list[str]]]:
    """Return module -> its group and its test files, all of which must be there."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        rows = [(group, row) for group in GROUPS for row in GROUPS[group] if name.startswith(row)]
        if name == "__init__.py":  # names and nothing else
            continue
        if not rows:
            raise SystemExit(f"{name} has no row in scripts/mutate.py")
        group, row = rows[0]
        tests = [path] if ">>>" in path.read_text(encoding="utf-8") else []
        tests += [ROOT / f"tests/test_{name}.py" for name in GROUPS[group][row].split()]
        if missing := [test.name for test in tests if not test.is_file()]:
            raise SystemExit(f"{row} in scripts/mutate.py names what is not there: {missing}")
        found[name] = group, list(dict.fromkeys(map(str, tests)))
    return found


def chosen(only: str, same: Path | None) -> list[tuple[str, Mutant, Path, list[str]]]:
    """Return what to try: the group, the mutant, its file, its tests.

    ``same`` is a file of stored mutants: those whose lines are there still are taken, and as
    many as are missing in a group are drawn, if all of the group is tried.
    """
    stored = {tuple(row[:5]) for row in json.loads(same.read_text())["mutants"]} if same else set()
    table, trials = modules(), []
    for group, size in zip(GROUPS, SIZES, strict=True):
        names = [name for name, (own, _) in table.items() if own == group and only in name]
        found = [mutant for name in names for mutant in mutants(PACKAGE / name, name)]
        # By a text that looks random, and stays the same when other code changes.
        order = {mutant: hashlib.sha256(repr(mutant.key).encode()).hexdigest() for mutant in found}
        found = sorted(filter(Mutant.compiles, found), key=order.get)
        kept = [mutant for mutant in found if mutant.key in stored]
        missing = 0 if same and only else size - len(kept)
        others = [mutant for mutant in found if mutant.key not in stored][:missing]
        print(f"{group}: {len(kept)} of the stored mutants, {len(others)} others")
        trials += [(group, m, PACKAGE / m.file, table[m.file][1]) for m in kept + others]
    return trials


def try_one(took: dict[str, dict], trial: tuple) -> tuple[str, str]:
    """Return the outcome of a mutant, and which test noticed it."""
    _, mutant, path, tests = trial
    for file in tests:
        outcome, test, _ = mutation_runner.run(file, path, mutant.source, took[file])
        if outcome != PASSED:
            return outcome, test
    return PASSED, ""


def try_all(trials: list[tuple], workers: int) -> list[tuple[str, str]]:
    """Try every mutant after a run on the true source, which must pass everything."""
    mutation_runner.prepare()
    files = list(dict.fromkeys(test for *_, tests in trials for test in tests))
    print(f"{len(files)} test files, then {len(trials)} mutants", flush=True)
    results = []
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        as_it_is = partial(mutation_runner.run, path=ROOT, source=None, took=None)
        true = list(pool.map(as_it_is, files))
        if failed := [test for outcome, test, _ in true if outcome != PASSED]:
            raise SystemExit(f"These fail without any mutant: {failed}")
        took = {file: seconds for file, (*_, seconds) in zip(files, true, strict=True)}
        for trial, result in zip(trials, pool.map(partial(try_one, took), trials), strict=True):
            results.append(result)
            if result[0] == PASSED:
                print("\nSURVIVED:", *trial[1].key, sep="\n    ", flush=True)
    return results


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="files of the package whose name contains this")
    parser.add_argument("--same", type=Path, help="stored mutants, to be tried again")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--log", type=Path, help="write every mutant and its result, as JSON")
    options = parser.parse_args(argv)
    os.chdir(ROOT)
    trials = chosen(options.only, options.same)
    results = try_all(trials, options.workers)
    alive = Counter(t[0] for t, r in zip(trials, results, strict=True) if r[0] == PASSED)
    for group, size in Counter(group for group, *_ in trials).items():
        print(f"{group}: {size - alive[group]} of {size} noticed")
    if options.log:
        rows = [[*t[1].key, *r] for t, r in zip(trials, results, strict=True)]
        content = {"date": datetime.date.today().isoformat(), "mutants": rows}
        options.log.write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n")
    return int(alive.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
