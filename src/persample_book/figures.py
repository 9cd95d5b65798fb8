"""Add to each figure of a notebook an SVG drawing and a text that describes its data.

`scripts/kernel_startup.py` runs this file in kernels that execute or test notebooks; no notebook
imports it. It does not import the package, which a notebook may import from another place.
"""

import hashlib
import re
from typing import Any

import numpy as np


def prepare(shell: Any) -> None:
    """Make IPython's ``shell`` show figures also as `drawing` and `fingerprint`.

    The formatters are added before the first cell that names matplotlib, to delay its import.
    """

    def prepare_display(info: Any) -> None:
        if "matplotlib" not in info.raw_cell:
            return
        from matplotlib.figure import Figure
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        shell.events.unregister("pre_run_cell", prepare_display)
        # JupyterLab shows a drawing only of a notebook that it trusts, and the picture of any.
        set_matplotlib_formats("png", pil_kwargs={"optimize": True})
        # Attributes, as a formatter registered by type is lost when the inline backend starts.
        Figure._repr_svg_ = drawing
        Figure._repr_pretty_ = lambda figure, printer, cycle: printer.text(fingerprint(figure))

    shell.events.register("pre_run_cell", prepare_display)


def drawing(figure: Any) -> str | None:
    """Return a figure as SVG, with rounded numbers and without metadata; None without axes."""
    from IPython.core.pylabtools import print_figure

    made = print_figure(figure, "svg")
    if made is None:  # a figure without axes
        return None
    made = re.sub(r"\s*<metadata>.*?</metadata>", "", made[made.index("<svg") :], flags=re.S)
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([\w-]+)', made))
    names = {name: f"n{number}" for number, name in enumerate(used)}
    made = re.sub(r' id="([^"]*)"', lambda m: f' id="{names[m[1]]}"' if m[1] in used else "", made)
    made = re.sub(r'((?:href="|url\()#)([\w-]+)', lambda m: m[1] + names[m[2]], made)
    return re.sub(r"<[^>]+>", lambda tag: _rounded(tag[0]), made)


def _rounded(tag: str) -> str:
    """Return an SVG tag with its decimal fractions rounded to two digits."""
    return re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), tag)


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
    """Return the font size of the smallest text in pixels, which notebook_rules.py checks."""
    from matplotlib.text import Text

    figure.canvas.draw()  # or the ticks have no labels yet
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    return min((t.get_fontsize() for t in texts), default=0.0) * figure.dpi / 72


def _plotted(artist: Any) -> np.ndarray:
    """Return the numbers that an artist draws, in data coordinates where it has them."""
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
    """Return eight hexadecimal digits of a hash of ``data``, the same on every machine.

    Numbers are rounded to 1e-5 of the power of ten above the largest, of x and y each. A shift
    keeps the values people plot (halves, tenths, powers of two) away from the edges of the
    rounding, where the last bit of a sum would decide.
    """
    data = np.asarray(data, dtype=float)
    axis = 0 if data.ndim == 2 and data.shape[1] == 2 else None  # x and y, each by its own
    largest = np.max(np.abs(data), axis=axis, initial=0.0, where=np.isfinite(data))
    decade = np.ceil(np.log10(np.where(largest == 0, 1.0, largest)) - 1e-9)
    scaled = np.nan_to_num(data / 10.0**decade, nan=2.0, posinf=3.0, neginf=-3.0)
    steps = np.append(np.floor(scaled * 1e5 + 0.3819660113), decade)
    return hashlib.sha256(steps.astype(np.int64).tobytes()).hexdigest()[:8]
