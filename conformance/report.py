"""Print and store results: results.json, one line for each model and loss, and RESULTS.md."""

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
from collections import Counter
from pathlib import Path

from conformance.verdict import CRASH, NO_TWIN, REFUSED, RIGHT, WRONG, worst

SHORT = 160
HERE = Path(__file__).parent
SYMBOLS = {RIGHT: "right", REFUSED: "refused", WRONG: "**WRONG**", CRASH: "*crash*", NO_TWIN: "."}


def show(line: dict) -> None:
    """Print a line's verdicts, with its errors or messages, unless all are right or "no twin"."""
    bad = [v for v in line["verdicts"] if v not in (RIGHT, NO_TWIN)]
    if bad:
        said = line.get("errors") or line.get("messages")
        where = f"{line['library']} | {line['model']} | {line['loss']}"
        print(f"{worst(bad)}: {where}: {' '.join(v[0] for v in line['verdicts'])} {said}")


def of_libraries(lines: list[dict]) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for line in lines:
        found.setdefault(line["library"], []).append(line)
    return found


def totals(lines: list[dict]) -> str:
    """Return a Markdown table of the numbers of batches by library and verdict."""
    table = [
        "| library | right | refused | WRONG | of these by shape | crash "
        "| models without a wrong batch | a call, in passes (median) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for library, mine in of_libraries(lines).items():
        count = Counter(v for line in mine for v in line["verdicts"])
        models = {line["model"] for line in mine if worst(line["verdicts"]) != NO_TWIN}
        wrong = {line["model"] for line in mine if WRONG in line["verdicts"]}
        shapes = sum(e == "shape" for line in mine for e in line.get("errors", {}).values())
        counts = [count[RIGHT], count[REFUSED], count[WRONG], shapes, count[CRASH]]
        numbers = " | ".join(str(n) for n in counts)
        passes = statistics.median([line["passes"] for line in mine if "passes" in line] or [0])
        clean = f"{len(models - wrong)} of {len(models)}"
        table.append(f"| {library} | {numbers} | {clean} | {passes:.1f} |")
    return "\n".join(table)


def matrix(lines: list[dict]) -> str:
    """Return a Markdown table, models by libraries: the worst verdict over losses and batches."""
    libraries = list(of_libraries(lines))
    cells: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        row = cells.setdefault(line["model"], {name: [] for name in libraries})
        row[line["library"]] += line["verdicts"]
    table = ["| model | " + " | ".join(libraries) + " |", "|---" * (len(libraries) + 1) + "|"]
    for model, row in cells.items():
        found = " | ".join(SYMBOLS[worst(row[name])] for name in libraries)
        table.append(f"| {model} | {found} |")
    return "\n".join(table)


def largest(line: dict) -> str:
    """Return the largest error of a line as text."""
    found = list(line["errors"].values())
    numbers = [e for e in found if not isinstance(e, str)]
    words = sorted({f"other {e}" if e == "shape" else e for e in found if isinstance(e, str)})
    return ", ".join([*words, *([f"error {max(numbers):.2g}"] if numbers else [])])


def entries(lines: list[dict], verdict: str) -> str:
    """Return a Markdown list of the lines that have this verdict."""
    found = []
    for line in lines:
        places = [n for n, v in enumerate(line["verdicts"]) if v == verdict]
        if not places:
            continue
        if verdict == WRONG:
            said = f"{largest(line)} in {', '.join(line['wrong'])}"
        else:
            said = line["messages"][verdict]
        found.append(f"- {line['model']}, {line['loss']}, {batches(line, places)}: {said}")
    return "\n".join(found) or "None."


def batches(line: dict, places: list[int]) -> str:
    """Return the numbers and sizes of the batches at these places, as text."""
    if len(places) == len(line["sizes"]):
        return "all batches"
    named = ", ".join(f"{n + 1} (B = {line['sizes'][n]})" for n in places)
    return f"batch {named}" if len(places) == 1 else f"batches {named}"


def by_model(lines: list[dict], verdict: str) -> str:
    """Return a Markdown list of the models that have this verdict, each with its first message."""
    first: dict[str, str] = {}
    for line in lines:
        if verdict in line["verdicts"]:
            first.setdefault(line["model"], line["messages"][verdict][:SHORT])
    return "\n".join(f"- {model}: {said}" for model, said in first.items()) or "None."


def lists(lines: list[dict]) -> str:
    """Return sections by library: wrong lines, then crashes and refusals, mostly by model."""
    parts = []
    for library, mine in sorted(of_libraries(lines).items(), key=lambda p: p[0] != "persample"):
        parts.append(f"## {library}: wrong\n\n{entries(mine, WRONG)}")
        if any(CRASH in line["verdicts"] for line in mine):
            parts.append(f"### {library}: crashes\n\n{by_model(mine, CRASH)}")
        if library == "persample":
            parts.append(f"### {library}: refused\n\n{entries(mine, REFUSED)}")
        elif any(REFUSED in line["verdicts"] for line in mine):
            parts.append(f"### {library}: refused\n\n{by_model(mine, REFUSED)}")
    return "\n\n".join(parts)


def header(libraries: list, seconds: float) -> dict:
    names = sorted({adapter.DISTRIBUTION for adapter in libraries} | {"torch", "numpy"})
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "seconds": round(seconds),
        "versions": {name: importlib.metadata.version(name) for name in names},
    }


def save(lines: list[dict], libraries: list, seconds: float) -> None:
    """Write results.json and RESULTS.md."""
    head = header(libraries, seconds)
    kept = [line for line in lines if line["verdicts"] != [NO_TWIN]]
    body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in kept)
    text = f'{{"header":{json.dumps(head)},\n"lines":[\n{body}\n]}}\n'
    (HERE / "results.json").write_text(text)
    versions = ", ".join(f"{name} {version}" for name, version in head["versions"].items())
    intro = (
        "# Results\n\n"
        f"{head['date']}, {head['machine']}, Python {head['python']}, {versions}. "
        f"One thread, {head['seconds']} s. Written by `make conformance SAVE=yes`; "
        "`README.md` says what is tested and what the verdicts mean. Batches are counted. "
        "A library may document as a limit what is wrong here; `reports/README.md` says where "
        "it does.\n"
    )
    rest = "A cell is the worst verdict over the model's losses and batches; a dot: no twin."
    parts = (
        intro,
        totals(lines),
        lists(lines),
        f"## Models by libraries\n\n{rest}",
        matrix(lines),
    )
    (HERE / "RESULTS.md").write_text("\n\n".join(p.strip() for p in parts) + "\n")
