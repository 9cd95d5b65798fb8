"""Write SVG drawings into the pages themselves, so that they take the page's font and colours.

A drawing in a separate file gets neither. `_static/book.css` maps the colours of its text, axes
and lines to those of light and dark pages: `--ink-22262b` replaces #22262b; a colour without an
entry is unchanged. It also sets the size of letters; text that a drawing sets smaller or larger
than the rest, as in a formula, keeps its relative size.
"""

import base64
import io
import itertools
import re
from collections import Counter
from pathlib import Path

from PIL import Image

PICTURE = re.compile(
    r'(?:<a class="[^"]*image-reference"[^>]*>)?'
    r'<img ([^>]*?)src="[^"]*?([^/"]+\.svg)"([^>]*)>(?:</a>)?'
)
PLOT = 110 / 72  # pixels for a point: `figure.dpi` of chapters/matplotlibrc
LETTERS = re.compile(r"font-size: ([\d.]+)px")
WHITE = 230  # and above: the least of a colour map that begins, or has its middle, in white
RASTER = re.compile(r'<image (?=[^>]*?href="data:image/png;base64,([^"]*)")')


def grounded(raster: re.Match) -> str:
    """Give a picture in a drawing the class `grounded` if its background is white."""
    with Image.open(io.BytesIO(base64.b64decode(raster[1]))) as picture:
        colours = picture.convert("RGB").getcolors(picture.width * picture.height)
    return raster[0] + 'class="grounded" ' * any(min(c) > WHITE for _, c in colours)


def inline(drawing: str, number: int, inks: set[str], alt: str, classes: str) -> str:
    """Return a drawing as HTML for a page; ``number`` keeps its ids different from others'."""
    _, head, body = re.split(r"(<svg[^>]*>)", drawing.replace("xlink:href", "href"), maxsplit=1)
    # A drawing without a text of its own is an ornament, as on a card, which shows a part of it.
    small = not alt and re.search(r'<view id="small" viewBox="([^"]*)"', body)
    box = (small or re.search(r'viewBox="([^"]*)"', head))[1]
    scale = PLOT if 'pt"' in head else 1
    width, height = (round(float(size) * scale) for size in box.split()[2:])
    given = " ".join(re.findall(r'fill="[^"]*"', head))
    body = re.sub(r"<(style|title)\b.*?</\1>|<view[^>]*>", "", body, flags=re.S)
    body = re.sub(r'((?: id|href)="#?|url\(#)(?=n\d)', rf"\g<1>d{number}", body)
    # A formula's letters stand where the page's face puts them.
    body = re.sub(r'(?<=</tspan>)\s*<tspan x="[^"]*"', "<tspan", body)
    body = re.sub(r' ?font-family: [^;"]*;?| ?transform="rotate\(-0 [^"]*"', "", body)
    sizes = Counter(LETTERS.findall(body))
    usual = float(max(sizes, key=sizes.get, default=1))
    body = LETTERS.sub(lambda size: f"font-size: {float(size[1]) / usual:.3g}em", body)
    body = body.replace("font-size: 1em; ", "")
    body = RASTER.sub(grounded, re.sub(r"\s*\n\s*", " ", body).replace("> <", "><"))
    classes += " images" if body.count("<image") > 3 else ""  # images in lines
    said = f'role="img" aria-label="{alt}"' if alt else 'aria-hidden="true"'
    made = (
        f'<svg class="drawing {classes}" {said} viewBox="{box}"'
        f' width="{width}" height="{height}" style="--wide: {box.split()[2]}" {given}>{body}'
    )
    colour = lambda found: f"var(--ink-{found[1]})" if found[1] in inks else found[0]  # noqa: E731
    return re.sub(r"#([0-9a-f]{6})\b", colour, made).strip()


def put(app, pagename, templatename, context, doctree) -> None:
    """Replace the SVG images of a page by the drawings themselves."""
    sheet = Path(app.srcdir, "_static/book.css")
    style = sheet.read_text(encoding="utf-8") if sheet.is_file() else ""
    inks = set(re.findall(r"--ink-(\w{6}):", style))
    sources = {name: uri for uri, name in app.builder.images.items()}
    count = itertools.count()

    def drawn(picture: re.Match) -> str:
        text = Path(app.srcdir, sources[picture[2]]).read_text(encoding="utf-8")
        said = dict(re.findall(r'(alt|class)="([^"]*)"', picture[1] + picture[3]))
        return inline(text, next(count), inks, said.get("alt", ""), said.get("class", ""))

    if "body" in context:
        context["body"] = PICTURE.sub(drawn, context["body"])


def setup(app):
    app.connect("html-page-context", put, priority=400)
