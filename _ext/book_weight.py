"""Lighter pages: what a page asks for but does not use is taken out when the build has finished.

The theme's templates and files cannot be replaced one by one, so this reads what was written,
`finish` in `setup` first. A page that an earlier build wrote passes through unchanged; the style
sheet is made each time from the theme's own.
"""

import base64
import hashlib
import io
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image

FONTS = [  # family, file, style
    ("Source Serif 4", "source-serif-4-latin-wght-normal", "normal"),
    ("Source Serif 4", "source-serif-4-latin-wght-italic", "italic"),
    ("Source Sans 3", "source-sans-3-latin-wght-normal", "normal"),
    ("Source Code Pro", "source-code-pro-latin-wght-normal", "normal"),
]
THEME = "_static/styles/pydata-sphinx-theme.css"
ICONS = "_static/vendor/fontawesome/webfonts"
# The theme's search while one types is off: only the page of results needs the index.
UNUSED = re.compile(
    r"<!-- So that users can add custom icons -->|"
    r'<script defer src="[^"]*/fontawesome\.js[^"]*"></script>'
)
SEARCH = re.compile(
    r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)
# Sphinx loads MathJax on a page of contents if any page below it has a formula.
FORMULA = re.compile(r'class="(?:[^"]* )?math[ "]')
INLINE = re.compile(r'(<span class="math notranslate nohighlight")>\\\((.*?)\\\)</span>', re.S)
MATHJAX = re.compile(
    r"<script>window\.MathJax = .*?</script>|"
    r'<script [^>]*src="[^"]*/mathjax/[^"]*"[^>]*></script>'
)
# Icons that the theme's own style sheet draws, and some that its scripts make.
DRAWN = re.compile(r'(?:--pst-[\w-]+|content):\s*"(?:\\([ef][0-9a-f]{3})|([\ue000-\uf8ff]))"')
CLASSES = re.compile(r"\bfa-([a-z][a-z0-9-]*)")
RULE = re.compile(r'((?:\.fa-[\w-]+:+before,?)+)\{content:"\\?([^"]*)"\}')
FACE = re.compile(r"@font-face\{[^}]*Awesome[^}]*\}")


def pages(folder: Path) -> list[Path]:
    """Return the pages of a built book."""
    return [
        page
        for page in sorted(folder.rglob("*.html"))
        if page.relative_to(folder).parts[0] not in {"_static", "_sources"}
    ]


def write(path: Path, text: str) -> None:
    """Write a file if it changes, so that its date says when it did."""
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def on_every_page(mend: Callable[[str], str]) -> Callable:
    """Return what Sphinx calls when it has finished: it mends the HTML of every page."""

    def finish(app, exception) -> None:
        if exception or app.builder.format != "html":
            return
        for page in pages(Path(app.outdir)):
            write(page, mend(page.read_text(encoding="utf-8")))

    return finish


def size(path: Path) -> tuple[int, int] | None:
    """Return the width and height of a picture in pixels, or None where it does not say."""
    if path.suffix != ".svg":
        with Image.open(path) as picture:
            return picture.size
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', path.read_text(encoding="utf-8"))
    return (round(float(found[1])), round(float(found[2]))) if found else None


def sized(page: Path, html: str) -> str:
    """Give every picture of a page its width and height; load those further down when near."""
    shown = 0

    def attributes(match):
        nonlocal shown
        tag = match[0]
        source = (page.parent / re.search(r'src="([^"]*)"', tag)[1]).resolve()
        more = ""
        if " width=" not in tag and source.is_file() and (found := size(source)):
            more += f' width="{found[0]}" height="{found[1]}"'
        if "/_static/" not in source.as_posix():
            shown += 1
            if shown > 1 and " loading=" not in tag:
                more += ' loading="lazy"'
        return re.sub(r"\s*/?>$", f"{more} />", tag) if more else tag

    return re.sub(r'<img [^>]*src="[^"]*"[^>]*>', attributes, html)


