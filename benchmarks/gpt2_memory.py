"""Peak memory of one pass at the size of GPT-2, beside what the page's sum says of it.

    python benchmarks/gpt2_memory.py --save       two texts of 1,024 tokens, CPU, Linux only

The model is that of networks.py with GPT-2's sizes and random weights; its last layer has a table
of its own. Peaks are taken as whole_models.py takes them, each way in a process of its own.
"""

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path

from networks import WholeModel
from rows import PACKAGES, installed, machine
from whole_models import peak_of

RESULT = Path(__file__).parent / "results" / "gpt2_memory.json"
CASE = WholeModel("GPT", 2, "cpu", (50_257, 1024, 768, 12, 12))
WAYS = ("ordinary pass", "record norms", "record clipped sum")


def measure() -> dict:
    """Return the record to store: way -> MiB at the peak of a second call."""
    peaks = {}
    for way in WAYS:
        run = [sys.executable, __file__, "--peak-of", way]
        peaks[way] = float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        print(f"{way:24} {peaks[way]:8.0f} MiB", flush=True)
    return {
        "what": "GPT-2's sizes: MiB at the peak of a second call, less those held before",
        "date": datetime.date.today().isoformat(),
        "machine": machine("cpu"),
        "versions": {name: installed(name) for name in PACKAGES if name in ("torch", "numpy")},
        "samples": CASE.size,
        "sizes": CASE.sizes,
        "parameters": sum(p.numel() for p in CASE.model().parameters()),
        "peaks": peaks,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help=f"store the result in {RESULT.name}")
    parser.add_argument("--peak-of", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak_of:
        print(json.dumps(peak_of(CASE, options.peak_of)))
        return
    record = measure()
    if options.save:
        RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
