"""Print the tables of the book's page on libraries as Markdown: ``python -m conformance.tables``.

They are made of results.json, variants.json, families.json, catch.json and the measurement
benchmarks/results/libraries.json. Symbols stand in spans whose class gives their colour. The
kinds that families.json leaves out, since a definition decides what is right, are in no table.
"""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

from conformance.models import cases

HERE = Path(__file__).parent
TIMES = HERE.parent / "benchmarks" / "results" / "libraries.json"
COLUMNS = {
    "torch.func": "torch.func",
    "JAX": "JAX",
    "Opacus, hooks": "Opacus hooks",
    "Opacus, functorch": "Opacus functorch",
    "Opacus, ghost": "Opacus ghost",
    "BackPACK": "BackPACK",
    "persample": "persample*",
}
NORMS = ("Opacus, ghost", "BackPACK", "persample")  # who answers with norms, not only with rows
SYMBOLS = {"right": "●", "part": "◐", "raised": "○", "failed": "△", "limit": "◇", "wrong": "✖"}
COUNTED = ("limit", "wrong")  # their cells say how many batches differ, of how many tried
WHOLE = "†"  # torch.func was asked for jacrev, at least in part
SINGLE = "‡"  # right in float32, but not in all of float64
TOLERANCE = 1e-4  # of outputs after a layer was replaced
MODELS = {"MLP": "784-256-10, B = 256", "CNN": "CNN, B = 64", "GPT": "GPT, B = 16, T = 64"}
TIMED = {
    "torch.func": ["torch.func vmap(grad)"],
    "Opacus hooks": ["Opacus hooks, .grad too"],
    "Opacus ghost": ["Opacus ghost clipping", "Opacus ghost norms"],
    "BackPACK": [
        "BackPACK BatchL2Grad",
        "BackPACK BatchL2Grad, then weights",
        "BackPACK BatchGrad",
    ],
    "persample*": ["persample, .grad too", "persample, fresh"],
}


def read(name: str) -> dict:
    return json.loads((HERE / name).read_text())


def kind_of(line: dict, families: dict[str, str]) -> str:
    """Return the last kind whose pattern matches the model and its loss."""
    text = f"{line['model']} / {line['loss']}"
    return [kind for kind, pattern in families.items() if re.search(pattern, text)][-1]


def lines() -> list[dict]:
    """Return the lines that the page counts: those of the suite, and of Opacus with functorch."""
    kinds = read("families.json")
    functorch = [x for x in read("variants.json")["lines"] if x["library"] == "Opacus, functorch"]
    each = read("results.json")["lines"] + functorch
    return [x for x in each if kind_of(x, kinds["families"]) not in kinds["left out"]]


def mixing() -> set[tuple[str, str]]:
    """Return {(model, loss)} where samples mix, so that torch.func is tested by jacrev."""
    return {(c.name, x.name) for c in cases() for x in c.losses if c.mixing or x.mixing}


def with_replaced() -> list[dict]:
    """Return the lines of models whose replaced layers keep the outputs, within `TOLERANCE`."""
    variants = read("variants.json")
    differ = variants["header"]["outputs differ by"]
    own = [x for x in variants["lines"] if x["library"] != "Opacus, functorch"]
    return [line for line in own if differ[line["model"]] < TOLERANCE]


def found() -> dict[tuple[str, str], Counter]:
    """Return {(kind of model or row of the matrix, library): Counter of verdicts over batches}.

    Recurrent layers count in both precisions.
    """
    kinds = read("families.json")
    counts: dict[tuple[str, str], Counter] = defaultdict(Counter)
    for line in [*lines(), *read("variants.json")["float32"]]:
        kind, library = kind_of(line, kinds["families"]), line["library"]
        norms = kinds["norms"].get(kind)
        if norms and library in NORMS:
            counts[norms, library].update(line["verdicts"])
        only_norms = norms and line.get("wrong") == ["squared_norms"]
        right = ["right" if v == "wrong" and only_norms else v for v in line["verdicts"]]
        counts[kind, library].update(right)
    for line in with_replaced():
        kind = kind_of(line, kinds["families"])
        counts[kinds["replaced"][kind], line["library"]].update(line["verdicts"])
    return counts


def rows() -> list[str]:
    """Return the rows of the matrix: each kind of model, its norms, its replaced layers."""
    kinds = read("families.json")
    norms, replaced = kinds["norms"], kinds["replaced"]
    shown = [kind for kind in kinds["families"] if kind not in kinds["left out"]]
    each = [(kind, norms.get(kind), replaced.get(kind)) for kind in shown]
    return [row for group in each for row in group if row]


