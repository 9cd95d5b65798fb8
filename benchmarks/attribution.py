"""Ask scores which images wrong readings of a small network is owed to; train without them.

Nothing is timed; the runs are stored because some hundred trainings take too long for a page. Run
it from the root:

    python benchmarks/attribution.py --save
"""

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import torch

from persample_book.problems import attribution

RESULT = Path(__file__).parent / "results" / "attribution.json"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"store the result in {RESULT.name}")
    torch.set_num_threads(1)
    result = {
        "what": "scores of training images against real trainings, for every wrong reading",
        "date": datetime.date.today().isoformat(),
        "versions": {"torch": version("torch")},
        **attribution.compared(0),
    }
    print(json.dumps(result, indent=1))
    if parser.parse_args().save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
