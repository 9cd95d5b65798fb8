"""Metadata for search engines and links: a picture, descriptions from `chapters/pages.toml`."""

import datetime
import re
import shutil
import subprocess
import tomllib
from functools import partial
from html import escape
from pathlib import Path

from book_files import version
from book_translation import translated
from PIL import Image, ImageOps

CARD = 1200, 630
VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
FIGURE, PICTURE = "chapters/images/digits-light.png", "_images/share.png"


def settings(root: Path) -> dict[str, dict[str, str]]:
    """Return {page: its metadata}, empty without `chapters/pages.toml`."""
    path = root / "chapters" / "pages.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def draw(app, exception) -> None:
    """Draw the picture shown with links to the book: the landing page's figure on white."""
    figure = Path(app.srcdir, FIGURE)
    if exception or app.builder.format != "html" or not figure.is_file():
        return
    with Image.open(figure) as opened:
        shown = ImageOps.contain(opened.convert("RGBA"), (CARD[0] - 96, CARD[1] - 96))
    image = Image.new("RGB", CARD, "white")
    image.paste(shown, [(a - b) // 2 for a, b in zip(CARD, shown.size, strict=True)], shown)
    image.quantize(64, dither=Image.Dither.NONE).save(Path(app.outdir, PICTURE), optimize=True)


def describe(app, pagename, templatename, context, doctree) -> None:
    """Write a page's description and the address of the picture into its head."""
    said = settings(Path(app.srcdir))
    if pagename not in said or app.builder.format != "html":
        return
    root, language = Path(app.srcdir), app.config.language
    mine = {key: translated(root, language, text) for key, text in said[pagename].items()}
    meta = context["meta"] = dict(context.get("meta") or {})
    meta["og:description"] = mine["description"]
    if "title" in mine:
        meta["og:title"] = context["title"] = mine["title"]
        context["docstitle"] = ""  # which the theme would append
    site = app.config.html_baseurl
    tags = [
        ("name", "description", mine["description"]),
        ("property", "og:image", site + PICTURE if site else context["pathto"](PICTURE, 1)),
        ("property", "og:image:width", str(CARD[0])),
        ("property", "og:image:height", str(CARD[1])),
        ("property", "og:image:alt", context["title"]),
        ("name", "twitter:card", "summary_large_image"),
    ]
    given = context.get("metatags", "").replace(VIEWPORT, "")  # which Sphinx's layout writes, too
    context["metatags"] = given + "".join(
        f'\n<meta {kind}="{name}" content="{escape(re.sub("<[^>]*>", "", text))}" />'
        for kind, name, text in tags
    )


def dated(root: Path) -> datetime.date:
    """Return the date of the last commit, or today's date without git."""
    known = ""
    if (root / ".git").exists() and shutil.which("git"):
        command = ["git", "log", "-1", "--format=%cs"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        known = done.stdout.strip()
    return datetime.date.fromisoformat(known) if known else datetime.date.today()


def set_footer(app, config) -> None:
    """Write the version and its date into the footer of every page; add the page 404."""
    root = Path(app.srcdir)
    if (number := version(root)) is not None:
        say = partial(translated, root, config.language)
        day = say("{0.day} {0:%B} {0.year}").format(dated(root))
        said = say("Version {1}, {2}.").format("", number, day)
        options = config.html_theme_options
        options["extra_footer"] = f"<p>{said}</p>\n" + options.get("extra_footer", "")
    config.html_additional_pages["404"] = "404.html"


def setup(app):
    app.setup_extension("sphinx.ext.githubpages")  # a host then shows folders with underscores
    app.connect("config-inited", set_footer)
    app.connect("html-page-context", describe, priority=100)
    app.connect("build-finished", draw)
