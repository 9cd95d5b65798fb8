"""Mutation testing: put one fault at a time into the package and count those that tests notice.

    python scripts/mutate.py [--only engine/reverse] [--workers 1] [--save]

The mutants are those of tests/mutants.json whose lines still exist, plus new ones up to the
intended number. A mutant that no test notices shows a gap in the tests, unless it has no visible
effect. Each test file runs with the changed source in its own process, a fork of this one, which
has imported the frameworks but not the package, so that it starts at once.
"""

import argparse
import datetime
import hashlib
import importlib
import json
import multiprocessing
import os
import resource
import signal
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "persample"
STORED = ROOT / "tests" / "mutants.json"

# The test files that each module needs, the quickest to notice a fault first; `test_` and `.py`
# are added. A module takes the first row that its name begins with; its doctests come first.
TRANSFORMS = "engine_errors engine_structure tape engine_transforms"
FUNCTIONS = "engine_errors engine_arrays array_api engine_numbers"
COMPILER = "engine_jit engine_errors engine_numbers engine_random_programs"
CALLS = "errors trees torch_backend per_sample generated_calls"
RULED = "record_rules record_refusals record_paths"
PASSES = "record_errors record_passes record_programs record_precision samples_apart"
RECORDS = f"{RULED} {PASSES} record"
GROUPS = {
    "engine": {
        "engine/contraction.py": "engine_arrays engine_jit engine_random_programs engine_rules",
        "engine/operations.py": f"{FUNCTIONS} engine_transforms engine_rules",
        "engine/functions/": f"{FUNCTIONS} numpy_functions",
        "engine/namespace.py": "array_api engine_errors",
        "engine/numpy_": "numpy_functions engine_structure engine_errors",
        "engine/vjps": "engine_structure engine_numbers engine_rules engine_transforms",
        "engine/optimise.py": COMPILER,
        "engine/codegen.py": f"{COMPILER}",
        "engine/jit.py": f"{COMPILER} {CALLS}",
        "engine/": f"{TRANSFORMS} engine_errors errors engine_arrays engine_rules {COMPILER}",
        "names.py": COMPILER,
    },
    "per_sample": {
        "per_sample.py": CALLS,
        "checks.py": CALLS,
        "batches.py": f"errors engine_transforms {CALLS}",
        "arrays.py": f"backends losses {CALLS}",
        "backends/": f"backends {CALLS} clipped_sums",
        "clipping.py": "clipped_sums errors",
        "factored/": "clipped_sums",
    },
    "recorder": {
        "recorder/__init__.py": "record_errors record",
        "recorder/axes.py": "axes record_rules record_programs samples_apart record",
        "recorder/buffers.py": "record gram random_projections",
        "recorder/graph.py": f"axes {RECORDS}",
        "recorder/recurrent.py": "recurrent",
        "recorder/rules.py": f"{RECORDS} recurrent",
        "recorder/": RECORDS,
    },
    "statistics": {
        "statistics.py": "statistics statistics_in_jit gram errors",
        "projection.py": "random_projections",
        "privacy.py": "privacy",
    },
    "losses": {"losses.py": "losses"},
    "tape": {"tape.py": "tape leaf_programs"},
}
# How many mutants of each group are tried.
SIZES = (160, 90, 80, 30, 15, 25)

# What the tests import, but for the package.
HEAVY = "torch.func torch._dynamo jax.numpy hypothesis.extra.numpy nbval.plugin array_api_strict"
# A process with threads cannot be forked: libraries read this as they are imported.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MEMORY = 8 << 30  # a mutant may ask for arrays of any size
# A file of tests that needs this many times the processor time it needs on the true source does
# not end. Processor time, because a busy machine must not kill mutants.
LONGER, EXTRA, LONGEST = 5, 5, 600
QUIET = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]


def tests_of(name: str) -> tuple[str, list[str]]:
    """Return the group of a module and the paths of its test files, all of which must exist."""
    rows = [(group, row) for group in GROUPS for row in GROUPS[group] if name.startswith(row)]
    if not rows:
        raise SystemExit(f"{name} has no row in scripts/mutate.py")
    group, row = rows[0]
    path = PACKAGE / name
    tests = [path] if ">>>" in path.read_text(encoding="utf-8") else []
    for test in GROUPS[group][row].split():
        found = list(ROOT.glob(f"tests/*/test_{test}.py"))
        if not found:
            raise SystemExit(f"{row} in scripts/mutate.py: there is no tests/*/test_{test}.py")
        tests += found
    return group, list(dict.fromkeys(map(str, tests)))


