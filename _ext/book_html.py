"""Correct the pages that theme and extensions produce: scripts, icons, ids, terms, pictures.

Each function makes one correction; `setup` at the end connects each to its event. Corrections to a
template of the theme are in `templates/`, those for screen readers in `_static/book.js`.
"""

import itertools
import logging
import re
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.util.images import get_image_size

GLOSSARY = "reference/glossary"
IDENTIFIERS = re.compile(r" (arXiv:|doi:|URL:|https?:).*")  # at the end of a source
IMAGE = re.compile(r'<img [^>]*?src="([^"]*)"[^>]*?(?= ?/?>)')
ICONS = "styles/pydata-sphinx-theme.css", "vendor/fontawesome/webfonts/fa-solid-900.ttf"
ICON = re.compile(r'(?<=\})((?:\.fa-[\w-]+:before,?)+)\{content:"[^"]*"\}')
NUMBER = re.compile(r'<h1><span class="section-number">(\d+)(\. )')
STYLE = re.compile(r' style="width: (\d+)px; height: (\d+)px;"')


def drop_scripts(app, pagename, templatename, context, doctree):
    """Remove unused scripts: thebe's, which fails on every page, Sphinx's search and translations.

    MathJax is removed from pages without a formula, also in the titles of links. The other scripts
    are deferred until the page has been parsed, except for the one that scripts in the page need.
    """
    unused = ["thebe", "doctools", "sphinx_highlight", "translations.js"]
    if not re.search(r'class="(?:[^"]* )?math[ "]|title="[^"]*\\\(', context.get("body", "")):
        unused.append("mathjax")
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if not any(name in str(getattr(script, "__dict__", script)).lower() for name in unused)
    ]
    context["css_files"] = [
        c for c in context.get("css_files", []) if "thebe" not in str(c.filename)
    ]
    for script in context["script_files"]:
        if script.filename and "documentation_options" not in str(script.filename):
            script.attributes.setdefault("defer", "defer")


def cut_icons(app, exception):
    """Remove from the theme's font and style sheet all icons that no page shows."""
    if exception or not app.builder.search:
        return
    static = Path(app.outdir, "_static")
    sheet, font = static / ICONS[0], static / ICONS[1]
    pages = (page.read_text("utf-8") for page in Path(app.outdir).rglob("*.html"))
    shown = {icon for page in pages for icon in re.findall(r"fa-[\w-]+", page)}
    in_use = lambda rule: rule[0] * bool(shown & set(re.findall(r"fa-[\w-]+", rule[1])))  # noqa: E731
    css = ICON.sub(in_use, sheet.read_text("utf-8"))
    sheet.write_text(
        css.replace('solid-900.woff2) format("woff2")', 'solid-900.woff) format("woff")')
    )
    styles = "".join(path.read_text("utf-8") for path in static.rglob("*.css"))
    codes = [int(code, 16) for code in re.findall(r"\\([ef][0-9a-f]{3})", styles)]
    codes += [ord(c) for c in styles if "\ue000" <= c <= "\uf8ff"]
    # The theme brings a11y-pygments, which has Python show what any library logs.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    whole = TTFont(font)
    letters = Subsetter(Options(drop_tables=["FFTM"]))
    letters.populate(unicodes=set(codes) & set(whole.getBestCmap()))
    letters.subset(whole)
    whole.flavor = "woff"
    whole.save(font.with_suffix(".woff"))


def drop_repeated_ids(app, doctree, docname):
    """Remove the ids of the bodies of exercises, solutions and proofs, which are not unique."""
    for section in doctree.findall(nodes.section):
        if section["ids"] and re.fullmatch("(exercise|solution|proof)-content", section["ids"][0]):
            section["ids"] = []


@cache
def meanings(env) -> dict[str, nodes.definition]:
    """Return {id of a term: its definition} from the glossary."""
    if GLOSSARY not in env.all_docs:
        return {}
    return {
        place: item[-1]
        for item in env.get_doctree(GLOSSARY).findall(nodes.definition_list_item)
        for term in item.findall(nodes.term)
        for place in term["ids"]
    }


def explain_terms(app, doctree, docname):
    r"""Give links to the glossary the definition as their title, with `code` and \(formulas\)."""
    for link in doctree.findall(nodes.reference):
        found = meaning_of(app.env, link)
        if found is not None:
            marked = found.deepcopy()
            for part in marked.findall(nodes.math):
                part.insert(0, nodes.Text(r"\("))
                part += nodes.Text(r"\)")
            for part in marked.findall(nodes.literal):
                part.insert(0, nodes.Text("`"))
                part += nodes.Text("`")
            link["reftitle"] = " ".join(marked.astext().split())


