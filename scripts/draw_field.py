"""Write what the figure `field` of chapter 17 shows, with the chapter's own program.

It gets one entry for each of the 397 images, in `_ext/live/field.js`: the label and, if they
differ, what the network reads before and after the step, then the product with the row of the 8;
and the images, one beside the other in `_static/field.png`. `_static/gram.svg` is its still form.

python scripts/draw_field.py
"""

import re
import textwrap
from pathlib import Path

import nbformat
import numpy as np
from PIL import Image

ROOT = Path(__file__).parent.parent
CHAPTER = ROOT / "chapters" / "17_gram.ipynb"
FIGURE = ROOT / "_ext" / "live" / "field.js"
IMAGES = ROOT / "_static" / "field.png"
STILL = ROOT / "_static" / "gram.svg"
COLUMNS = 33  # dots beside each other in the still form
APART = 15.6  # pixels from one to the next
ACROSS = 20  # images beside each other in the file


def computed() -> dict:
    """Run chapter 17 up to the products with the row of the 8; return the names it defines."""
    names: dict = {}
    for cell in nbformat.read(CHAPTER, as_version=4).cells:
        if cell.cell_type == "code" and "plt." not in cell.source:
            exec(cell.source, names)
        if "products" in names:
            return names
    raise SystemExit("chapter 17 computes no products")


def entries(names: dict) -> list[str]:
    """Return one entry for each image, as "118-38": a 1, read as 1, then as 8, product -38."""
    found = []
    for values in zip(*(names[key] for key in ("y", "read", "now", "products")), strict=True):
        *digits, product = (value.item() for value in values)
        size = f"{abs(product):.3g}".removeprefix("0")
        shown = digits if len(set(digits)) > 1 else digits[:1]
        found.append("".join(map(str, shown)) + ("-" if product < 0 else "+") + size)
    return found


def sheet(names: dict) -> Image.Image:
    """Return the images beside each other, 160 by 160; its colours 0 to 16 are black ink."""
    ink = (16 * names["x"].numpy()).round().astype("uint8").reshape(-1, 8, 8)
    ink = np.concatenate([ink, np.zeros((-len(ink) % ACROSS, 8, 8), "uint8")])
    rows = ink.reshape(-1, ACROSS, 8, 8).swapaxes(1, 2).reshape(-1, 8 * ACROSS)
    image = Image.fromarray(rows).convert("P")
    image.putdata(rows.ravel().tolist())
    image.putpalette([0] * 51)
    return image


def still(names: dict) -> str:
    """Return the drawing of the figure as it begins."""
    eight, digits = int(names["i"]), [int(names[key][names["i"]]) for key in ("y", "read", "now")]
    spoilt = names["broken"].nonzero()[:, 0].tolist()
    colours = dict.fromkeys(spoilt, "#b0560f") | {eight: "#35709f"}
    places = [
        (10 + APART * (k % COLUMNS), 100 + APART * (k // COLUMNS)) for k in range(len(names["y"]))
    ]
    dots = [f"M{x:.4g} {y:.4g}h0" for k, (x, y) in enumerate(places) if k not in colours]
    circles = [(*places[k], colour, "") for k, colour in colours.items()]
    circles += [(398, y, c, ' class="key"') for y, c in ((13, "#35709f"), (37, "#b0560f"))]
    ink = enumerate(names["x"][eight].tolist())
    pixels = [(f"M{k % 8 * 9} {k // 8 * 9 + 4.5}h9", f"{v:.2g}") for k, v in ink if v]
    x, y = places[eight]
    ring = f"M{x:.4g} {y - 9:.4g}a9 9 0 1 0 .01 0Z"
    texts = [
        (84, 18, ' font-weight="600"', f"image {eight}, an {digits[0]}"),
        (84, 42, "", f"read as {digits[1]}, then as {digits[2]}: mended"),
        (84, 66, "", f"product {names['products'][eight]:.1f}: a short step helps it"),
        (408, 18, "", "the 8, mended"),
        (408, 42, "", "spoilt"),
        (260, 322, ' text-anchor="middle" fill="#68717c"', "in the order of the data"),
    ]
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 332" width="520"'
            ' height="332" role="img" font-family="system-ui, sans-serif" font-size="14"'
            ' fill="#22262b">',
            "  <title>397 images as dots: one step on one image, and eight others are misread"
            " afterwards</title>",
            '  <view id="small" viewBox="1 89 518 206"/>',
            f'  <path d="{" ".join(dots)}" stroke="#68717c" stroke-opacity="0.7"'
            ' stroke-width="10" stroke-linecap="round"/>',
            *(
                f'  <circle cx="{x:.4g}" cy="{y:.4g}" r="5" fill="{c}"{k}/>'
                for x, y, c, k in circles
            ),
            '  <g class="key" stroke="#22262b" stroke-width="9">',
            *(f'    <path d="{d}" stroke-opacity="{v}"/>' for d, v in pixels),
            "  </g>",
            f'  <path d="{ring}" fill="none" stroke="#22262b" stroke-width="1.5"/>',
            *(f'  <text x="{x}" y="{y}"{more}>{said}</text>' for x, y, more, said in texts),
            "</svg>\n",
        ]
    )


def main() -> None:
    """Write the entries, the images and the still form."""
    names = computed()
    lines = textwrap.wrap(" ".join(entries(names)), 320)
    data = "".join(f'  + "{line} "\n' for line in lines).replace("  +", "const DATA =", 1)
    program = FIGURE.read_text(encoding="utf-8")
    program = re.sub(r'const DATA = (.|\n)*?"(?=;)', lambda _: data.rstrip(), program)
    FIGURE.write_text(program, encoding="utf-8")
    opacity = bytes(round(255 * k / 16) for k in range(17))
    sheet(names).save(IMAGES, optimize=True, transparency=opacity)
    STILL.write_text(still(names), encoding="utf-8")


if __name__ == "__main__":
    main()