def chosen(only: str) -> list[tuple[str, Mutant, list[str]]]:
    """Return the trials, (group, mutant, test files), without new mutants if ``only`` is given."""
    stored = {tuple(row[:5]) for row in json.loads(STORED.read_text())["mutants"]}
    names = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
    table = {name: tests_of(name) for name in names if name != "__init__.py"}
    trials = []
    for group, size in zip(GROUPS, SIZES, strict=True):
        own = [name for name, (of, _) in table.items() if of == group and only in name]
        found = [mutant for name in own for mutant in mutants(PACKAGE / name, name)]
        # By a text that looks random, and stays the same when other code changes.
        order = {mutant: hashlib.sha256(repr(mutant.key).encode()).hexdigest() for mutant in found}
        found = sorted(filter(Mutant.compiles, found), key=order.get)
        kept = [mutant for mutant in found if mutant.key in stored]
        others = [mutant for mutant in found if mutant.key not in stored]
        kept += [] if only else others[: size - len(kept)]
        trials += [(group, mutant, table[mutant.file][1]) for mutant in kept]
    return trials


def run(test: str, mutant: Mutant | None = None, limit: float = LONGEST) -> tuple[bool, float]:
    """Run a test file in a fork, on a mutant or the true source; stop it after ``limit`` seconds.

    Return (whether it passes, seconds). Both times are processor times.
    """
    pid = os.fork()
    if not pid:
        _child(test, mutant, int(limit) + 1)
    _, status, used = os.wait4(pid, 0)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what the tests started and left behind
    return status == 0, used.ru_utime + used.ru_stime


def _child(test: str, mutant: Mutant | None, limit: int) -> None:
    """Run one test file on the mutant in the forked process; exit with pytest's status.

    ``limit`` is in seconds of processor time; the function never returns.
    """
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        signal.alarm(2 * LONGEST)
        said = os.open(os.devnull, os.O_WRONLY)
        os.dup2(said, 1)
        os.dup2(said, 2)
        if mutant:
            _replace(str(PACKAGE / mutant.file), mutant.source)
        code = int(pytest.main([*QUIET, test]))
    finally:
        os._exit(code)


def _replace(path: str, source: str) -> None:
    """Make this process import ``source`` in place of the module at ``path``."""
    as_it_is = SourceFileLoader.get_code

    def get_code(loader, name):
        if loader.path == path:
            return compile(source, path, "exec", dont_inherit=True)
        return as_it_is(loader, name)

    SourceFileLoader.get_code = get_code


def noticed(took: dict[str, float], trial: tuple) -> bool:
    """Return whether a test fails on a trial's mutant; ``took`` has the usual time per file."""
    _, mutant, tests = trial
    return not all(run(test, mutant, EXTRA + LONGER * took[test])[0] for test in tests)


def try_all(trials: list[tuple], workers: int) -> list[bool]:
    """Return, for each mutant, whether it is noticed, after all tests passed without a mutant."""
    os.environ.update(dict.fromkeys(THREADS, "1"), JAX_PLATFORMS="cpu")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and some load slowly
    for name in HEAVY.split():
        importlib.import_module(name)
    files = list(dict.fromkeys(test for *_, tests in trials for test in tests))
    print(f"{len(files)} test files, then {len(trials)} mutants", flush=True)
    results = []
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        true = dict(zip(files, pool.map(run, files), strict=True))
        if failed := [file for file, (passed, _) in true.items() if not passed]:
            raise SystemExit(f"These fail without any mutant: {failed}")
        took = {file: seconds for file, (_, seconds) in true.items()}
        for trial, result in zip(trials, pool.map(partial(noticed, took), trials), strict=True):
            results.append(result)
            if not result:
                print("\nSURVIVED:", *trial[1].key, sep="\n    ", flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="files of the package whose name contains this")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--save", action="store_true", help="store the mutants and their results")
    options = parser.parse_args()
    os.chdir(ROOT)
    trials = chosen(options.only)
    results = try_all(trials, options.workers)
    sizes = Counter(group for group, *_ in trials)
    killed = Counter(group for (group, *_), result in zip(trials, results, strict=True) if result)
    for group, size in sizes.items():
        print(f"{group}: {killed[group]} of {size} noticed")
    if options.save:
        ends = ["killed" if result else "passed" for result in results]
        rows = [[*trial[1].key, end] for trial, end in zip(trials, ends, strict=True)]
        what = "file, function, lines before and after, number, outcome"
        content = {"date": datetime.date.today().isoformat(), "what": what, "mutants": rows}
        STORED.write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n")
    return int(killed != sizes)


if __name__ == "__main__":
    sys.exit(main())
