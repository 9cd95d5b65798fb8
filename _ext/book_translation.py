"""The book in other languages: a second build from the same notebooks, beside the first.

    python _ext/book_translation.py            builds it
    python _ext/book_translation.py PAGE ...   builds it, then updates the catalogs of pages

For each folder of `locale/`, Sphinx reads the book with its message catalogs, in the layout of
sphinx-intl, and writes the pages whose catalog has more than a title: `zh/index.html` beside
`index.html`. Both share the static files. A link to a page that is not translated leads to the
English one, with a note. The texts of templates and scripts are in `site.po`; a script translates
its texts with `say` (`templates/say.js`). A paragraph without a confirmed translation stays
English, with the class `untranslated`.
"""

import json
import re
import sys
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import extract_messages

ROOT = Path(__file__).resolve().parents[1]
ENGLISH, SITE, SEARCH = "en", "site", "search"
NAMES = {"en": "English", "zh": "中文"}
FOLDS = {"code_prompt_show", "code_prompt_hide"}
PROMPTS = [f"nb_{name}" for name in FOLDS] + ["togglebutton_hint", "togglebutton_hint_hide"]
SHARED = re.compile(r"""(?<=["'`(])((?:\.\./)*(?:_static|_images|_downloads|_sources|files)/)""")
LINK = re.compile(r'<a (?P<tags>[^>]*?href="(?P<url>[^":#]+\.html)[^>]*)>(?P<words>.*?)</a>', re.S)
PLACES = re.compile(
    r"^(?:(?P<kept>`{3,}\{exercise\} .+\n:label: .+|\([\w-]+\)=\n+.+|#+ .+)"
    r"|(?P<fence>`{3,})[^`]*\n(?:.*\n)*?(?P=fence)$)",
    re.M,
)
MADE = re.compile(r"^`{3,}\{(?:auto|bibliography|eval-rst|glossary)", re.M)
EXERCISE = re.compile(r"^(`{3,}\{exercise\} )(.+)$", re.M)


def code(language: str) -> str:
    """Return the name of a language in URLs: zh for zh_CN."""
    return language.partition("_")[0]


def catalog(root: Path, language: str, name: str) -> Path:
    """Return the path of the message catalog of a page, or of `SITE`."""
    return Path(root, "locale", language, "LC_MESSAGES", f"{name}.po")


@cache
def _messages(path: Path, changed: float) -> dict[str, str]:
    with path.open("rb") as file:
        found = read_po(file)
    return {m.id: "" if m.fuzzy else m.string for m in found if m.id}


def messages(path: Path) -> dict[str, str]:
    """Return {English: translation} of a catalog, with "" for a fuzzy translation."""
    return _messages(path, path.stat().st_mtime) if path.is_file() else {}


def words(root: Path, language: str) -> dict[str, str]:
    """Return {English: translation} of the translated texts of templates and scripts."""
    found = messages(catalog(root, language, SITE))
    return {english: said for english, said in found.items() if said}


def translated(root: Path, language: str, english: str) -> str:
    """Return the translation of a text from `site.po`, or the text itself if there is none."""
    return words(root, language).get(english, english)


def languages(root: Path) -> list[str]:
    """Return the languages of a book besides English."""
    return sorted(path.parent.name for path in Path(root, "locale").glob("*/LC_MESSAGES"))


@cache
def _pages(folder: Path) -> list[str]:
    found = {path: path.relative_to(folder).with_suffix("") for path in folder.rglob("*.po")}
    return sorted(name.as_posix() for path, name in found.items() if len(messages(path)) > 1)


def pages(root: Path, language: str) -> list[str]:
    """Return the pages with more than the title translated, and the search page."""
    return [n for n in _pages(catalog(root, language, SITE).parent) if n != SITE] + [SEARCH]


# What happens in a build ---------------------------------------------------------------------


def prepare(app, config) -> None:
    """Translate the texts of the settings into the language of this build."""
    if config.language == ENGLISH:
        return
    said = words(app.srcdir, config.language)
    for name in ("html_title", *PROMPTS):
        config[name] = said.get(config[name], config[name])
    options = config.html_theme_options
    options["logo"] = options["logo"] | {"text": config.html_title}
    options["search_bar_text"] = said.get(options["search_bar_text"], options["search_bar_text"])
    for english, other in said.items():
        options["extra_footer"] = options["extra_footer"].replace(english, other)
    for part in config.external_site_map.root.subtrees:
        part.caption = said.get(part.caption, part.caption)
    if config.html_baseurl:
        base = f"{config.html_baseurl}{code(config.language)}/"
        config.html_baseurl = config.ogp_site_url = base


