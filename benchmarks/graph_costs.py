"""Time one call without a compiler, the first compiled call and the later ones, by backend.

The unit is one call without a compiler ("eager") in the same backend, so the numbers are ratios.
The break-even is the number of calls after which compiling has saved time. The first call is
measured on fresh functions, PyTorch's caches off; later calls and eager calls take turns, medians
of rounds. Run it from the root:

    python benchmarks/graph_costs.py --save
"""

import os

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # a first call finds nothing prepared

import math
import statistics
import time

import common
import numpy as np

import persample as ps
from persample_book.notebook import setup

RESULT = common.RESULTS / "graph_costs.json"
NAMES = ("numpy", "torch", "jax")


def network_loss(params, x, y):
    """Return half the squared error of one sample under a network with two hidden layers."""
    xp = ps.array_namespace(params["W1"])
    h = xp.tanh(xp.matmul(x, params["W1"]))
    h = xp.tanh(xp.matmul(h, params["W2"]))
    error = xp.matmul(h, params["w3"]) - y
    return 0.5 * error * error


def work(backend, size: int, width: int) -> tuple:
    """Return the function that computes the rows, and its arguments."""
    rng = np.random.default_rng(0)
    shapes = {"W1": (8, width), "W2": (width, width), "w3": (width,)}
    params = {key: backend.asarray(rng.normal(size=shape)) for key, shape in shapes.items()}
    batch = [backend.asarray(rng.normal(size=shape)) for shape in ((size, 8), (size,))]
    rows = backend.vmap(backend.grad(network_loss), in_axes=(None, 0, 0))
    return rows, (params, *batch)


def seconds(call, repeat: int = 1) -> float:
    """Return the mean time of a call in seconds, over ``repeat`` calls in a row."""
    start = time.perf_counter()
    for _ in range(repeat):
        result = call()
        for x in result.values():
            getattr(x, "block_until_ready", int)()  # JAX returns before it has finished
    return (time.perf_counter() - start) / repeat


def measure(name: str, rounds: int, firsts: int, size: int, width: int) -> dict:
    """Return {first, later: median time in eager calls; break_even: number of calls, or None}."""
    module = ps.backend(name)
    rows, arguments = work(module, size, width)
    module.jit(lambda x: {"x": x + 1})(arguments[2])  # loads the compiler itself
    eager = lambda: rows(*arguments)  # noqa: E731
    seconds(eager, 3)
    first = []
    for _ in range(firsts):
        if name == "torch":
            import torch

            torch.compiler.reset()
        rows_again, _ = work(module, size, width)
        compiled = module.jit(rows_again)
        first.append(seconds(lambda: compiled(*arguments)))  # noqa: B023, called at once
    later = lambda: compiled(*arguments)  # noqa: E731
    repeats = {call: max(1, min(200, int(0.05 / seconds(call)))) for call in (eager, later)}
    times: dict = {eager: [], later: []}
    for _ in range(rounds):
        for call, samples in times.items():
            samples.append(seconds(call, repeats[call]))
    unit = statistics.median(times[eager])
    one, again = statistics.median(first) / unit, statistics.median(times[later]) / unit
    even = math.ceil((one - again) / (1 - again)) if again < 1 else None
    return {"first": round(one, 3), "later": round(again, 4), "break_even": even}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--firsts", type=int, default=3, help="how many first calls to time")
    parser.add_argument("--size", type=int, default=32, help="samples in the batch")
    parser.add_argument("--width", type=int, default=16, help="of the hidden layers")
    options = parser.parse_args()
    setup()
    how = (options.rounds, options.firsts, options.size, options.width)
    what = (
        f"rows of a network 8-{options.width}-{options.width}-1, {options.size} samples, "
        "float64; time in calls without a compiler, of the same backend"
    )
    result = common.head(what, *NAMES) | {
        "torch_compiler": ps.backend("torch").compiler(),
        "rounds": options.rounds,
        "costs": {name: measure(name, *how) for name in NAMES},
    }
    for name, costs in result["costs"].items():
        print(f"{name:6}", *[f"{key} {value}" for key, value in costs.items()], sep="  ")
    if options.save:
        common.store(result, RESULT)


if __name__ == "__main__":
    main()
