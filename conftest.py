"""Two guards that nbval lacks: pictures are compared, and a cell never executed is refused.

nbval skips both in silence. This reaches into nbval 0.11, so its version is pinned, and
tests/test_guards.py proves on spoiled notebooks that each guard still bites.
"""

import base64
import io

import numpy as np
from nbval.plugin import IPyNbCell
from PIL import Image

# Root mean square over all pixels and channels, of 255. The same versions of the libraries give
# 0; another font renderer stays below 2; one line of a plot that moved gives 4 and more.
PICTURE_TOLERANCE = 2.0

_compare_outputs = IPyNbCell.compare_outputs
_runtest = IPyNbCell.runtest


def pictures(outputs):
    """Return the PNGs among a cell's outputs, in order."""
    return [out["data"]["image/png"] for out in outputs if "image/png" in out.get("data", {})]


def distance(stored, fresh):
    """Return the root mean square difference of two PNGs; infinite if their sizes differ."""
    a, b = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"), dtype=float)
        for png in (stored, fresh)
    )
    return np.sqrt(np.mean((a - b) ** 2)) if a.shape == b.shape else np.inf


def compare_outputs(self, test, ref, skip_compare=None):
    if not _compare_outputs(self, test, ref, skip_compare):
        return False
    stored, fresh = pictures(ref), pictures(test)
    if len(stored) != len(fresh):
        self.comparison_traceback.append(
            f"the notebook stores {len(stored)} pictures, the cell draws {len(fresh)}"
        )
        return False
    for number, (old, new) in enumerate(zip(stored, fresh, strict=True), start=1):
        if (rms := distance(old, new)) > PICTURE_TOLERANCE:
            self.comparison_traceback.append(
                f"picture {number} is not the one the cell draws: RMS difference {rms:.1f} of"
                f" 255, at most {PICTURE_TOLERANCE} allowed; run make notebooks and look at it"
            )
            return False
    return True


def runtest(self):
    if self.cell.execution_count is None and not self.options["skip"]:
        self.raise_cell_error("This cell was never executed: run make notebooks")
    _runtest(self)


IPyNbCell.compare_outputs = compare_outputs
IPyNbCell.runtest = runtest
