"""Measure the tests: put one fault at a time into the package and count how many are noticed.

    python scripts/mutate.py                        # a sample of the package; writes the figures
    python scripts/mutate.py --only engine/reverse  # all files whose name contains this
    python scripts/mutate.py --all --only losses    # every mutant in place of a sample
    python scripts/mutate.py --same tests/mutants.json       # the stored ones, as far as their
                                                             # lines are there, and the others anew
    python scripts/mutate.py --file a.py --tests test_a.py   # any other file

A mutant that no test notices is either a gap in the tests or changes nothing that anybody can
see. The second kind is listed in scripts/explained_mutants.toml, each with its reason.
"""

import argparse
import datetime
import json
import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutants import Mutant, mutants, sample
from mutation_runner import BROKEN, CRASHED, ENDLESS, PASSED, Result, Runner

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "persample"
EXPLAINED = Path(__file__).with_name("explained_mutants.toml")
FIGURES = ROOT / "tests" / "figures" / "mutation.json"

# The test files that each module needs, the quickest to notice a fault first; `test_` and `.py`
# are added. The module's own doctests come before them. A module in no group is refused.
TRANSFORMS = "engine_transform_errors engine_structure tape engine_transforms"
FUNCTIONS = "engine_errors engine_arrays engine_edges array_api engine_numbers"
NUMPY = "numpy_functions engine_structure engine_errors"
COMPILER = "engine_jit engine_edges engine_transform_errors engine_numbers engine_random_programs"
RULES = "engine_structure engine_numbers engine_rules engine_transforms"
CALLS = "errors trees chunks foreign_input per_sample"
RECORDS = (
    "record_rules record_errors record_passes record_programs record_precision record dataclasses"
)
GROUPS = {
    "engine": {
        "engine/core.py": f"{TRANSFORMS} engine_errors dataclasses engine_jit",
        "engine/contraction.py": "engine_arrays engine_jit engine_random_programs engine_rules",
        "engine/primitives.py": f"engine_arrays {TRANSFORMS} engine_numbers engine_rules",
        "engine/operations.py": f"{FUNCTIONS} engine_transforms engine_rules",
        "engine/functions/along_axes.py": f"{FUNCTIONS} ordinary_losses",
        "engine/functions/creation.py": FUNCTIONS,
        "engine/functions/elementwise.py": f"{FUNCTIONS} ordinary_losses",
        "engine/functions/linalg.py": f"{FUNCTIONS} ordinary_losses",
        "engine/functions/products.py": f"{FUNCTIONS} ordinary_losses",
        "engine/functions/shapes.py": f"{FUNCTIONS} ordinary_losses",
        "engine/functions/steps.py": f"{FUNCTIONS} ordinary_losses",
        "engine/namespace.py": "array_api engine_errors",
        "engine/numpy_functions.py": NUMPY,
        **{
            f"engine/numpy_calls/{name}.py": NUMPY
            for name in ("__init__", "curves", "elementwise", "joining", "making", "matrices")
        },
        **{
            f"engine/numpy_calls/{name}.py": NUMPY
            for name in ("order", "products", "reductions", "shapes")
        },
        "engine/indexing.py": f"engine_arrays engine_errors {TRANSFORMS} dataclasses {COMPILER}",
        "engine/tracer.py": f"engine_arrays engine_errors engine_edges {TRANSFORMS}",
        "engine/vjps.py": RULES,
        "engine/vjps_more.py": RULES,
        "engine/reverse.py": f"{TRANSFORMS} errors engine_jit engine_numbers engine_rules",
        "engine/batching.py": f"{TRANSFORMS} errors engine_arrays engine_jit engine_rules",
        "engine/staging.py": f"{TRANSFORMS} dataclasses {COMPILER}",
        "names.py": COMPILER,
        "engine/optimise.py": COMPILER,
        "engine/codegen.py": f"{COMPILER} dataclasses",
        "engine/jit.py": f"{COMPILER} {CALLS} dataclasses",
    },
    "per_sample": {
        "per_sample.py": f"{CALLS} invariants",
        "checks.py": CALLS,
        "batches.py": f"errors engine_transforms {CALLS}",
        "arrays.py": f"arrays losses {CALLS}",
        "backends/__init__.py": f"backends arrays {CALLS}",
        "backends/base.py": f"backends arrays {CALLS}",
        "backends/numpy_backend.py": f"backends arrays {CALLS}",
        "backends/torch_backend.py": f"backends arrays {CALLS}",
        "backends/jax_backend.py": f"backends arrays {CALLS}",
    },
    "recorder": {
        "recorder/__init__.py": "record_errors record",
        "recorder/axes.py": "axes record_programs record",
        "recorder/buffers.py": "record gram project",
        "recorder/capture.py": RECORDS,
        "recorder/check.py": "record_errors record_precision record",
        "recorder/forms.py": RECORDS,
        "recorder/graph.py": "record_rules record_passes record_programs record",
        "recorder/layer_forms.py": RECORDS,
        "recorder/model.py": RECORDS,
        "recorder/passes.py": "record_passes record",
        "recorder/recording.py": RECORDS,
        "recorder/reduction.py": "record_passes record_errors record",
        "recorder/replay.py": RECORDS,
        "recorder/rules.py": RECORDS,
        "recorder/sites.py": RECORDS,
    },
    "statistics": {
        "statistics.py": "statistics",
        "projection.py": "project",
        "privacy.py": "privacy",
    },
    "losses": {"losses.py": "losses"},
    "tape": {"tape.py": "tape engine_transform_errors"},
}
# How many mutants of each group are tried, and the seed that draws them.
SIZES = {
    "engine": 160,
    "per_sample": 90,
    "recorder": 80,
    "statistics": 30,
    "losses": 15,
    "tape": 25,
}
SEED = 0
# These files hold names and nothing else.
LEFT_OUT = ("__init__.py", "engine/__init__.py", "engine/functions/__init__.py")
# What the tests import, but for the package: imported once, in the parent.
HEAVY = [
    "numpy",
    "torch.func",
    "torch._dynamo",
    "jax.numpy",
    "hypothesis.extra.numpy",
    "array_api_strict",
    "array_api_compat.numpy",
    "array_api_compat.torch",
    "nbval.plugin",
    "PIL.Image",
]


