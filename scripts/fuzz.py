"""10,000 generated calls: each is right, or refused with a documented error; anything else fails.

    python scripts/fuzz.py                  all of them (make fuzz)
    python scripts/fuzz.py --only 4711      one, by its number
    python scripts/fuzz.py --calls 500 --seed 3

Two of five calls record a model made of layers put together at random, three call
per_sample_grad, its kin or the engine. A call follows from the seed and its number alone.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import fuzz_calls
import fuzz_modules
import numpy as np
import torch
from fuzz_outcomes import FAILED, REFUSED, RIGHT, Outcome

CALLS, SEED = 10_000, 20_260
SHOWN = 40  # failures that are printed


def judge(number: int, seed: int = SEED) -> Outcome:
    """Make call ``number`` and judge it."""
    rng = np.random.default_rng([seed, number])
    make = fuzz_modules.call if number % 5 < 2 else fuzz_calls.call
    return make(rng)


def _numbered(pair):
    number, seed = pair
    start = time.perf_counter()
    try:
        outcome = judge(number, seed)
    except Exception as error:  # of the harness, or of the oracle
        outcome = Outcome(FAILED, "the harness itself", f"{type(error).__name__}: {error}")
    return number, outcome, time.perf_counter() - start


def run(numbers, seed: int = SEED, workers: int = 1) -> list[tuple[int, Outcome, float]]:
    """Return (number, outcome, seconds) of each call."""
    pairs = [(n, seed) for n in numbers]
    if workers == 1:
        return [_numbered(pair) for pair in pairs]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _prepare) as pool:  # a crash of one is an error
        return list(_watched(pool.map(_numbered, pairs, chunksize=10), len(pairs)))


def _prepare():
    """One thread for each process."""
    torch.set_num_threads(1)


def _watched(results, total):
    for n, result in enumerate(results, 1):
        if result[1].kind == FAILED:
            print(f"call {result[0]} failed: {result[1].what}", file=sys.stderr, flush=True)
        if n % 500 == 0:
            print(f"{n} of {total}", file=sys.stderr, flush=True)
        yield result


def report(results: list, seed: int) -> Counter:
    """Print what came of the calls; return the counts."""
    counts = Counter({RIGHT: 0, REFUSED: 0, FAILED: 0})
    counts.update(outcome.kind for _, outcome, _ in results)
    failures = sorted((n, outcome) for n, outcome, _ in results if outcome.kind == FAILED)
    for number, outcome in failures[:SHOWN]:
        print(f"call {number}: {outcome.what}\n    {outcome.text}")
    print(f"seed {seed}, {len(results)} calls: {counts[RIGHT]} right, {counts[REFUSED]} refused")
    print(f"with a documented error, {counts[FAILED]} anything else.")
    if failures:
        print(f"To repeat one: python scripts/fuzz.py --seed {seed} --only {failures[0][0]}")
    return counts


def main() -> int:
    """Run the calls that were asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", type=int, help="the number of one call")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    if asked.only is not None:
        _, outcome, seconds = _numbered((asked.only, asked.seed))
        print(f"{outcome.kind} in {seconds:.1f} s: {outcome.what}\n{outcome.text}")
        return outcome.kind == FAILED
    results = run(range(asked.calls), asked.seed, asked.workers)
    counts = report(results, asked.seed)
    if (asked.calls, asked.seed) == (CALLS, SEED):
        store(counts)
    return counts[FAILED] > 0


def store(counts: Counter) -> None:
    """Keep the figures of a whole run for the table in CONTRIBUTING.md."""
    import figures

    figures.store(
        "fuzz",
        "make fuzz",
        [
            ("generated calls", f"{sum(counts.values()):,}"),
            ("right", f"{counts[RIGHT]:,}"),
            ("refused with a documented error", f"{counts[REFUSED]:,}"),
            ("anything else", f"{counts[FAILED]:,}"),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
