"""Time and memory of TD(0) rows by loop, vmap and jit, for batches of several sizes.

The unit of time is one uncompiled ``grad`` of one transition in the same backend, so the numbers
are ratios: the time of the whole batch in single gradients. They are medians of rounds in which
every rung of a backend takes its turn; loops of many seconds are timed once. The first call
(compilation) is left out. Memory is the peak that one call of the NumPy backend adds to the rows
it returns, in units of the rows of 1,024 samples, counted by tracemalloc. Run it from the root:

    python benchmarks/td0_ladder.py --save
"""

import statistics
import time
import tracemalloc

import common
import numpy as np

import persample as ps
from persample_book.notebook import setup

RESULT = common.RESULTS / "td0_ladder.json"
NAMES = ("numpy", "torch", "jax")
SIZES = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536]
LOOP_LIMIT = {"numpy": 4096, "torch": 1024, "jax": 256}  # one call beyond takes seconds:
LOOP_ONCE = {"numpy": 65536, "torch": 65536, "jax": 4096}  # it is timed once, up to here
D = 16


def batch(backend, size: int) -> list:
    """Return theta (D,) and ``size`` distinct transitions as arrays of the backend."""
    rng = np.random.default_rng(size)
    shapes = [(D,), (size, D), (size,), (size, D)]
    return [backend.asarray(rng.normal(size=shape)) for shape in shapes]


def seconds(call, repeat: int) -> float:
    """Return the mean time of a call in seconds, over ``repeat`` calls in a row."""
    start = time.perf_counter()
    for _ in range(repeat):
        getattr(call(), "block_until_ready", int)()  # JAX returns before it has finished
    return (time.perf_counter() - start) / repeat


def measure(name: str, rounds: int) -> dict:
    """Return {rung: {batch size: median time in single gradients}} for one backend."""
    module = ps.backend(name)
    rungs = {
        "loop": ps.loop_grad(ps.td_loss),
        "vmap": ps.per_sample_grad(ps.td_loss),
        "jit": ps.per_sample_grad(ps.td_loss, jit=True),
    }
    one = module.grad(ps.td_loss)
    theta, s, r, s_next = batch(module, 1)
    calls = {("grad", 1): lambda: one(theta, s[0], r[0], s_next[0])}
    for size in SIZES:
        arguments = batch(module, size)
        for rung, rows in rungs.items():
            if rung != "loop" or size <= LOOP_LIMIT[name]:
                calls[rung, size] = lambda rows=rows, arguments=arguments: rows(*arguments)
    repeats = {}
    for key, call in calls.items():
        call()  # compiles
        call()
        repeats[key] = max(1, min(200, int(0.02 / seconds(call, 1))))
    samples: dict = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            samples[key].append(seconds(call, repeats[key]))
    medians = {key: statistics.median(times) for key, times in samples.items()}
    unit = medians["grad", 1]
    table: dict = {rung: {} for rung in rungs}
    for (rung, size), median in medians.items():
        if rung != "grad":
            table[rung][str(size)] = round(median / unit, 3)
    for size in SIZES:
        if LOOP_LIMIT[name] < size <= LOOP_ONCE[name]:
            arguments = batch(module, size)
            if name == "jax":  # it compiles the stacking of so many rows
                rungs["loop"](*arguments)
            once = seconds(lambda arguments=arguments: rungs["loop"](*arguments), 1)
            table["loop"][str(size)] = round(once / unit, 3)
    return table


def memory() -> dict:
    """Return {rung: {batch size: peak beyond the rows, in rows of 1,024 samples}} for NumPy."""
    rungs = {
        "vmap": ps.per_sample_grad(ps.td_loss),
        "jit": ps.per_sample_grad(ps.td_loss, jit=True),
        "vmap, chunk_size=1024": ps.per_sample_grad(ps.td_loss, chunk_size=1024),
    }
    table: dict = {rung: {} for rung in rungs}
    for size in SIZES:
        arguments = batch(ps.backend("numpy"), size)
        for rung, rows in rungs.items():
            rows(*arguments)
            tracemalloc.start()
            result = rows(*arguments)
            extra = tracemalloc.get_traced_memory()[1] - result.nbytes
            tracemalloc.stop()
            table[rung][str(size)] = float(f"{extra / (1024 * D * 8):.2g}")
    return table


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    setup()
    result = common.head(f"TD(0) rows, float64, d = {D}, one thread", *NAMES) | {
        "rounds": options.rounds,
        "times": {name: measure(name, options.rounds) for name in NAMES},
    }
    result["memory"] = memory()
    for name, rungs in {**result["times"], "memory": result["memory"]}.items():
        for rung, values in rungs.items():
            print(f"{name:6} {rung:5}", *[f"{size}: {x:.4g}" for size, x in values.items()])
    if options.save:
        common.store(result, RESULT)


if __name__ == "__main__":
    main()
