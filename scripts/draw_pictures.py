"""Draw the picture at the top of the README and the landing page, with chapter 1's program.

It shows eight digits, the gradient of each, their mean, and the mean of the clipped gradients: in
dark ink for light pages, in light ink for dark ones.

python scripts/draw_pictures.py [FOLDER]      by default into chapters/images
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "chapters" / "images"
CHAPTER = ROOT / "chapters" / "01_one_gradient_per_sample.ipynb"
INKS = {"light": "#22262b", "dark": "#e6edf3"}  # by the page that the picture is for


def computed() -> dict:
    """Run chapter 1 up to the clipped mean; return the dict of the names it defines."""
    names: dict = {}
    for cell in nbformat.read(CHAPTER, as_version=4).cells:
        left_out = {"raises-exception", "remove-cell"} & set(cell.metadata.get("tags", []))
        if cell.cell_type == "code" and not left_out and "plt." not in cell.source:
            exec(cell.source, names)
        if "clipped" in names:
            return names
    raise SystemExit("chapter 1 computes no clipped mean")


def digits(names: dict, page: str) -> Figure:
    """Return the figure: negative gradients with respect to class 3's weights, and both means."""
    with plt.rc_context({"text.color": INKS[page], "figure.constrained_layout.use": True}):
        figure, axes = plt.subplots(2, 5, figsize=(5.8, 2.8))
        pictures = [*-names["rows"][:, 3], -names["model"].weight.grad[3], -names["clipped"][3]]
        titles = [f"image {n}" for n in range(1, 9)] + [".grad", "clipped first"]
        for ax, picture, title in zip(axes.flat, pictures, titles, strict=True):
            ax.imshow(picture.reshape(8, 8).numpy(), cmap="cividis")
            ax.set_title(title, fontsize=12, fontweight="bold" if ax in axes[1, 3:] else None)
            ax.axis("off")
    return figure


def draw(folder: Path) -> None:
    """Write the picture into a folder twice, for light and for dark pages."""
    folder.mkdir(exist_ok=True)
    plt.style.use(CHAPTER.with_name("matplotlibrc"))
    names = computed()
    for page in INKS:
        name = folder / f"digits-{page}.png"
        digits(names, page).savefig(name, dpi=220, transparent=True, metadata={"Software": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else IMAGES)
