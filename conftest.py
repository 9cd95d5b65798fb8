"""How nbval compares a notebook, and checks that it lacks.

nbval ignores pictures, the order and kind of outputs, and cells that were never executed. This
file uses internals of nbval 0.11, so its version is pinned; the tests show that each check fails.
"""

import base64
import io
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from nbval.plugin import IPyNbCell, IPyNbFile
from PIL import Image

# What may differ between two runs of the same notebook: addresses in memory, and the file that a
# kernel makes up for a cell. Numbers are compared as they stand, so print them rounded.
HIDDEN = {
    r"0x[0-9a-fA-F]{6,}": "ADDRESS",
    r"\S*ipykernel_\d+[/\\]\d+\.py:\d+": "CELL",
}
# What a newer PyTorch, or one built for CUDA where no GPU is, says of itself on stderr.
OF_TORCH = re.compile(
    r"(\S*[/\\]torch[/\\]\S+\.py:\d+: FutureWarning: .*\n(  .*\n?)?"
    r"|W\d{4} .* torch/\S+\.py:\d+\] .*No CUDA runtime is found.*\n?)+"
)
# MindSpore is not of the book's environment; `make frameworks` runs this one.
collect_ignore = ["chapters/files/td0_in_mindspore.ipynb"]
STARTUP = Path(__file__).parent / "scripts/kernel_startup.py"  # what its kernels run first
CELL_SECONDS = 120  # in place of nbval's own limit, 2000

# Root mean square differences of 255: over the whole picture, and over the worst square of
# BLOCK x BLOCK pixels, where a changed label or a moved line shows. The pinned versions give 0,
# as matplotlib brings its own fonts and font renderer; a rounding difference changes the grey of
# an edge by a few steps. A line moved by three pixels gives 19 or more in its worst square.
PICTURE_TOLERANCE = 2.0
BLOCK_TOLERANCE = 8.0
BLOCK = 16
PICTURES = ("image/png", "image/jpeg")  # what nbval leaves out
# Of a drawing, words and styles must be equal, and places as near as this, in points: machines
# round the last digits differently.
DRAWING = "image/svg+xml"
DRAWING_TOLERANCE = 0.1
NUMBER = re.compile(r"(?<![\w#.])-?\d+(?:\.\d+)?")
EMBEDDED = re.compile(r'data:image/png;base64,([^"]*)')

_compare_outputs = IPyNbCell.compare_outputs
_runtest = IPyNbCell.runtest
_setup_sanitize_files = IPyNbFile.setup_sanitize_files


def pytest_configure(config):
    """Set the options and environment of every run, so that `pytest --nbval` needs no others.

    One thread for each worker and kernel: on two cores, two workers of two threads each wait for
    one another, and some tests take ten times as long. The kernel is that of the Python that runs
    pytest, whatever others are installed.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("PYTHONSTARTUP", str(STARTUP))
    if getattr(config.option, "nbval", False):
        config.option.nbval_current_env = True
        if config.option.nbval_cell_timeout == 2000:
            config.option.nbval_cell_timeout = CELL_SECONDS


def setup_sanitize_files(self):
    _setup_sanitize_files(self)
    self.sanitize_patterns.update(HIDDEN)
    self.skip_compare += (DRAWING,)  # compared below, as text it would have to be the same


def kind(output):
    """Return the parts of an output that nbval ignores: type, stream, MIME types, metadata."""
    return (
        output["output_type"],
        output.get("name", ""),
        sorted(output.get("data", {})),
        dict(output.get("metadata", {})),
    )


def pictures(outputs):
    """Return the pictures in a cell's outputs and in their drawings, in order, as base64."""
    found = []
    for data in (out["data"] for out in outputs if "data" in out):
        found += [data[form] for form in PICTURES if form in data]
        found += EMBEDDED.findall(data.get(DRAWING, ""))
    return found


def drawings(outputs):
    """Return the drawings among a cell's outputs, in order."""
    return [out["data"][DRAWING] for out in outputs if DRAWING in out.get("data", {})]


def parts(drawing):
    """Return a drawing's tags, texts and attributes without numbers, and their numbers."""
    words, places = [], []
    for element in ElementTree.fromstring(EMBEDDED.sub("", drawing)).iter():
        words += [element.tag, (element.text or "").strip()]
        for name, value in element.items():
            found = [] if name == "style" else NUMBER.findall(value)
            words += [name, NUMBER.sub("", value) if found else value]
            places += map(float, found)
    return words, np.array(places)