@dataclass
class Trial:
    """A mutant, the test files it must pass, and what came of it."""

    group: str
    mutant: Mutant
    path: Path
    tests: list[str]
    result: Result | None = None
    reason: str = ""  # why nobody can notice it, where that is explained

    @property
    def survived(self) -> bool:
        return self.result.outcome == PASSED


def tests_of(module: str, names: str) -> list[str]:
    """Return the test files of a row: doctests first, each file once."""
    own = PACKAGE / module
    files = [str(own)] if ">>>" in own.read_text() else []
    paths = [str(ROOT / "tests" / f"test_{name}.py") for name in names.split()]
    return list(dict.fromkeys(files + paths))


def check_table() -> list[str]:
    """Return what is wrong with the table: a module without a row, a row without its file."""
    rows = [module for table in GROUPS.values() for module in table]
    there = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    wanted = {name for name in there if name not in LEFT_OUT}
    wrong = [f"{name} has no row in scripts/mutate.py" for name in sorted(wanted - set(rows))]
    wrong += [f"{name} has a row and is not there" for name in rows if name not in there]
    for table in GROUPS.values():
        for module, names in table.items():
            wrong += [
                f"{module} names {Path(test).name}, which is not there"
                for test in (tests_of(module, names) if module in there else [])
                if not Path(test).is_file()
            ]
    return wrong


def package_trials(only: str, every: bool, seed: int, same: Path | None = None) -> list[Trial]:
    """Return the trials of the package, group by group.

    ``same`` is a file of stored mutants: those whose lines are there still are taken, and as
    many as are missing in a group are drawn.
    """
    stored = {tuple(row[:5]) for row in json.loads(same.read_text())["mutants"]} if same else set()
    trials = []
    for group, table in GROUPS.items():
        chosen = {module: names for module, names in table.items() if only in module}
        found = [m for module in chosen for m in mutants(PACKAGE / module, module)]
        kept = [m for m in found if m.key[:5] in stored and m.compiles()]
        rest = [m for m in found if m not in kept]
        missing = SIZES[group] - len(kept)
        drawn = [m for m in found if m.compiles()] if every else kept + sample(rest, missing, seed)
        if same:
            print(f"{group}: {len(kept)} of the stored mutants, {len(drawn) - len(kept)} others")
        order = list(table)
        drawn.sort(key=lambda mutant: order.index(mutant.file))
        trials += [
            Trial(group, m, PACKAGE / m.file, tests_of(m.file, chosen[m.file])) for m in drawn
        ]
    return trials


def file_trials(path: Path, tests: list[str]) -> list[Trial]:
    """Return every mutant of one file, against the given tests."""
    found = [m for m in mutants(path, path.name) if m.compiles()]
    return [Trial(path.name, m, path, [str(Path(t).resolve()) for t in tests]) for m in found]


