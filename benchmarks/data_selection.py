"""Which scores find wrong labels among the digits, and what training on a part of them does.

Ten draws of wrong labels, splits and starts, each trained for 40 and for 400 steps. Nothing is
timed; the runs are stored because 400 steps take too long for a page. Run it from the root:

    python benchmarks/data_selection.py --save
"""

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import torch

from persample_book.problems import mistyped

RESULT = Path(__file__).parent / "results" / "data_selection.json"
STEPS, DRAWS = (40, 400), 10


def found(steps: int, draws: int = DRAWS) -> dict[str, list[int]]:
    """Return score -> wrong labels among the 90 images with the largest score, by draw."""
    runs = [mistyped.along(seed, steps) for seed in range(draws)]
    return {
        name: [int(given.wrong[mistyped.ranked(of[name])[:90]].sum()) for given, of in runs]
        for name in runs[0][1]
    }


def measure(steps: int, draws: int = DRAWS) -> dict[str, list[float]]:
    """Return choice of training images -> percent of the others read rightly, by draw."""
    runs = [mistyped.chosen(seed, steps) for seed in range(draws)]
    return {name: [round(run[name], 3) for run in runs] for name in runs[0]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"store the result in {RESULT.name}")
    torch.set_num_threads(1)
    result = {
        "what": "percent of 397 other images read rightly, by choice of training images and draw",
        "date": datetime.date.today().isoformat(),
        "versions": {"torch": version("torch")},
        "steps": {str(steps): measure(steps) for steps in STEPS},
        "found": {str(steps): found(steps) for steps in STEPS},
    }
    print(json.dumps(result, indent=1))
    if parser.parse_args().save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
