"""How the book is found and shared: descriptions, pictures, and the files that a host looks for.

The words stand in `chapters/pages.toml`; a picture is drawn from the figure that it names there.
"""

import datetime
import os
import re
import subprocess
import tomllib
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib
from book_files import version
from PIL import Image, ImageDraw, ImageFont

CARD = 1200, 630
EDGE = 48
INK, PALE, PAPER = "#22262b", "#5a6470", "#ffffff"
FOLDER = "_images/share"
LOST = """<h1>This page is not here</h1>
<p>The address may have changed. <a href="index.html">The first page</a> lists the chapters, and
<a href="search.html">the search</a> knows every page.</p>
<h2 id="errors">An error message?</h2>
<p>The <a href="reference/errors.html">error index</a> starts from the message.</p>
"""


def settings(root: Path) -> dict[str, dict[str, str]]:
    """Return page -> what is said of it; nothing for a book that says nothing."""
    path = root / "chapters" / "pages.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def card(docname: str, said: dict) -> str:
    """Return the picture of a page, relative to the book's root."""
    shown = docname if "figure" in said.get(docname, {}) else "index"
    return f"{FOLDER}/{shown.replace('/', '-')}.png"


def describe(app, pagename, templatename, context, doctree) -> None:
    """Put the hand-written words, and the address of the picture, into a page's head."""
    said = settings(Path(app.srcdir))
    if pagename not in said:
        return
    mine = said[pagename]
    meta = context["meta"] = dict(context.get("meta") or {})
    meta["og:description"] = mine["description"]
    if "title" in mine:
        meta["og:title"] = mine["title"]
    picture = card(pagename, said)
    site = app.config.html_baseurl
    tags = [
        ("name", "description", mine["description"]),
        ("property", "og:image", site + picture if site else context["pathto"](picture, 1)),
        ("property", "og:image:width", str(CARD[0])),
        ("property", "og:image:height", str(CARD[1])),
        ("property", "og:image:alt", mine.get("title", context["title"])),
        ("name", "twitter:card", "summary_large_image"),
    ]
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n<meta {kind}="{name}" content="{escape(re.sub("<[^>]*>", "", text))}" />'
        for kind, name, text in tags
    )


def font(size: int, bold: bool = False):
    """Return the font that Matplotlib brings along: the book's own is compressed for the web."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts/ttf", name), size)


def lines(text: str, letters, width: int) -> list[str]:
    """Break a text into lines no wider than a width."""
    broken = [""]
    for word in text.split():
        longer = f"{broken[-1]} {word}".strip()
        if letters.getlength(longer) <= width or not broken[-1]:
            broken[-1] = longer
        else:
            broken.append(word)
    return broken


def draw(title: str, figure: Path) -> Image.Image:
    """Draw a card: the page's title, its figure as large as it goes, the book's name."""
    image = Image.new("RGB", CARD, PAPER)
    pen = ImageDraw.Draw(image)
    height = EDGE
    letters = font(46, bold=True)
    for line in lines(title, letters, CARD[0] - 2 * EDGE)[:2]:
        pen.text((EDGE, height), line, INK, letters)
        height += 58
    pen.text((EDGE, CARD[1] - EDGE - 26), "Per-Sample Gradients", PALE, font(26))
    with Image.open(figure) as opened:
        shown = opened.convert("RGBA")
    room = CARD[0] - 2 * EDGE, CARD[1] - height - 2 * EDGE - 40
    factor = min(room[0] / shown.width, room[1] / shown.height)
    shown = shown.resize((round(shown.width * factor), round(shown.height * factor)))
    corner = (CARD[0] - shown.width) // 2, height + 14 + (room[1] - shown.height) // 2
    image.paste(shown, corner, shown)
    return image.quantize(64, dither=Image.Dither.NONE)


def figure_of(html: str, name: str) -> str:
    """Return the source of the picture in the figure of a name."""
    found = re.search(rf'<figure[^>]*id="{re.escape(name)}".*?<img [^>]*src="([^"]*)"', html, re.S)
    if found is None:
        raise ValueError(f"pages.toml names the figure {name}, which is not on the page")
    return found[1]


def dated(root: Path) -> str:
    """Return the day of the last change as git has it, or today's where there is no git."""
    command = ["git", "log", "-1", "--format=%cs"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    known = done.returncode == 0 and (root / ".git").exists() and done.stdout.strip()
    day = datetime.date.fromisoformat(known) if known else datetime.date.today()
    return f"{day.day} {day:%B %Y}"


def set_footer(app, config) -> None:
    """Say at the foot of every page which version it belongs to, and of which day."""
    root = Path(app.srcdir)
    if (number := version(root)) is not None:
        said = f"<p>Version {number}, {dated(root)}.</p>\n"
        options = config.html_theme_options
        options["extra_footer"] = said + options.get("extra_footer", "")


def lost_page(app):
    """Make the page that a host shows in place of one that is not there."""
    if app.builder.format == "html":
        yield "404", {"title": "This page is not here", "body": LOST}, "page.html"


def finish(app, exception) -> None:
    """Draw the pictures; write what hosts and search engines look for."""
    if exception or app.builder.format != "html":
        return
    root, folder = Path(app.srcdir), Path(app.outdir)
    said = settings(root)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for docname, mine in said.items():
        page = folder / f"{docname}.html"
        if page.is_file() and "figure" in mine:
            html = page.read_text(encoding="utf-8")
            figure = (page.parent / figure_of(html, mine["figure"])).resolve()
            title = mine.get("title", app.env.titles[docname].astext())
            draw(title, figure).save(folder / card(docname, said), optimize=True)
    front, title = folder / "index.html", said.get("index", {}).get("title")
    if title and front.is_file():
        html = front.read_text(encoding="utf-8")
        html = re.sub("<title>.*?</title>", f"<title>{escape(title)}</title>", html, flags=re.S)
        front.write_text(html, encoding="utf-8")
    (folder / ".nojekyll").touch()
    site = os.environ.get("BOOK_URL", "").strip().rstrip("/")
    known = f"Sitemap: {site}/sitemap.xml\n" if site else ""
    (folder / "robots.txt").write_text(f"User-agent: *\nAllow: /\n{known}", encoding="utf-8")
    lost = folder / "404.html"
    if site and lost.is_file():  # it is shown at any address, so its links start from the root
        html = lost.read_text(encoding="utf-8")
        base = f'<base href="{escape(urlsplit(site).path)}/" />'
        if base not in html:
            lost.write_text(html.replace("<head>", f"<head>\n    {base}", 1), encoding="utf-8")


def setup(app):
    app.connect("config-inited", set_footer)
    app.connect("html-collect-pages", lost_page)
    app.connect("html-page-context", describe, priority=100)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
