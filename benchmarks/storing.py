"""How a short benchmark ends: its result is printed and, if asked for, stored."""

import json
from pathlib import Path


def finish(stored: dict, path: Path, save: bool) -> None:
    """Print a result as JSON; with ``save`` write it to ``path`` as well."""
    text = json.dumps(stored, indent=1) + "\n"
    print(text)
    if save:
        path.write_text(text, encoding="utf-8")
