"""Run every notebook and the numeric tests under simulated machines; the digits must not differ.

    python scripts/portable.py [--small] [--only Haswell] [--workers 2]

Each setting of `machines.settings` is verified first: one that changes nothing here, or that
this processor lacks, is skipped by name with its reason. The notebooks are compared as strictly
as `make test` does it, with the outputs stored in them. One that fails names the cells.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import figures
from machines import describe, effect, environment, settings, state
from notebook_rules import chapters

ROOT = Path(__file__).resolve().parents[1]
# Tests whose outcome hangs on what a library computes. The others read files or build pages.
NUMERIC = ("arrays", "backends", "engine_*", "invariants", "record*", "losses", "per_sample*")
NUMERIC += ("problems*", "statistics", "tape")
# What the short version runs: the chapters that compute something long.
LONG = ("01_first_rows", "05_gradient_linearity", "06_td0", "07_noise", "08_td0_control")
LONG += ("12_privacy", "13_influence", "15_gram", "16_kernel", "17_fisher")
OWN = "as it is"


class Row(NamedTuple):
    setting: str
    changed: str  # what the setting changed, as verified
    skipped: str = ""  # or why it was not run
    cells: int = 0
    tests: int = 0
    different: tuple[str, ...] = ()  # cells and tests that failed
    seconds: float = 0.0


def nbval_flags() -> list[str]:
    """Return the flags with which `make test` runs the notebooks."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return re.search(r"^NBVAL := (.*)$", text, re.MULTILINE)[1].split()


def compare(
    files: Iterable[Path], env: dict[str, str], workers: str = "0", root: Path = ROOT
) -> tuple[int, int, list[str]]:
    """Run notebooks and test files with these variables.

    Returns
    -------
    the number of notebook cells compared, of tests run, and the names of those that failed

    Raises
    ------
    RuntimeError
        Nothing was run, or pytest itself failed; the text is the end of what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", *nbval_flags(), "-q", "-m", "not slow"]
        command += ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
        command += ["-p", "no:cacheprovider", f"--junitxml={report}"]
        done = subprocess.run(
            [*command, *map(str, files)],
            cwd=root,
            # PyTorch finds compiled code by the program alone: that of other kernels is no use.
            env=environment(env) | {"TORCHINDUCTOR_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1) or not report.exists():
            raise RuntimeError("\n".join((done.stdout + done.stderr).splitlines()[-20:]))
        cases = list(ElementTree.parse(report).iter("testcase"))
    cases = [case for case in cases if case.find("skipped") is None]
    cells = sum("::Cell" in f"::{case.get('name')}" for case in cases)
    different = [
        f"{case.get('classname')} {case.get('name')}".strip()
        for case in cases
        if any(case.find(kind) is not None for kind in ("failure", "error"))
    ]
    return cells, len(cases) - cells, different


def numeric_tests() -> list[Path]:
    """Return the test files whose outcome hangs on what a library computes."""
    found = {path for name in NUMERIC for path in ROOT.glob(f"tests/test_{name}.py")}
    return sorted(found)


def table(rows: Iterable[Row]) -> str:
    """Return one line for each setting, as aligned text."""
    lines = [("setting", "changed, as verified", "cells", "tests", "differences", "seconds")]
    for row in rows:
        counts = (row.cells, row.tests, len(row.different), f"{row.seconds:.0f}")
        shown = (f"skipped: {row.skipped}", *[""] * 4) if row.skipped else (row.changed, *counts)
        lines.append((row.setting, *map(str, shown)))
    widths = [max(len(line[0]) for line in lines)]
    widths.append(max((len(line[1]) for line in lines if line[2]), default=0))
    return "\n".join(
        f"{name:{widths[0]}}  {changed:{widths[1]}}  {cells:>5}  {tests:>5}  {differ:>11}"
        f"  {seconds:>7}".rstrip()
        for name, changed, cells, tests, differ, seconds in lines
    )


def run(options: argparse.Namespace) -> list[Row]:
    """Run every chosen setting, printing as it goes; return their rows."""
    files = chapters(ROOT)
    if options.small:
        files = [path for path in files if path.stem in LONG]
    elif not options.notebooks_only:
        files += numeric_tests()
    own = state({})
    chosen = settings(own)
    if options.small:
        chosen = [setting for setting in chosen if setting.small]
    chosen = [setting for setting in chosen if options.only.lower() in setting.name.lower()]
    if not chosen:
        raise SystemExit(f"portable: no setting has {options.only!r} in its name")
    seen, rows = {OWN: own}, []
    # What the libraries choose by themselves comes first: it is a machine as well.
    kernels = ", ".join(f"{k} {describe(own[k])}" for k in ("OpenBLAS kernels",) if own.get(k))
    runs = [] if options.only or options.small else [(OWN, {}, kernels, "")]
    for setting in [None, *chosen]:
        if setting is not None:
            runs = [(setting.name, setting.env, *effect(setting, own, seen))]
        for name, env, changed, skipped in runs:
            start = time.perf_counter()
            row = Row(name, changed, skipped)
            if not skipped:
                cells, tests, different = compare(files, env, options.workers)
                seconds = time.perf_counter() - start
                row = Row(name, changed, "", cells, tests, tuple(different), seconds)
            rows.append(row)
            print(table([row]).splitlines()[1], flush=True)
            for test in row.different:
                print(f"    differs: {test}", flush=True)
    return rows


def keep(rows: list[Row]) -> None:
    """Store what was seen for the table in CONTRIBUTING.md."""
    ran = [row for row in rows if not row.skipped]
    what = [
        ("simulated machines", len(ran)),
        ("settings this processor lacks or has anyway, skipped", len(rows) - len(ran)),
        ("notebook cells compared", sum(row.cells for row in ran)),
        ("numeric tests run", sum(row.tests for row in ran)),
        ("differences", sum(len(row.different) for row in ran)),
    ]
    stored = [row._asdict() | {"seconds": round(row.seconds)} for row in rows]
    figures.store("portable", "make portable", what, settings=stored)
    figures.write()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="three settings, the long chapters")
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--notebooks-only", action="store_true", help="leave out the unit tests")
    parser.add_argument("--workers", default="0", help="processes beside this one (pytest -n)")
    options = parser.parse_args()
    rows = run(options)
    print(f"\n{table(rows)}")
    ran = [row for row in rows if not row.skipped]
    differences = sum(len(row.different) for row in ran)
    print(f"\n{len(ran)} settings run, {len(rows) - len(ran)} skipped; differences: {differences}")
    if not (options.small or options.only or options.notebooks_only):
        keep(rows)
    return 1 if differences or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