def difference(stored, fresh):
    """Return a description of the difference of two drawings, "" if they agree."""
    (words, places), (other_words, other_places) = parts(stored), parts(fresh)
    if words != other_words:
        pairs = zip(words + ["nothing"], other_words + ["nothing"], strict=False)
        old, new = next((old, new) for old, new in pairs if old != new)
        return f"it has {old!r} where the cell draws {new!r}"
    most = np.abs(places - other_places).max(initial=0)
    if most > DRAWING_TOLERANCE:
        return f"something lies {most:.2f} points elsewhere, at most {DRAWING_TOLERANCE} allowed"
    return ""


def pixels(picture):
    """Return premultiplied colours, (height, width, 3), and alpha, (..., 1), from 0 to 255."""
    decoded = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA")
    values = np.asarray(decoded, np.float32)
    return values[..., :3] * (values[..., 3:] / 255), values[..., 3:]


def worst_block(squares):
    """Return the largest mean over a BLOCK x BLOCK square, or over all of a smaller picture."""
    rows, columns = (min(BLOCK, size) for size in squares.shape)
    sums = np.pad(squares, ((1, 0), (1, 0))).cumsum(0, dtype=float).cumsum(1)
    strips = sums[rows:] - sums[:-rows]
    return (strips[:, columns:] - strips[:, :-columns]).max() / (rows * columns)


def distances(stored, fresh):
    """Return the RMS difference of two pictures, of 255: overall, and in the worst square.

    Both are infinite if the sizes differ. They are the larger of those over white and over black,
    so that a change of transparency counts too.
    """
    if stored == fresh:
        return 0.0, 0.0
    (colours, opacity), (other_colours, other_opacity) = pixels(stored), pixels(fresh)
    if colours.shape != other_colours.shape:
        return np.inf, np.inf
    over_black = colours - other_colours
    over_white = over_black + other_opacity - opacity  # white shines through
    squares = [(difference**2).mean(-1) for difference in (over_black, over_white)]
    overall = max(square.mean() for square in squares)
    worst = max(worst_block(square) for square in squares)
    return np.sqrt(overall), np.sqrt(max(worst, 0.0))


def is_of_torch(output):
    """Return whether an output is a FutureWarning or a CUDA warning of PyTorch on stderr."""
    return output.get("name") == "stderr" and OF_TORCH.fullmatch(output["text"])


def compare_outputs(self, test, ref, skip_compare=None):
    test = [out for out in test if not is_of_torch(out)]
    if not _compare_outputs(self, test, ref, skip_compare):
        return False
    if (stored := [kind(out) for out in ref]) != (fresh := [kind(out) for out in test]):
        self.comparison_traceback.append(
            f"the notebook stores outputs of the kinds {stored}, the cell gives {fresh}"
        )
        return False
    pairs = zip(drawings(ref), drawings(test), strict=True)  # as many, or the kinds differ
    for number, (old, new) in enumerate(pairs, start=1):
        if said := difference(old, new):
            self.comparison_traceback.append(
                f"drawing {number} is not the one the cell draws: {said}; run make notebooks and"
                " look at it"
            )
            return False
    pairs = zip(pictures(ref), pictures(test), strict=True)  # as many, or the words differ
    for number, (old, new) in enumerate(pairs, start=1):
        overall, worst = distances(old, new)
        if overall > PICTURE_TOLERANCE or worst > BLOCK_TOLERANCE:
            self.comparison_traceback.append(
                f"picture {number} is not the one the cell draws: RMS difference {overall:.1f}"
                f" of 255, at most {PICTURE_TOLERANCE} allowed; {worst:.1f} in its worst square"
                f" of {BLOCK} pixels, at most {BLOCK_TOLERANCE} allowed; run make notebooks and"
                " look at it"
            )
            return False
    return True


def runtest(self):
    if self.cell.execution_count is None and not self.options["skip"]:
        self.raise_cell_error("This cell was never executed: run make notebooks")
    _runtest(self)


IPyNbCell.compare_outputs = compare_outputs
IPyNbCell.runtest = runtest
IPyNbFile.setup_sanitize_files = setup_sanitize_files