def begin(app) -> None:
    """Compile every catalog, and write no search index: the English build's is shared."""
    if app.config.language != ENGLISH:
        app.builder.compile_update_catalogs()
        app.builder.search = False
        app.config.html_additional_pages = {SEARCH: f"{SEARCH}.html"}


def outline(text: str) -> str:
    """Return only the targets of links in a text: headings, labels and exercises."""
    found = [match["kept"] or "" for match in PLACES.finditer(text)]
    return "\n\n".join(k + "\n```" * k.startswith("```") for k in found if k)


def read(app, docname: str, source: list[str]) -> None:
    """Translate exercise titles in ``source``; reduce untranslated pages to their `outline`."""
    language, root = app.config.language, Path(app.srcdir)
    if language == ENGLISH:
        return
    is_other = docname not in pages(root, language)
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        if is_other and not MADE.search(source[0]):
            source[0] = outline(source[0])
        return
    said, made = messages(catalog(root, language, docname)), json.loads(source[0])
    known = app.env.metadata[docname].setdefault("exercises", [])

    def title(match: re.Match) -> str:
        known.append(match[2])
        return match[1] + (said.get(match[2]) or f"[{match[2]}]{{.untranslated}}")

    if is_other:
        made["cells"] = [cell for cell in made["cells"] if cell["cell_type"] == "markdown"]
    for cell in made["cells"]:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            cell["source"] = outline(text) if is_other else EXERCISE.sub(title, text)
        names = cell["metadata"].get("mystnb", {})
        names |= {key: translated(root, language, names[key]) for key in FOLDS & names.keys()}
    source[0] = json.dumps(made)


def is_shown(node: nodes.Element) -> bool:
    """Return whether a text is translated as a message of its page.

    It is not if book_live.py drops it (the first and the last text of a live figure), or if `read`
    translates it (the titles of exercises).
    """
    box = node.parent
    is_live = isinstance(box, nodes.admonition) and str(box["classes"]).count("live-")
    return (
        not (is_live and node in (box[0], box[-1]))
        and "sphinx_exercise" not in type(node).__module__
    )


class Messages(SphinxTransform):
    """Store the messages of a page before Sphinx translates them."""

    default_priority = 15

    def apply(self):
        if self.config.language != ENGLISH:
            found = extract_messages(self.document)
            said = [message for node, message in found if is_shown(node)]
            self.env.metadata[self.env.docname]["messages"] = said


class AfterTranslation(SphinxTransform):
    """Unmark pictures as untranslated, and add the English word to translated terms."""

    default_priority = 30

    def apply(self):
        if self.config.language == ENGLISH:
            return
        for picture in self.document.findall(nodes.image):
            picture.attributes.pop("translated", None)
        for term in self.document.findall(nodes.term):
            if term.astext() != term.rawsource:
                term += nodes.inline("", f" {term.rawsource}", classes=["in-english"])


def add_links(app, pagename, templatename, context, doctree) -> None:
    """Add to a page's context its address in each language, and the texts of its scripts."""
    root, mine = app.srcdir, app.config.language
    context["words"] = words(root, mine) if mine != ENGLISH else {}
    others = [one for one in languages(root) if pagename in pages(root, one)]
    base = app.config.html_baseurl
    up = "../" * (pagename.count("/") + (mine != ENGLISH))
    if base and mine != ENGLISH:
        base = base.removesuffix(f"{code(mine)}/")
    context["languages"] = []
    for one in [ENGLISH, *others] if others else []:
        place = f"{pagename}.html" if one == ENGLISH else f"{code(one)}/{pagename}.html"
        about = {"lang": one.replace("_", "-"), "name": NAMES[code(one)], "is_mine": one == mine}
        about |= {"url": f"{up}{place}", "full": f"{base or up}{place}"}
        context["languages"].append(about)
    # A page in English alone leads to the first page of the others.
    alone = map(code, languages(root) if mine == ENGLISH and not others else [])
    context["elsewhere"] = [(f"{up}{one}/index.html", one, NAMES[one]) for one in alone]


def setup(app):
    app.add_transform(Messages)
    app.add_transform(AfterTranslation)
    app.connect("config-inited", prepare, priority=920)
    app.connect("builder-inited", begin)
    app.connect("source-read", read, priority=900)
    app.connect("html-page-context", add_links, priority=100)
    app.connect("build-finished", note, priority=830)


# The second build ----------------------------------------------------------------------------


