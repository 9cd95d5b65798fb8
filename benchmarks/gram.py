"""Time of all inner products of rows, `record.gram()`, beside the products alone and the rows.

    python benchmarks/gram.py --save

The least of interleaved repetitions, each contender in turn in each round (the rows in every
eighth): whatever else runs on the machine can only add to a time. Every contender but "products"
does the ordinary forward and backward pass as well. "products" multiplies what the pass has left,
by hand and in place, with nothing around it. Before anything is timed, the products are compared
with those of the rows.
"""

import argparse
import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from contenders import Case, _recorded, fresh, ordinary
from rows import installed, machine

RESULT = Path(__file__).parent / "results" / "gram.json"
MOST = 10**8  # numbers in all rows together; more are not formed
SELDOM = 8  # rounds from one "gram of rows" to the next: it takes long
CASES = {
    "784-256-10, B = 256": Case((784, 256, 10), 256),
    "1024-1024-1024-10, B = 256": Case((1024, 1024, 1024, 10), 256),
    "1024-1024-1024-10, B = 32": Case((1024, 1024, 1024, 10), 32),
    "4-32-32-2, B = 1024": Case((4, 32, 32, 2), 1024),
    "CNN, B = 64": Case("cnn", 64),
}


def gram(case: Case) -> Callable[[], torch.Tensor]:
    run = _recorded(case, False)
    return lambda: run().gram()


def gram_of_rows(case: Case) -> Callable[[], torch.Tensor] | None:
    """The way without the closed forms: all rows, flattened, times themselves."""
    if case.size * sum(p.numel() for p in case.model().parameters()) > MOST:
        return None
    rows = fresh(case)

    def call():
        flat = torch.cat([g.flatten(1) for g in rows().values()], 1)
        return flat @ flat.T

    return call


def products(case: Case) -> Callable[[], torch.Tensor] | None:
    """The matrix products of `gram` alone, (d d'^T)(h h'^T + 1) for each Linear; no pass."""
    if case.widths == "cnn":
        return None  # rows of its convolutions are formed
    model, (x, y), pairs = case.model(), case.batch(), []
    h = x
    for layer in model:
        output = layer(h)
        if isinstance(layer, torch.nn.Linear):
            output.retain_grad()
            pairs.append((h.detach(), output))
        h = output
    case.losses(h, y).sum().backward()
    kept = [(h, output.grad) for h, output in pairs]
    buffers = [torch.empty(len(x), len(x)) for _ in range(3)]

    def call():
        total, inputs, cotangents = buffers
        total.zero_()
        for h, delta in kept:
            torch.mm(h, h.T, out=inputs)
            torch.mm(delta, delta.T, out=cotangents)
            total.addcmul_(cotangents, inputs.add_(1))  # 1: the bias
        return total

    return call


CONTENDERS = {
    "ordinary pass": ordinary,
    "products": products,
    "gram": gram,
    "gram of rows": gram_of_rows,
}


def agree(case: Case) -> None:
    """Raise if two ways differ by more than rounding."""
    case = case.of_size(5)
    wanted = gram_of_rows(case)()
    for way in (gram, products):
        call = way(case)
        if call is None:
            continue
        error = float((call() - wanted).abs().max() / wanted.abs().max())
        if not error < 1e-4:
            raise AssertionError(f"{way.__name__} differs by {error:.2g}")


def least(calls: dict[str, Callable], rounds: int) -> dict[str, float]:
    """Return name -> the shortest of ``rounds`` times of one call, in milliseconds."""
    times: dict[str, list] = {name: [] for name in calls}
    for call in calls.values():
        call()
        call()
    for count in range(rounds):
        for name, call in calls.items():
            if name == "gram of rows" and count % SELDOM:
                continue
            call()  # fills the caches anew after the contender before
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: round(1e3 * float(np.min(taken)), 4) for name, taken in times.items()}


def measure(case: Case, rounds: int) -> dict:
    agree(case)
    calls = {name: build(case) for name, build in CONTENDERS.items()}
    return least({name: call for name, call in calls.items() if call is not None}, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--save", action="store_true", help=f"store the results in {RESULT.name}")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the others on the machine would stretch a wait of two threads
    record: dict = {
        "what": "gram of all rows, float32; least of interleaved repetitions in ms, other "
        "programs running beside it",
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "threads": torch.get_num_threads(),
        "versions": {package: installed(package) for package in ("numpy", "torch")},
        "rounds": options.rounds,
        "cases": {},
    }
    for name, case in CASES.items():
        times = record["cases"][name] = measure(case, options.rounds)
        limit = times["ordinary pass"] + times.get("products", float("nan"))
        print(name, times, f"gram / (pass + products) {times['gram'] / limit:.2f}")
    if options.save:
        RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
