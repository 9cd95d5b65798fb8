"""Run every notebook again and again, chapters in random order: the outputs must be the same.

    python scripts/repeat.py [--times 10] [--seed 1] [--workers 1]

A digit that depends on what ran before, on an address in memory or on a clock shows in one of
many rounds. Each round compares every notebook with the outputs stored in it.
"""

import argparse
import random
import sys
import time

import figures
from notebook_rules import chapters
from portable import ROOT, compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10, help="how many rounds")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--workers", default="0", help="processes beside this one (pytest -n)")
    options = parser.parse_args()
    if options.times < 1:
        parser.error("--times must be at least 1")
    order = random.Random(options.seed)
    notebooks = chapters(ROOT)
    print(f"the chapters' order comes from seed {options.seed}", flush=True)
    same, compared = 0, 0
    for number in range(1, options.times + 1):
        order.shuffle(notebooks)
        start = time.perf_counter()
        cells, _, different = compare(notebooks, {}, options.workers)
        same, compared = same + (not different), compared + cells
        names = " ".join(path.stem.split("_")[0] for path in notebooks)
        print(
            f"round {number} of {options.times}, chapters {names}: {cells} cells,"
            f" {len(different)} differ, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        for cell in different:
            print(f"    differs: {cell}", flush=True)
    print(f"{same} of {options.times} rounds gave the stored outputs")
    if options.times >= 10:
        what = [
            ("rounds that gave the stored outputs", f"{same} of {options.times}"),
            ("notebook cells compared", compared),
        ]
        figures.store("repeat", "make repeat", what, seed=options.seed)
        figures.write()
    return 0 if same == options.times else 1


if __name__ == "__main__":
    sys.exit(main())
