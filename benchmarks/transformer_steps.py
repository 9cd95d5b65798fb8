"""Norms and clipped sums of the rows of three transformers: times in ordinary passes.

    OMP_NUM_THREADS=1 python benchmarks/transformer_steps.py --save

The models are those of whole_models.py. The contenders run the forward and the backward pass as
well; the unit is an ordinary pass on the same batch, which fills `.grad`. The floor is written by
hand for the model's layers (whole_steps.py), and `torch.func` forms all rows first. They take
turns. The times are CPU times of one thread, which other programs disturb less than wall-clock
times, medians over all rounds. Before that, the contenders' results are compared, and the floor's
with a loop over single samples. Peak memory is that of a separate process, without the memory it
held before the model was built.
"""

import itertools
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

import common
import contenders
import torch
from contenders import Case
from networks import CPU as MODELS
from whole_steps import ORDINARY, check, clipped, floor, head, of_rows, squared_norms, warm_up

RESULT = common.RESULTS / "transformer_steps.json"
CONTENDERS = {
    "squared norms": {
        "floor": partial(floor, clip=False, grad=False),
        "persample": contenders.norms,
        "torch.func": of_rows(squared_norms, contenders.torch_vmap),
    },
    "clipped sum": {
        "floor": partial(floor, clip=True, grad=False),
        "persample": contenders.clipped,
        "torch.func": of_rows(clipped, contenders.torch_vmap),
    },
}
WAYS = (ORDINARY, "record norms", "record clipped sum", "record, fresh")


def measured(case: Case, rounds: int) -> dict:
    """Return quantity -> contender -> median CPU time, in ordinary passes and in ms."""
    found = {}
    for quantity, builders in CONTENDERS.items():
        calls, batches = {name: f(case) for name, f in builders.items()}, [case.batch()]
        warm_up(case, quantity, calls, itertools.cycle(batches))
        calls = {ORDINARY: contenders.ordinary(case)} | calls
        calls[ORDINARY](*batches[0])
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.process_time()
                call(*batches[0])
                times[name].append(1e3 * (time.process_time() - start))
        ms = {name: median(own) for name, own in times.items()}
        found[quantity] = {
            name: {"passes": round(own / ms[ORDINARY], 3), "ms": round(own, 2)}
            for name, own in ms.items()
        }
    return found


def peaks(name: str) -> dict[str, float]:
    """Return way -> peak memory in MiB, as in `whole_models.peak_of`; Linux only."""
    program = [sys.executable, Path(__file__).with_name("whole_models.py"), "--only", name]
    found = {}
    for way in WAYS:
        run = [*program, "--peak-of", way]
        found[way] = float(subprocess.run(run, capture_output=True, check=True).stdout)
    return found


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if torch.get_num_threads() != 1:
        raise SystemExit("processor time is a time of one thread: set OMP_NUM_THREADS=1")
    stored = head(__doc__.splitlines()[0]) | {"rounds": options.rounds}
    for name in ("GPT, small", "GPT, medium", "ViT"):
        check(MODELS[name].of_size(5))
        stored["cases"][name] = measured(MODELS[name], options.rounds)
        for quantity, found in stored["cases"][name].items():
            print(f"{name:12} {quantity:14}", {n: f["passes"] for n, f in found.items()})
        stored["cases"][name]["peaks, MiB"] = peaks(name)
        print(f"{name:12} peaks, MiB    ", stored["cases"][name]["peaks, MiB"])
    if options.save:
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