def mark(kind: str, library: str, verdicts: Counter) -> str:
    """Return the CSS class of a cell of the matrix, "" if nothing was tried."""
    if "wrong" in verdicts:
        limits = read("families.json")["known"].get(library.split(",")[0], [])
        return "limit" if kind in limits else "wrong"
    if "right" not in verdicts:
        fails = verdicts["crash"] > verdicts["refused"]
        return ("failed" if fails else "raised") if verdicts else ""
    return "right" if set(verdicts) == {"right"} else "part"


def marks() -> dict[tuple[str, str], str]:
    """Return {(row, library): CSS class} of the matrix."""
    counts = found()
    return {(k, name): mark(k, name, counts[k, name]) for k in rows() for name in COLUMNS}


def table(head: list[str], body: list[list[str]], align: str) -> str:
    lines = [head, [align[0], *[align[1]] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def matrix() -> str:
    counts, cells, kinds = found(), marks(), read("families.json")
    families, single = kinds["families"], kinds["float32"]
    whole = {kind_of({"model": m, "loss": loss}, families) for m, loss in mixing()}

    def cell(kind: str, name: str) -> str:
        mark, here = cells[kind, name], counts[kind, name]
        if not mark:
            return ""
        text = SYMBOLS[mark]
        if mark in COUNTED:
            text += f" {here['wrong']}/{sum(here.values())}"
        text += WHOLE * (name == "torch.func" and kind in whole)
        return text + SINGLE * (kind in single.get(name, []))

    body = [[kind, *[cell(kind, name) for name in COLUMNS]] for kind in rows()]
    return table(["Kind of model", *COLUMNS.values()], body, ("---", ":-:"))


def mark_of(line: dict) -> str:
    """Return how the matrix marks the line's wrong batches: "limit" or "wrong"."""
    kinds = read("families.json")
    kind, library = kind_of(line, kinds["families"]), line["library"]
    if line.get("wrong") == ["squared_norms"]:
        kind = kinds["norms"].get(kind, kind)
    return "limit" if kind in kinds["known"].get(library.split(",")[0], []) else "wrong"


def batches() -> str:
    """Return a table of the number of batches by library and verdict; each model counts once.

    In brackets: how many more there are in the rows with replaced layers.
    """
    total: dict[str, Counter] = defaultdict(Counter)
    added: dict[str, Counter] = defaultdict(Counter)
    whole = mixing()
    for line in lines():
        name = COLUMNS[line["library"]]
        if name == "torch.func":
            mixes = (line["model"], line["loss"]) in whole
            name = f"{name}: jacrev{WHOLE}" if mixes else f"{name}: vmap(grad)"
        shown = {"wrong": mark_of(line)}
        total[name].update(shown.get(verdict, verdict) for verdict in line["verdicts"])
    for line in with_replaced():
        name = COLUMNS[line["library"]]
        added["torch.func: vmap(grad)" if name == "torch.func" else name].update(line["verdicts"])
    names = ("right", "refused", "crash", "limit", "wrong")
    order = sorted(total, key=lambda name: list(COLUMNS.values()).index(name.partition(":")[0]))

    def cell(library: str, name: str) -> str:
        more = added[library][name]
        return f"{total[library][name]:,}" + f" (+{more})" * bool(more)

    body = [[k, *[cell(k, name) for name in names]] for k in order]
    return table(["Batches", "right", "refused", "failed", "◇", "✖"], body, ("---", "--:"))


def caught() -> str:
    """Return a table of the number of wrong batches that each check caught, by library."""
    marked: dict[str, Counter] = defaultdict(Counter)
    for line in lines():
        marked[line["library"]][mark_of(line)] += line["verdicts"].count("wrong")
    body = []
    for library, checked in read("catch.json")["libraries"].items():
        wrong = checked["wrong"]
        if wrong["batches"]:
            both = [marked[library][name] for name in COUNTED]
            counts = [*both, *[wrong[name] for name in ("weighting", "sum", "permuted")]]
            body.append([COLUMNS[library], *map(str, counts)])
    head = ["Batches that differ", "◇", "✖", "random weights", "weights 1", "permuted"]
    return table(head, body, ("---", "--:"))


def costs() -> str:
    """Return a table of the times of whole steps, in ordinary passes."""
    cases, body = json.loads(TIMES.read_text())["cases"], []
    for model, case in MODELS.items():
        for what, measured in cases[case].items():
            times = [
                next(
                    (
                        f"{t['passes']:.1f}"
                        for n in names
                        if isinstance(t := measured.get(n), dict)
                    ),
                    "",
                )
                for names in TIMED.values()
            ]
            body.append([f"{model}: {what}", *times])
    return table(["In ordinary passes", *TIMED], body, ("---", "--:"))


if __name__ == "__main__":
    print(matrix(), batches(), costs(), caught(), sep="\n\n")
