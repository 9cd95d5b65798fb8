"""Time and memory of rows, norms and clipped sums of whole models: transformers, CNN, MLP.

    python benchmarks/whole_models.py --save                on the CPU, in three settings of memory
    python benchmarks/whole_models.py --memory --save       peak memory, which needs no quiet
    python benchmarks/whole_models.py --device cuda --save  on a GPU: float32, TF32, bfloat16

One run, all contenders in turn in each round, medians; every contender does the ordinary forward
and backward pass as well. Before a model is timed, the contenders' numbers are compared. Peers
come from requirements.txt beside this file. Times are in milliseconds. Memory is the peak during a
second call less the memory held before, in MiB, each contender in a separate process.
"""

import argparse
import functools
import gc
import json
import subprocess
import sys
import warnings

import common
import contenders
import torch
from common import SETTINGS, medians, peak, peak_anew
from contenders import LIMITS, PACKAGES, ROWS, SUMS, Case, agree, build
from networks import CPU, GPU

RESULT = common.RESULTS / "whole_models.json"
CHOSEN_ROWS = {
    name: ROWS[name]
    for name in (
        "record, warm",
        "record, fresh",
        "torch.func vmap(grad)",
        "jax jit(vmap(grad))",
        "Opacus hooks",
        "BackPACK BatchGrad",
    )
}
CHOSEN_SUMS = {
    "record norms": SUMS["record norms"],
    "record clipped sum": SUMS["record clipped sum"],
    "Opacus ghost clipping": SUMS["Opacus ghost clipping"],
    "Opacus fast gradient clipping": functools.partial(contenders.opacus_ghost, ghost=False),
    "optax clipped sum": SUMS["optax clipped sum"],
}
PARTS = {"rows": CHOSEN_ROWS, "sums": CHOSEN_SUMS}
# On a GPU: name -> whether matrices are multiplied in TF32, and whether under autocast.
PRECISIONS = {"float32": (False, False), "TF32": (True, False), "bfloat16": (True, True)}


def measure(case: Case, rounds: int) -> dict:
    """Compare the contenders; return median times in ms, also of the limits, and the size."""
    agree(case, {"rows": CHOSEN_ROWS, "sums": CHOSEN_SUMS})
    result: dict = {"parameters": sum(p.numel() for p in case.model().parameters())}
    result |= {"samples": case.size}
    for part, builders in PARTS.items():
        calls, absent = build(LIMITS | builders, case)
        times = medians(calls, rounds)
        result[f"limits beside {part}"] = {name: times.pop(name) for name in LIMITS}
        result[part] = times | absent
    return result


def peak_of(case: Case, name: str) -> float | None:
    """Return a contender's peak MiB less that before it was built; None if it cannot run."""
    builder = (LIMITS | CHOSEN_ROWS | CHOSEN_SUMS)[name]
    calls, absent = build({name: builder}, case.of_size(2))
    if absent:
        return None
    calls[name]()  # what the libraries load at their first call, and find out about the model
    del calls
    gc.collect()
    start = peak_anew()
    calls, _ = build({name: builder}, case)
    if case.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        start = torch.cuda.memory_allocated()
        calls[name]()
        return round((torch.cuda.max_memory_allocated() - start) / 2**20, 1)
    calls[name]()  # finds out about the new shape
    gc.collect()
    peak_anew()
    calls[name]()
    return round((peak() - start) / 1024, 1)


def memory(model: str, device: str) -> dict:
    """Return contender -> its `peak_of` in MiB, each in a separate process; Linux only."""
    peaks = {}
    for name in ("ordinary pass", *CHOSEN_ROWS, *CHOSEN_SUMS):
        run = [sys.executable, __file__, "--device", device, "--peak-of", name, "--only", model]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        if done.stdout.strip() != "null":
            peaks[name] = float(done.stdout)
    return peaks


def kernels(case: Case) -> dict:
    """Return contender -> number of kernels that one call starts on the GPU."""
    counts = {}
    for name, call in build(LIMITS | CHOSEN_ROWS | CHOSEN_SUMS, case)[0].items():
        call()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
            call()
        counts[name] = sum(event.device_type.name == "CUDA" for event in seen.events())
    return counts


def show(name: str, result: dict) -> None:
    print(f"\n{name}: {result['parameters']:,} parameters, {result['samples']} samples")
    for part in PARTS:
        limits = result[f"limits beside {part}"]
        passes = min(result[f"limits beside {other}"]["ordinary pass"] for other in PARTS)
        fill = limits["fill once"]
        print(f"  {part}: the pass {passes:.3g} ms, writing all rows {fill:.3g} ms")
        for contender, ms in result[part].items():
            if isinstance(ms, str):
                print(f"    {contender:30} {ms}")
                continue
            text = f"{ms:9.2f} ms {ms / passes:7.2f} passes"
            text += f" {ms / (passes + fill):6.2f} of pass + fill" if part == "rows" else ""
            print(f"    {contender:30} {text}")


def head(what: str, options: argparse.Namespace) -> dict:
    """Return the header of a result, with empty ``cases``."""
    return common.head(what, *PACKAGES, device=options.device) | {"cases": {}}


def measure_memory(options: argparse.Namespace, cases: dict[str, Case]) -> None:
    """Measure, print and store the peak memory of every contender on every model."""
    record = head(
        "whole models: MiB at the peak of a second call, less those held before", options
    )
    for name in cases:
        if options.only in name:
            record["cases"][name] = memory(name, options.device)
            print(
                name, *(f"  {way}: {mib}" for way, mib in record["cases"][name].items()), sep="\n"
            )
    if options.save and not options.only:
        setting = "memory" if options.device == "cpu" else "memory cuda"
        common.store(record, common.in_setting(RESULT, setting))


def measure_all(options: argparse.Namespace, setting: str, cases: dict[str, Case]) -> None:
    """Measure, print and store all models in the setting or precision of this process."""
    record = head("whole models: ms for rows, norms, clipped sums", options)
    record |= {"rounds": options.rounds, "setting": setting}
    print(f"\nsetting: {setting}")
    for name, case in cases.items():
        if options.only in name:
            result = measure(case, options.rounds)
            if options.device == "cuda":
                result["kernels"] = kernels(case)
            record["cases"][name] = result
            show(name, result)
    if options.save and not options.only:
        common.store(record, common.in_setting(RESULT, setting))


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="models whose name has this; nothing is stored")
    parser.add_argument("--memory", action="store_true", help="peak memory instead of time")
    parser.add_argument("--setting", choices=SETTINGS, help="this setting of memory only")
    parser.add_argument("--inside", choices=SETTINGS, help=argparse.SUPPRESS)
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own
    cases = GPU if options.device == "cuda" else CPU
    if options.peak_of:
        print(json.dumps(peak_of(cases[options.only], options.peak_of)))
    elif options.memory:
        measure_memory(options, cases)
    elif options.device == "cuda":
        for name, (tf32, autocast) in PRECISIONS.items():
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
                measure_all(options, name, cases)
    elif options.inside:
        measure_all(options, options.inside, cases)
    else:
        common.in_settings(__file__, options.setting)


if __name__ == "__main__":
    main()
