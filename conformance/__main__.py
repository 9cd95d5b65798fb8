"""Run the suite: ``python -m conformance [--only REGEX] [--library NAME] [--save]``."""

import argparse
import os
import re
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for names of models")
    parser.add_argument("--library", default="", help="a part of one library's name")
    parser.add_argument("--save", action="store_true", help="write results.json and RESULTS.md")
    return parser.parse_args()


def adapters(chosen: str) -> list:
    """Return the installed adapters whose name contains ``chosen``; report missing libraries."""
    from conformance.adapters import NAMES, load

    found = []
    for name in NAMES:
        try:
            adapter = load(name)
        except ImportError as error:
            print(f"{name}: not installed ({error})", file=sys.stderr)
            continue
        if chosen.lower() in f"{name} {adapter.NAME}".lower():
            found.append(adapter)
    return found


def main() -> None:
    options = arguments()
    import torch

    from conformance import report
    from conformance.models import cases
    from conformance.run import run
    from conformance.task import Task

    torch.set_num_threads(1)
    begin, lines = time.perf_counter(), []
    libraries = adapters(options.library)
    for case in cases():
        if not re.search(options.only, case.name):
            continue
        for loss in case.losses:
            task = Task(case, loss)
            steps = task.steps()
            for adapter in libraries:
                lines.append(run(adapter, task, steps))
                report.show(lines[-1])
    seconds = time.perf_counter() - begin
    print(report.totals(lines), f"{seconds:.0f} s", sep="\n")
    if options.save:
        report.save(lines, libraries, seconds)


if __name__ == "__main__":
    main()
