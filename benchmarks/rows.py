"""Time and memory of rows, norms and clipped sums of small networks, in each library.

The contenders take turns in each round of one run; stored are medians. Every contender runs the
ordinary forward and backward pass as well, unless its name says otherwise. First calls
(compilation, new buffers) are not timed, and before a contender is timed its numbers are compared
with the others'. Peers come from requirements.txt beside this file, best into an environment of
their own. From the root:

    python benchmarks/rows.py --save

Each of the three SETTINGS of the C library has a result of its own; by default all are measured,
one after the other, each in a process that starts with its environment variables.
"""

import argparse
import gc
import json
import subprocess
import sys
import warnings

import common
import contenders
from common import SETTINGS, medians, peak
from contenders import LIMITS, PACKAGES, ROWS, SUMS, Case, agree, build

RESULT = common.RESULTS / "rows.json"
CASES = {
    "784-256-10, B = 256": Case((784, 256, 10), 256),
    "1024-1024-1024-10, B = 32": Case((1024, 1024, 1024, 10), 32),
    "4-32-32-2, B = 1024": Case((4, 32, 32, 2), 1024),
    "CNN, B = 64": Case("cnn", 64),
}
OURS = {"record, warm", "record, fresh", "engine jit (NumPy)"}
PEERS = {name: ROWS[name] for name in ROWS if name not in OURS}
GROWTH = ["record, warm", "torch.func vmap(grad)", "jax jit(vmap(grad))", "Opacus hooks"]
CLIPPERS = ["Opacus ghost clipping", "optax clipped sum", "jax_privacy clipped sum"]
# What memory is measured of: name -> builder. Those with "chunks" keep 32 rows at a time.
MEMORY = {
    "record, fresh": contenders.fresh,
    "record, chunks": contenders.chunks,
    "record clipped sum": contenders.clipped,
    "torch.func vmap(grad)": contenders.torch_vmap,
    "per_sample_grad, chunk_size=32": contenders.package_chunks,
    "jax jit(vmap(grad))": contenders.jax_jit,
    "Opacus hooks": contenders.opacus_hooks,
    "Opacus ghost clipping": contenders.opacus_ghost,
    "BackPACK BatchGrad": contenders.backpack_batch_grad,
}
GIB = 1024  # MiB


def measure(case: Case, rounds: int) -> dict:
    agree(case, {"rows": ROWS, "sums": {name: SUMS[name] for name in SUMS if "clip" in name}})
    result: dict = {}
    for kind, builders in {"limits": LIMITS, "rows": ROWS, "sums": SUMS}.items():
        calls, absent = build(LIMITS | builders, case)
        times = medians(calls, rounds)
        limits = {name: times.pop(name) for name in LIMITS}
        result[kind] = times | absent if kind != "limits" else limits
        result[f"limits beside {kind}"] = limits  # measured in the same rounds
    return result


def growth(rounds: int) -> dict:
    """Return median ms of rows by batch size (64-64-10) and by width d (d-d-10, B = 32)."""
    batches = {str(B): Case((64, 64, 10), B) for B in (1, 4, 16, 64, 256, 1024, 4096)}
    widths = {str(d): Case((d, d, 10), 32) for d in (16, 64, 256, 1024)}
    chosen = {name: ROWS[name] for name in GROWTH}
    return {
        axis: {at: medians(build(chosen, case)[0], rounds) for at, case in cases.items()}
        for axis, cases in (("batch", batches), ("width", widths))
    }


def peak_of(name: str) -> dict:
    """Return B -> MiB by which this process's peak memory grows, on 784-256-10, up to 1 GiB.

    Return {name: reason} instead if the contender cannot run.
    """
    peaks, start = {}, None
    for size in (2, *(2**n for n in range(5, 14))):
        calls, absent = build({name: MEMORY[name]}, Case((784, 256, 10), size))
        if absent:
            return absent
        calls[name]()
        if start is None:  # two samples load what does not depend on B
            start = peak()
            continue
        peaks[str(size)] = round((peak() - start) / 1024, 1)
        if peaks[str(size)] > GIB:
            break
        del calls
        gc.collect()  # hooks make cycles, which would keep the rows of the size before
    return peaks


def memory() -> dict:
    """Return contender -> result of `peak_of`, each in a separate process; Linux only."""
    run = [sys.executable, __file__, "--peak-of"]
    return {
        name: json.loads(subprocess.run([*run, name], capture_output=True, check=True).stdout)
        for name in MEMORY
    }


def show_case(name: str, result: dict) -> None:
    for kind in ("rows", "sums"):
        limits, times = result[f"limits beside {kind}"], result[kind]
        peers = PEERS if kind == "rows" else CLIPPERS
        measured = [times[peer] for peer in peers if isinstance(times[peer], float)]
        # The shortest pass: it takes longer after a contender that has filled the memory.
        blocks = [result[key] for key in result if key.startswith("limits")]
        limit = min(block["ordinary pass"] for block in blocks)
        limit += limits["fill once"] if kind == "rows" else 0
        unit = "fill + pass" if kind == "rows" else "the pass"
        print(f"\n{name}: {kind}", *[f"   {k} {v:.3g} ms" for k, v in limits.items()])
        print(f"  {'':31} {'ms':>9} {'of ' + unit:>15} {'of best peer':>13}")
        for contender, ms in times.items():
            if isinstance(ms, str):
                print(f"  {contender:31} {ms}")
                continue
            best = f"{ms / min(measured):13.3f}" if measured else f"{'-':>13}"
            print(f"  {contender:31} {ms:9.3f} {ms / limit:15.2f} {best}", end="")
            apart = contender.endswith("apart")
            print(f"   {ms / limits['backward alone']:.2f} of a backward" if apart else "")


def show_rest(result: dict) -> None:
    for axis, table in result["growth"].items():
        print(f"\nrows against {axis}, ms")
        for name in GROWTH:
            print(f"  {name:26}", *[f"{at}: {row.get(name, '-')}" for at, row in table.items()])
    print("\npeak on 784-256-10, MiB beyond that of 2 samples; the largest B within 1 GiB")
    for name, peaks in result["memory"].items():
        if name in peaks:
            print(f"  {name:31} {peaks[name]}")
            continue
        largest = max(int(size) for size, mib in peaks.items() if mib <= GIB)
        print(f"  {name:31} {largest:5}  ", *[f"{size}: {mib}" for size, mib in peaks.items()])


def measure_all(options: argparse.Namespace) -> None:
    """Measure, print and store all cases in the memory setting of this process."""
    result = common.head(
        "rows, norms and clipped sums, float32; medians in ms; peak memory in MiB", *PACKAGES
    )
    result |= {"rounds": options.rounds, "setting": options.inside, "cases": {}}
    print(f"\nsetting: {options.inside}")
    for name, case in CASES.items():
        if options.only in name:
            result["cases"][name] = measure(case, options.rounds)
            show_case(name, result["cases"][name])
    if options.only:
        return
    if options.inside == "default":
        result |= {"growth": growth(options.rounds), "memory": memory()}
        show_rest(result)
    if options.save:
        common.store(result, common.in_setting(RESULT, options.inside))


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default="", help="cases whose name has this, and nothing else")
    parser.add_argument("--setting", choices=SETTINGS, help="this setting of memory only")
    parser.add_argument("--inside", choices=SETTINGS, help=argparse.SUPPRESS)
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own
    if options.peak_of:
        print(json.dumps(peak_of(options.peak_of)))
    elif options.inside:
        measure_all(options)
    else:
        common.in_settings(__file__, options.setting)


if __name__ == "__main__":
    main()