def explain(trials: list[Trial], path: Path) -> None:
    """Enter the reasons that the list gives; a mutant is found by its lines, not by number."""
    listed = tomllib.loads(path.read_text()).get("mutant", []) if path.is_file() else []
    reasons = {
        (row["file"], row["function"], row["before"], row["after"]): row["reason"]
        for row in listed
    }
    for trial in trials:
        trial.reason = reasons.get(trial.mutant.key[:4], "")


def run(trials: list[Trial], runner: Runner) -> None:
    """Run the trials after a run on the true source, which must pass everything."""
    files = list(dict.fromkeys(test for trial in trials for test in trial.tests))
    print(f"{len(files)} test files on the source as it is", flush=True)
    failed = {name: r for name, r in runner.baseline(files).items() if r.outcome != PASSED}
    if failed:
        for name, result in failed.items():
            print(f"{name}: {result.outcome} {result.test}", file=sys.stderr)
        raise SystemExit("The tests fail without any mutant; mend them first.")
    print(f"{len(trials)} mutants", flush=True)
    done = 0

    def tell(number: int, result: Result) -> None:
        nonlocal done
        done += 1
        trials[number].result = result
        if result.outcome == PASSED and not trials[number].reason:
            print(f"\nSURVIVED: {trials[number].mutant}", flush=True)
        elif done % 50 == 0:
            print(f"  {done} of {len(trials)}", flush=True)

    results = runner.run([(t.mutant, t.path, t.tests) for t in trials], tell)
    for trial, result in zip(trials, results, strict=True):
        trial.result = result
        if trial.survived and not result.loaded:
            raise SystemExit(f"No test of {trial.mutant.file} imports it: {trial.tests}.")


def share(trials: list[Trial]) -> str:
    """Return the share noticed as a text; explained survivors are counted apart."""
    explained = sum(trial.survived and bool(trial.reason) for trial in trials)
    killed, total = sum(not trial.survived for trial in trials), len(trials) - explained
    text = f"{100 * killed // max(total, 1)} % of {total}"
    return f"{text}, {explained} more explained" if explained else text


def report(trials: list[Trial]) -> list[list[str]]:
    """Print what is explained and a table (survivors were printed); return the figures."""
    for trial in trials:
        if trial.survived and trial.reason:
            print(f"\nexplained: {trial.mutant}\n    {trial.reason}")
        elif trial.reason:
            print(f"\nexplained, yet noticed by {trial.result.test}: {trial.mutant}")
    figures = []
    print(f"\n{'':12}{'noticed':32}  of these: at import, crashed, endless")
    for group in dict.fromkeys(trial.group for trial in trials):
        own = [trial for trial in trials if trial.group == group]
        kinds = [sum(t.result.outcome == kind for t in own) for kind in (BROKEN, CRASHED, ENDLESS)]
        print(f"{group:12}{share(own):32}  {', '.join(map(str, kinds))}")
        figures.append([f"{group}: killed", share(own)])
    return figures


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="files of the package whose name contains this")
    parser.add_argument("--all", action="store_true", help="every mutant in place of a sample")
    parser.add_argument("--same", type=Path, help="a file of stored mutants, to be tried again")
    parser.add_argument("--seed", type=int, default=SEED, help="another sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--file", type=Path, help="a file that is not the package's, with --tests")
    parser.add_argument("--tests", nargs="+", default=[], help="the test files of --file")
    parser.add_argument("--explained", type=Path, default=EXPLAINED, help="the list of reasons")
    parser.add_argument("--log", type=Path, help="write every mutant and its result, as JSON")
    options = parser.parse_args(argv)
    if options.file:
        runner = Runner(workers=options.workers)
        trials = file_trials(options.file.resolve(), options.tests)
    else:
        if wrong := check_table():
            raise SystemExit("\n".join(wrong))
        os.chdir(ROOT)
        trials = package_trials(options.only, options.all, options.seed, options.same)
        print(f"seed {options.seed}")
        runner = Runner(HEAVY, options.workers)
    explain(trials, options.explained)
    run(trials, runner)
    figures = report(trials)
    if options.log:
        rows = [[*t.mutant.key, t.result.outcome, t.result.test, t.result.seconds] for t in trials]
        what = "file, function, lines before and after, number, outcome, by which test, seconds"
        content = {"date": datetime.date.today().isoformat(), "what": what, "mutants": rows}
        options.log.write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n")
    if not (options.file or options.same or options.only or options.all or options.seed != SEED):
        day = datetime.date.today().isoformat()
        FIGURES.parent.mkdir(exist_ok=True)
        content = {"date": day, "command": "make mutate", "figures": figures}
        FIGURES.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return int(any(trial.survived and not trial.reason for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