def note(app, exception) -> None:
    """Write the English messages of each page of a translated build to messages.json."""
    if exception or app.config.language == ENGLISH:
        return
    about = {name: app.env.metadata[name] for name in app.env.found_docs}
    kinds = "messages", "exercises"
    found = {name: [m for kind in kinds for m in about[name].get(kind, [])] for name in about}
    Path(app.outdir, "messages.json").write_text(json.dumps(found), encoding="utf-8")


def mended(html: str, page: str, here: set[str], said: dict[str, str]) -> str:
    """Return the HTML of a translated page with links and labels adapted to its folder.

    ``here`` are the translated pages; ``said`` has the translations of labels.
    """
    in_english = said.get(" (in English)", " (in English)")

    def label(match: re.Match) -> str:
        return match[1] + said.get(match[2], match[2])

    def link(match: re.Match) -> str:
        url = match["url"]
        target = normpath(join(dirname(page), url))
        if target in here or "hreflang" in match["tags"]:
            return match[0]
        there = "../" * (page.count("/") + 1) + target
        tags = match["tags"].replace(f'href="{url}', f'hreflang="en" href="{there}', 1)
        is_short = "bibliography.html#" in tags or match["words"].startswith("<code")
        says = "" if is_short else f'<span class="in-english">{in_english}</span>'
        return f"<a {tags}>{match['words']}{says}</a>"

    html = re.sub(r'<link rel="(index|next|prev)"[^>]*>', "", html)  # most are English pages
    html = re.sub(r'((?:title|aria-label)=")([^"]+)', label, html)
    html = LINK.sub(link, SHARED.sub(r"../\1", html))
    return re.sub(r'(?<=data-content_root=")(?:\./)?', "../", html, count=1)


def build(root: Path, language: str) -> int:
    """Build the pages of a language beside the English ones; return the exit status, 0 or 1."""
    # Its grammars take seconds, for a check of addresses in the settings.
    sys.modules.setdefault("rfc3987_syntax", None)
    from book_search import write, written
    from jupyter_book.sphinx import build_sphinx

    made, html = root / "_build" / language, root / "_build/html" / code(language)
    overrides = {"language": language, "nitpicky": True, "latex_individualpages": False}
    failed = build_sphinx(
        root,
        made,
        path_config=root / "_config.yml",
        noconfig=True,
        confoverrides=overrides,
        doctreedir=root / "_build" / f".doctrees-{language}",
        filenames=[str(p) for name in pages(root, language) for p in root.glob(f"{name}.*")],
        warningiserror=True,
        keep_going=True,
    )
    if failed:
        return 1
    here = {f"{name}.html" for name in pages(root, language)}
    folder, own = root / "_build/html", f"{code(language)}/"
    others = [place for place in written(folder) if not place["place"].startswith(own)]
    write(folder, others + [one | {"place": own + one["place"]} for one in written(made)])
    for page in here:
        text = (made / page).read_text("utf-8")
        text = mended(text, page, here, words(root, language))
        (html / page).parent.mkdir(parents=True, exist_ok=True)
        (html / page).write_text(text, encoding="utf-8")
    return 0


def said(root: Path, language: str) -> dict[str, list[str]]:
    """Return {page: its messages, in English} from the last build in a language."""
    return json.loads(Path(root, "_build", language, "messages.json").read_text("utf-8"))


def unconfirmed(root: Path) -> list[str]:
    """List the messages that translated pages show in English, as "page: message"."""
    return [
        f"{code(language)}/{name}: {message}"
        for language in languages(root)
        for name, found in sorted(said(root, language).items())
        if name in pages(root, language)
        for message in dict.fromkeys(found)
        if not messages(catalog(root, language, name)).get(message)
    ]


def update(root: Path, language: str, name: str) -> None:
    """Update a catalog: new messages are empty, changed ones are marked as fuzzy."""
    path, page = catalog(root, language, name), Catalog()
    with path.open("rb") as file:
        found = read_po(file)
    head = path.read_text("utf-8").partition("\n\n")[0]
    for message in said(root, language)[name]:
        page.add(message)
    found.update(page)
    for message in found:
        message.flags -= {"python-format", "python-brace-format"}
    with path.open("wb") as file:
        file.write(f"{head}\n\n".encode())
        write_po(file, found, width=98, omit_header=True, ignore_obsolete=True, no_location=True)


def main(*names: str) -> int:
    done = [build(ROOT, language) for language in languages(ROOT)]
    for language in languages(ROOT):
        for name in names:
            update(ROOT, language, name)
    return max(done, default=0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