def meaning_of(env, link: nodes.reference) -> nodes.definition | None:
    """Return the definition of the term that a link leads to; None if it leads to none."""
    return meanings(env).get(link.get("refuri", "").partition("glossary.html#")[2])


def without_links(block: nodes.Node) -> list[nodes.Node]:
    """Return copies of the text and formulas of a block, its links as their words."""
    found = []
    for part in block.children:
        if isinstance(part, nodes.Text | nodes.math | nodes.literal | nodes.emphasis):
            found.append(part.deepcopy())
        else:
            space = [nodes.Text(" ")] if found and isinstance(part, nodes.paragraph) else []
            found += [*space, *without_links(part)]
    return found


def in_box(block: nodes.Node | None) -> bool:
    """Return whether a block stands in a box, such as an exercise or a solution."""
    while block is not None and isinstance(block.parent, nodes.section):
        block = block.parent
    return block is not None and not isinstance(block.parent, nodes.document)


def write_margin_notes(app, doctree, docname):
    """Write the title of a link to a term or a source in the margin beside its block.

    Only the first of several links to one target gets a note. A definition has the formulas of
    the glossary. A box has no notes: it would cut them off, and folded be as high as they are. A
    screen reader has the text from the link; on a narrow screen, book.css hides the note.
    """
    if not docname.startswith("chapters/"):
        return
    noted = set()
    for link in list(doctree.findall(nodes.reference)):
        about, target = link.get("reftitle"), link.get("refuri")
        block = link
        while block is not None and not isinstance(block.parent, nodes.section):
            block = block.parent
        of_api = "reference/api" in (target or "")  # its note would be the name once more
        if not about or of_api or target in noted or isinstance(block, nodes.title | None):
            continue
        if in_box(block):
            continue
        noted.add(target)
        term = f"<strong>{escape(link.astext())}</strong> " if "glossary" in target else ""
        meaning = meaning_of(app.env, link)
        said = [nodes.Text(IDENTIFIERS.sub("", about))]
        said = said if meaning is None else without_links(meaning)
        opens = f'<div class="beside" data-of="{escape(target)}" aria-hidden="true">{term}'
        opens, closes = (nodes.raw("", text, format="html") for text in (opens, "</div>"))
        at = block.parent.index(block)
        block.parent[at:at] = [opens, nodes.inline("", "", *said), closes]


def size_pictures(app, pagename, templatename, context, doctree):
    """Give pictures width and height attributes; load all but the first lazily.

    The browser then reserves their space before they are loaded, so that text does not move. It
    can still make them narrower, which a size in a style attribute would forbid.
    """
    sources = {name: uri for uri, name in app.builder.images.items()}
    count = itertools.count()

    def attributes(match):
        tag = STYLE.sub(r' width="\1" height="\2"', match[0])
        source = sources.get(match[1].rpartition("/")[2])
        size = source and get_image_size(str(Path(app.srcdir, source)))
        if size and " width=" not in tag:
            tag += f' width="{size[0]}" height="{size[1]}"'
        return f'{tag} loading="lazy"' if next(count) and " loading=" not in tag else tag

    if "body" in context:
        context["body"] = IMAGE.sub(attributes, context["body"])


def open_chapter(app, pagename, templatename, context, doctree):
    """Write the part's name above a chapter's title, and separate the number's point."""
    parts = {
        item: part.caption
        for part in app.config.external_site_map.root.subtrees
        for item in map(str, part.items)
    }

    def opening(found):
        ten = " ten" * (len(found[1]) > 1)
        part = f'<p class="part{ten}">{escape(parts[pagename] or "")}</p>\n'
        return f'{part}<h1><span class="section-number">{found[1]}<span>{found[2]}</span>'

    if pagename in parts:
        context["body"] = NUMBER.sub(opening, context.get("body", ""), count=1)


def setup(app):
    app.connect("doctree-resolved", drop_repeated_ids)
    app.connect("doctree-resolved", explain_terms)
    app.connect("doctree-resolved", write_margin_notes, priority=900)
    app.connect("html-page-context", drop_scripts, priority=900)
    app.connect("html-page-context", size_pictures)
    app.connect("html-page-context", open_chapter)
    app.connect("build-finished", cut_icons, priority=820)