def fonts_first(html: str) -> str:
    """Load the fonts of text, headings and code first, and show the page once they are there.

    It waits for one second at most, so that no line moves afterwards. A link that preloads would
    be simpler, but from a folder a browser refuses it, and says so.
    """
    style = re.search(r'<link href="([^"]*)_static/styles/theme\.css', html)
    if "book-fonts" in html or style is None:
        return html
    fonts = [
        (family, f"{style[1]}_static/fonts/{file}.woff2", slant) for family, file, slant in FONTS
    ]
    script = f"""<script id="book-fonts">(() => {{
  const root = document.documentElement;
  const show = () => root.classList.remove("fonts-wait");
  root.classList.add("fonts-wait");
  setTimeout(show, 1000);
  Promise.all({json.dumps(fonts)}.map(([family, file, style]) => {{
    const face = new FontFace(family, `url("${{file}}")`, {{weight: "200 900", style}});
    document.fonts.add(face);
    return face.load();
  }})).then(show, show);
}})();</script>
"""
    return html.replace(style[0], script + style[0], 1)


def wide(match: re.Match) -> str:
    """Say of an inline formula about how wide it will be, in ems, so that no line moves then."""
    plain = re.sub(
        r"\\(?:mathbb|mathrm|operatorname|text|bar|hat|tilde|sqrt|left|right)", "", match[2]
    )
    plain = re.sub(r"\\[a-zA-Z]+|&\w+;", "x", plain)
    small = len(re.findall(r"[\^_]\{[^}]*\}|[\^_].", plain))
    letters = len(re.sub(r"[\s{}\^_\\]", "", plain))
    signs = len(re.findall(r"[=+<>-]", plain))
    ems = 0.55 * letters + 0.45 * signs - 0.15 * small
    return f'{match[1]} style="--ems: {ems:.1f}">\\({match[2]}\\)</span>'


def subset_icons(folder: Path, names: set[str]) -> str:
    """Cut the icon font and its rules down to the icons in use; return the style sheet's digest.

    The pictures come from the theme's own font and go into the style sheet: an icon then has its
    width from the beginning, and no page asks for a font of icons.
    """
    static = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"
    css = (static / THEME.removeprefix("_static/")).read_text(encoding="utf-8")
    styles = [RULE.sub("", css)]
    for path in (folder / "_static/styles/sphinx-book-theme.css", folder / "_static/book.css"):
        styles += [path.read_text(encoding="utf-8")] if path.is_file() else []
    found = [pair for style in styles for pair in DRAWN.findall(style)]
    codes = {code or format(ord(sign), "x") for code, sign in found}

    def used(match):
        mine = set(CLASSES.findall(match[1])) & names
        if mine and re.fullmatch("[0-9a-f]+", match[2]):
            codes.add(match[2])
        return match[0] if mine else ""

    css = RULE.sub(used, css)
    font = TTFont(
        static / ICONS.removeprefix("_static/") / "fa-solid-900.ttf", recalcTimestamp=False
    )
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells each table that it cuts
    cut = subset.Subsetter(subset.Options(layout_features=[], hinting=False, notdef_outline=True))
    cut.populate(unicodes=[int(code, 16) for code in codes])
    cut.subset(font)
    font.flavor = "woff"
    small = io.BytesIO()
    font.save(small)
    data = base64.b64encode(small.getvalue()).decode()
    face = (
        '@font-face{font-family:"Font Awesome 6 Free";font-style:normal;font-weight:900;'
        f'src:url(data:font/woff;base64,{data}) format("woff")}}'
    )
    css = face + FACE.sub("", css)
    write(folder / THEME, css)
    for path in (folder / ICONS).glob("*"):
        path.unlink()
    return hashlib.sha256(css.encode()).hexdigest()[:12]


def finish(app, exception) -> None:
    """Take out of the built pages what they do not use."""
    folder = Path(app.outdir)
    if exception or app.builder.format != "html" or not (folder / THEME).is_file():
        return
    scripts = [folder / "_static/scripts/pydata-sphinx-theme.js", folder / "_static/book.css"]
    names: set[str] = set()
    for path in [*pages(folder), *(path for path in scripts if path.is_file())]:
        names |= set(CLASSES.findall(path.read_text(encoding="utf-8")))
    digest = subset_icons(folder, names)
    for path in (folder / "_static/scripts").glob("fontawesome.js*"):
        path.unlink()
    for path in (folder / "_static").rglob("*.map"):
        path.unlink()
    for page in pages(folder):
        html = UNUSED.sub("", page.read_text(encoding="utf-8"))
        if page.name != "search.html":
            html = SEARCH.sub("", html)
        if not FORMULA.search(html):
            html = MATHJAX.sub("", html)
        html = INLINE.sub(wide, html)
        html = re.sub(r"(pydata-sphinx-theme\.css\?digest=)\w+", rf"\g<1>{digest}", html)
        write(page, sized(page, fonts_first(html)))


def setup(app):
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
