"""What the benchmarks share: the argument ``--save``, and where a result is stored."""

import argparse
import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the first line of a docstring and the argument ``--save``."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    made.add_argument("--save", action="store_true", help=f"store the result in {RESULTS.name}/")
    return made


def store(result: dict, path: Path) -> None:
    """Write a result as JSON."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def finish(result: dict, path: Path, save: bool) -> None:
    """Print a result as JSON; with ``save`` store it as well."""
    print(json.dumps(result, indent=1))
    if save:
        store(result, path)
