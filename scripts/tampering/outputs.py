"""Every way in which the stored outputs of a notebook are altered, one at a time."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_output

from . import pictures

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?", re.IGNORECASE)
DIGITS = re.compile(r"\d+")
PICTURES = ("image/png", "image/jpeg")


@dataclass
class Alteration:
    """A notebook with one thing changed: how the code cells that differ now look."""

    kind: str
    what: str
    cells: dict[int, NotebookNode]  # by the number of the code cell
    before: str = ""  # the text that changed, if it was one, for the sanitiser
    after: str = ""


def alterations(cells: list[NotebookNode]) -> Iterator[Alteration]:
    """Yield every alteration of a notebook's code cells that leaves it a valid notebook."""
    for number, cell in enumerate(cells):
        yield from _of_texts(number, cell)
        yield from _of_pictures(number, cell)
        yield from _of_outputs(number, cell)
    yield from _figures_exchanged(cells)
    stripped = {n: _changed(c, outputs=[], execution_count=None) for n, c in enumerate(cells)}
    yield Alteration("all outputs stripped", "the whole notebook", stripped)


def _changed(cell: NotebookNode, **fields) -> NotebookNode:
    copy = deepcopy(cell)
    copy.update(fields)
    return copy


def _texts(output: NotebookNode) -> Iterator[tuple[str, str, Callable]]:
    """Yield each compared text of an output: its name, itself, and how to put another there."""
    if output.output_type == "stream":
        yield output.name, output.text, lambda out, text: out.update(text=text)
    elif output.output_type == "error":
        for key in ("ename", "evalue"):
            yield key, output[key], lambda out, text, key=key: out.update({key: text})
    for form, text in output.get("data", {}).items():
        if isinstance(text, str) and form not in PICTURES:
            figure = form == "text/plain" and any(p in output.data for p in PICTURES)
            name = "fingerprint" if figure else form
            yield name, text, lambda out, text, form=form: out.data.update({form: text})


def _of_texts(number: int, cell: NotebookNode) -> Iterator[Alteration]:
    for place, output in enumerate(cell.outputs):
        for name, text, put in _texts(output):
            for kind, what, spoiled in spoiled_texts(text):
                copy = deepcopy(cell)
                put(copy.outputs[place], spoiled)
                kind_of = f"{name}: {kind}" if name in ("fingerprint", "stderr") else kind
                yield Alteration(kind_of, f"{name}: {what}", {number: copy}, text, spoiled)


def spoiled_texts(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, description and result of every change of one text."""
    for match in DIGITS.finditer(text):
        # The first digit of one number, the last of the next: both ends are tried on all.
        for at in sorted({match.start(), match.end() - 1}):
            digit = str((int(text[at]) + 1) % 10)
            spoiled = text[:at] + digit + text[at + 1 :]
            yield "a digit changed", f"{match[0]!r} at character {at}", spoiled
    for match in NUMBER.finditer(text):
        number = match[0]
        opposite = number[1:] if number[0] == "-" else "-" + number.lstrip("+")
        spoiled = text[: match.start()] + opposite + text[match.end() :]
        yield "a sign flipped", f"{number!r} to {opposite!r}", spoiled
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        shown = repr(line.strip()[:50])
        yield "a line removed", shown, "".join(lines[:at] + lines[at + 1 :])
        doubled = line if line.endswith("\n") else "\n" + line
        yield "a line doubled", shown, "".join(lines[: at + 1] + [doubled] + lines[at + 1 :])
    yield "a text emptied", repr(text[:50]), ""
    if letter := re.search(r"[^\W\d]", text):
        at = letter.start()
        yield "a letter changed", repr(text[:50]), text[:at] + text[at].swapcase() + text[at + 1 :]


def _of_pictures(number: int, cell: NotebookNode) -> Iterator[Alteration]:
    for place, output in enumerate(cell.outputs):
        if "image/png" not in output.get("data", {}):
            continue
        drawn = np.asarray(pictures.decode(output.data["image/png"]))
        for spoil in pictures.KINDS:
            copy = deepcopy(cell)
            copy.outputs[place].data["image/png"] = pictures.encode(spoil(drawn))
            kind = f"figure: {spoil.__name__.replace('_', ' ')}"
            yield Alteration(kind, f"output {place}", {number: copy})
        copy = deepcopy(cell)
        del copy.outputs[place].data["image/png"]
        yield Alteration("figure: picture removed", f"output {place}", {number: copy})


def _of_outputs(number: int, cell: NotebookNode) -> Iterator[Alteration]:
    """Yield what can be done to outputs as wholes, and to the record that the cell ran."""
    never = _changed(cell, execution_count=None)
    yield Alteration("a cell marked never run", "its outputs stay", {number: never})
    if not cell.outputs:
        told = _changed(cell, outputs=[new_output("stream", name="stdout", text="1\n")])
        yield Alteration("an output added to a silent cell", "1 printed", {number: told})
        return
    emptied = _changed(cell, outputs=[])
    yield Alteration(
        "all outputs of a cell removed", f"{len(cell.outputs)} outputs", {number: emptied}
    )
    for place, output in enumerate(cell.outputs):
        kind = output.output_type
        if len(cell.outputs) > 1:
            copy = deepcopy(cell)
            del copy.outputs[place]
            yield Alteration("one output removed", f"{kind} {place}", {number: copy})
        copy = deepcopy(cell)
        copy.outputs.insert(place, deepcopy(output))
        yield Alteration("an output doubled", f"{kind} {place}", {number: copy})
        copy = deepcopy(cell)
        if kind == "stream":
            copy.outputs[place].name = "stderr" if output.name == "stdout" else "stdout"
            yield Alteration("a stream renamed", output.name, {number: copy})
        elif "metadata" in output:
            copy.outputs[place].metadata["width"] = 100
            yield Alteration("an output's metadata changed", f"{kind} {place}", {number: copy})
        if place and output != cell.outputs[place - 1]:
            copy = deepcopy(cell)
            outs = copy.outputs
            outs[place - 1], outs[place] = outs[place], outs[place - 1]
            yield Alteration("two outputs exchanged", f"{place - 1} and {place}", {number: copy})


def _figures_exchanged(cells: list[NotebookNode]) -> Iterator[Alteration]:
    """Exchange the picture of each figure with that of the next; their texts stay."""
    drawn = [
        (number, place)
        for number, cell in enumerate(cells)
        for place, output in enumerate(cell.outputs)
        if "image/png" in output.get("data", {})
    ]
    for (n, a), (m, b) in zip(drawn, drawn[1:], strict=False):
        copies = {n: deepcopy(cells[n])}
        copies[m] = copies[n] if m == n else deepcopy(cells[m])
        one, other = copies[n].outputs[a].data, copies[m].outputs[b].data
        one["image/png"], other["image/png"] = other["image/png"], one["image/png"]
        yield Alteration("figure: two exchanged", f"code cells {n} and {m}", copies)
