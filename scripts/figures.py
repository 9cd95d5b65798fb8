"""The last figures of the long-running commands, and the table in CONTRIBUTING.md of them.

    python scripts/figures.py

Each command stores what it counted in a file of its own in tests/figures; the table is written
from those files and from nothing else. A file holds at least `date`, `command` and `figures`: a
list of pairs, what was counted and the value.
"""

import datetime
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "figures"
PAGE = ROOT / "CONTRIBUTING.md"
START = "<!-- Written by `make figures` from tests/figures: change nothing by hand. -->"
END = "<!-- The end of what `make figures` writes. -->"
PACKAGES = ("numpy", "torch", "jax", "matplotlib")


def machine() -> str:
    """Return what kind of machine this is: the system, the processor's family and the cores."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def versions() -> dict[str, str]:
    """Return the version of Python and of each package whose digits the book prints."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package).split("+")[0]
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def store(name: str, command: str, figures: list, folder: Path = FOLDER, **more: object) -> None:
    """Store a command's figures with the date, the machine and the versions.

    Parameters
    ----------
    name : the file's name without its ending
    command : what a reader types to get the figures again
    figures : pairs, what was counted and the value; all on one line of the table
    more : anything else that is worth keeping with the figures
    """
    record = {
        "date": datetime.date.today().isoformat(),
        "command": command,
        "machine": machine(),
        "versions": versions(),
        "figures": [[str(label), str(value)] for label, value in figures],
        **more,
    }
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    """Return a text that fits one cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(folder: Path = FOLDER) -> str:
    """Return the table of all stored figures, a line for each file, in the order of its name."""
    lines = ["| command | figures | date | on |", "|---|---|---|---|"]
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if missing := {"date", "command", "figures"} - record.keys():
            raise ValueError(f"{path.name} has no {' and no '.join(sorted(missing))}")
        counted = "; ".join(f"{label} **{value}**" for label, value in record["figures"])
        row = (f"`{record['command']}`", counted, record["date"], record.get("machine", ""))
        lines.append(f"| {' | '.join(map(_cell, row))} |")
    return "\n".join(lines)


def with_table(text: str, folder: Path = FOLDER) -> str:
    """Return the page's text with the table of the stored figures between its two marks."""
    if text.count(START) != 1 or text.count(END) != 1:
        raise ValueError("CONTRIBUTING.md needs the two marks of scripts/figures.py, each once")
    before, _, rest = text.partition(START)
    return f"{before}{START}\n\n{table(folder)}\n\n{END}{rest.partition(END)[2]}"


def write(page: Path = PAGE, folder: Path = FOLDER) -> None:
    """Write the table of the stored figures into the page."""
    text = with_table(page.read_text(encoding="utf-8"), folder)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
    count = len(list(FOLDER.glob("*.json")))
    print(f"CONTRIBUTING.md: {count} commands' figures", file=sys.stderr)
