"""Set-up for a chapter's first cell: double precision, figure style, figure fingerprints.

Separate because all of it changes global state, which nothing else in the package does, and
because only notebooks need it. Importing the module changes nothing; `setup()` does.
"""

import hashlib
import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from persample.arrays import to_numpy

# Okabe and Ito's palette (2008): told apart with every kind of colour vision. Its yellow comes
# last because it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")

# Line styles run along with the colours, so that a figure still reads in grey.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))

FIGURE_STYLE = {
    # No ground of its own: the page's shows through. On a dark page the style sheet turns light
    # and dark round and keeps the hues.
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.figsize": (5.8, 3.4),
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "text.color": "#22262b",
    "axes.labelcolor": "#22262b",
    "axes.edgecolor": "#5a6470",
    "xtick.color": "#3a424b",
    "ytick.color": "#3a424b",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#88888844",
    "lines.linewidth": 2.0,
    "image.cmap": "cividis",
}


def setup(frameworks: Iterable[str] = ("torch", "jax")) -> None:
    """Prepare a notebook: float64 everywhere, rounded printing, figures in the book's style.

    Parameters
    ----------
    frameworks : names among "torch" and "jax" to prepare. One that is not installed is
        passed over, so that a chapter's NumPy part runs without either.

    Raises
    ------
    ValueError
        "setup: 'tf' is no framework of this book; name some of 'torch', 'jax'"
    """
    for name in frameworks:
        if name not in _PREPARE:
            known = ", ".join(map(repr, _PREPARE))
            raise ValueError(f"setup: {name!r} is no framework of this book; name some of {known}")
        if importlib.util.find_spec(name) is not None:
            _PREPARE[name]()
    warnings.formatwarning = _short_warning
    # Six digits: what a reader compares, and short of where the order of additions shows.
    np.set_printoptions(precision=6, suppress=True, linewidth=88)
    if importlib.util.find_spec("matplotlib") is not None:
        prepare_figures()


def _prepare_torch() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    # The arrays of this book are small: one thread is as fast, and adds in one fixed order.
    torch.set_num_threads(1)
    torch.set_printoptions(precision=6, sci_mode=False, linewidth=88)


def _prepare_jax() -> None:
    # Before the import: JAX would otherwise look for an accelerator, and warn of what it lacks.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)


_PREPARE = {"torch": _prepare_torch, "jax": _prepare_jax}


def _short_warning(message, category, filename, lineno, line=None) -> str:
    """Format a warning without the file it came from, which is another one on every machine."""
    text = re.sub(r" ?\(Triggered internally at [^)]*\)", "", str(message))
    return f"{category.__name__}: {text}\n"


def prepare_figures() -> None:
    """Draw in the book's style from here on, and show each figure's fingerprint to the tests."""
    import matplotlib.pyplot as plt
    from cycler import cycler
    from matplotlib.figure import Figure

    plt.rcParams.update(FIGURE_STYLE)
    plt.rcParams["axes.prop_cycle"] = cycler(color=COLOURS, linestyle=DASHES)
    _prepare_display()
    # An attribute, as a formatter registered by type is lost when the inline backend starts.
    Figure._repr_pretty_ = lambda figure, printer, cycle: printer.text(fingerprint(figure))


def _prepare_display() -> None:
    """Let a notebook store its figures with two pixels a point of the page, in small files."""
    if "IPython" not in sys.modules or sys.modules["IPython"].get_ipython() is None:
        return
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("retina", pil_kwargs={"optimize": True})


def same(actual: Any, wanted: Any, atol: float = 1e-9) -> bool:
    """Return whether two arrays, of any backends, have one shape and differ by ``atol`` at most.

    Example
    -------
    >>> same(np.array([1.0, 2.0]), [1.0, 2.0 + 1e-12]), same(np.ones((1, 2)), np.ones(2))
    (True, False)
    """
    actual, wanted = (np.asarray(to_numpy(x)) for x in (actual, wanted))
    return actual.shape == wanted.shape and np.allclose(actual, wanted, rtol=0, atol=atol)


def fingerprint(figure: Any) -> str:
    """Describe a figure in text: its titles, labels, and a digest of what it plots.

    A notebook stores this beside the picture, where the tests compare it, so that a figure
    whose data changed is found even where its pixels hardly differ.

    Parameters
    ----------
    figure : matplotlib.figure.Figure

    Returns
    -------
    str
        One line for the figure, one for each axes, one for each thing drawn in it.

    Example
    -------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> _ = axes.plot([0, 1], [2, 3], label="rows")
    >>> _ = axes.set(title="Norms", xlabel="sample", ylabel="norm")
    >>> print(fingerprint(axes.figure))
    Figure with 1 axes, 640 px wide, text from 13.9 px
      axes 'Norms', x 'sample' (linear), y 'norm' (linear)
        Line2D 'rows': 2 x 2, digest ...
    """
    width, smallest = figure.get_figwidth() * figure.dpi, _smallest_text(figure)
    lines = [
        f"Figure with {len(figure.axes)} axes, {width:.0f} px wide, text from {smallest:.1f} px"
    ]
    if figure.get_suptitle():
        lines.append(f"  title {figure.get_suptitle()!r}")
    for axes in figure.axes:
        lines.append(
            f"  axes {axes.get_title()!r}, x {axes.get_xlabel()!r} ({axes.get_xscale()}),"
            f" y {axes.get_ylabel()!r} ({axes.get_yscale()})"
        )
        for artist in [*axes.lines, *axes.collections, *axes.patches, *axes.images]:
            data = _plotted(artist)
            label = "" if artist.get_label().startswith("_") else f" {artist.get_label()!r}"
            shape = " x ".join(map(str, data.shape))
            lines.append(f"    {type(artist).__name__}{label}: {shape}, digest {_digest(data)}")
        lines += [f"    Text {text.get_text()!r}" for text in axes.texts if text.get_text()]
    return "\n".join(lines)


def _smallest_text(figure: Any) -> float:
    """Return the size of the smallest text in pixels; the rules of notebooks ask for it."""
    from matplotlib.text import Text

    figure.canvas.draw()  # or the ticks have no labels yet
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    return min((t.get_fontsize() for t in texts), default=0.0) * figure.dpi / 72


def _plotted(artist: Any) -> np.ndarray:
    """Return the numbers an artist draws, in data coordinates where it has any."""
    if hasattr(artist, "get_xydata"):  # a line
        return np.asarray(artist.get_xydata())
    if hasattr(artist, "get_patch_transform"):  # a bar, a polygon, an arrow
        return artist.get_patch_transform().transform(artist.get_path().vertices)
    if hasattr(artist, "get_offsets"):  # scattered points, filled areas, many lines at once
        parts = [np.ravel(path.vertices) for path in artist.get_paths()]
        parts.append(np.ravel(np.ma.filled(artist.get_offsets(), np.nan)))
        if artist.get_array() is not None:
            parts.append(np.ravel(artist.get_array()))
        return np.concatenate(parts)
    return np.asarray(artist.get_array())  # an image


def _digest(data: np.ndarray) -> str:
    """Hash numbers to five decimals of the decade of the largest, in x and in y.

    The same on every machine: the shift keeps the values people plot (halves, tenths, powers of
    two) away from the edges of the rounding, where the last bit of a sum would decide.
    """
    data = np.asarray(data, dtype=float)
    axis = 0 if data.ndim == 2 and data.shape[1] == 2 else None  # x and y, each by its own
    largest = np.max(np.abs(data), axis=axis, initial=0.0, where=np.isfinite(data))
    decade = np.ceil(np.log10(np.where(largest == 0, 1.0, largest)) - 1e-9)
    scaled = np.nan_to_num(data / 10.0**decade, nan=2.0, posinf=3.0, neginf=-3.0)
    steps = np.append(np.floor(scaled * 1e5 + 0.3819660113), decade)
    return hashlib.sha256(steps.astype(np.int64).tobytes()).hexdigest()[:8]
