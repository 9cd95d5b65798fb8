"""The search of the built book: an index of every place of every page, for MiniSearch.

A place is a section, a term of the glossary or a name of the package. The index is written as a
script, not as data, so that the search also works in a book opened from a folder.
"""

import json
import re
from html import unescape
from pathlib import Path

from book_plain import TOLD
from book_sharing import settings
from book_translation import ENGLISH, pages, translated
from docutils import nodes
from sphinx import addnodes

PLACES = nodes.section, nodes.definition_list_item, addnodes.desc
HEADINGS = nodes.title, nodes.term, addnodes.desc_name
# A text within one of these is said once, with the whole.
WHOLES = nodes.TextElement, addnodes.pending_xref, addnodes.desc_signature
# What nobody types: long formulas, what a cell prints, and what is no text, as of a picture.
LEFT_OUT = nodes.math_block, nodes.raw, nodes.comment, nodes.substitution_definition, nodes.image
LEFT_OUT += addnodes.toctree, addnodes.index, addnodes.desc_parameterlist, nodes.topic
LOWERED = str.maketrans("0123456789+-=ijknoxaeht", "₀₁₂₃₄₅₆₇₈₉₊₋₌ᵢⱼₖₙₒₓₐₑₕₜ")
RAISED = str.maketrans("0123456789+-=ijkntTde", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼ⁱʲᵏⁿᵗᵀᵈᵉ")
NAMES = {
    "cdot": "·",
    "top": "T",
    "varepsilon": "ε",
    "sqrt": "√",
    "tfrac12": "½",
    "le": "≤",
    "ge": "≥",
}
NAMES |= dict.fromkeys(("operatorname", "text", "mathrm", "big"), "")
NAMES |= {name: name for name in ("log", "ln", "tanh", "min", "max")}


def plain(tex: str) -> str:
    """Return a short formula in letters of Unicode, or an ellipsis if there are none for it."""

    def moved(found: re.Match) -> str:
        text, letters = found[2] or found[3], LOWERED if found[1] == "_" else RAISED
        return text.translate(letters) if all(ord(c) in letters for c in text) else found[0]

    name = lambda found: NAMES.get(found[1], unescape(f"&{found[1]};"))  # noqa: E731
    said = re.sub(r"\\(tfrac12|[A-Za-z]+)", name, tex)
    said = re.sub(r"([_^])(?:\{([^{}]*)\}|(.))", moved, re.sub(r"\\[,;! ]", " ", said))
    return "…" if re.search(r"[\\{}&]", said) else said


def is_left_out(node: nodes.Node) -> bool:
    """Return whether a node is left out of the index."""
    said = getattr(node, "attributes", {})
    # A link to a page, whose words are that page's; a citation or label, which is still a key.
    other = said.get("refdomain") in ("doc", "cite")
    key = said.get("reftype") in ("ref", "numref") and not said.get("refexplicit")
    return isinstance(node, LEFT_OUT) or other or key or "cell_output" in said.get("classes", [])


def name_of(node: nodes.Node) -> str:
    """Return the id for links to a place; "" if the node is not a place or has no id.

    The inner section of an exercise, whose id ends in "-content", is not a place.
    """
    if not isinstance(node, PLACES):
        return ""
    ids = node["ids"] or node[0].get("ids") or [""]
    return "" if ids[0].endswith("-content") else ids[0]


def folded(doctree: nodes.document) -> set[nodes.Node]:
    """Return what a reader unfolds: solutions, answers, and what a Predict box covers."""
    found = set()
    for box in doctree.findall(nodes.Element):
        kinds = box.get("classes", [])
        if "dropdown" in kinds and "messages" not in kinds:
            found |= set(box.findall())
        is_answer = isinstance(box, nodes.raw) and box.astext().startswith("<details>")
        if not is_answer and "predict" not in kinds:
            continue
        for after in box.findall(include_self=False, siblings=True, descend=False):
            found |= set(after.findall())
            if after.astext() == ("</details>" if is_answer else TOLD[1]):
                break
    return found


def cited(env) -> dict[str, str]:
    """Return {key: first author and year} of the bibliography."""
    works = env.get_domain("cite").bibdata.data.entries
    found = {}
    for key, work in works.items():
        first, *others = [
            " ".join(p.last_names).strip("{}") for p in work.persons.get("author", [])
        ] or [key]
        found[key] = f"{first}{' et al.' * bool(others)} ({work.fields.get('year', 'undated')})"
    return found


def said_for(link: nodes.Element, works: dict[str, str]) -> str:
    """Return what an excerpt shows for a node that is left out of the index, or "".

    The words of a link that sets a live figure; of another link, between ‹ and ›.
    """
    if "live-set" in link.astext():
        return unescape(re.sub(r"<[^>]*>", "", link.astext()))
    if link.get("refdomain") == "cite":
        return f"‹{works.get(link['reftarget'], '…')}›" if link["reftype"] == "t" else ""
    return f"‹{link.astext()}›" if link.get("refexplicit") else ""


def places(doctree: nodes.document, address: str, works: dict[str, str]) -> list[dict]:
    """Return a dict for every place of a page: its address, heading, words and code.

    What is shown but not found stands between ‹ and ›; ``works`` names the cited ones. Nodes that
    are left out of the index are removed from ``doctree``.
    """
    hidden = folded(doctree)
    for node in list(doctree.findall(is_left_out)):
        if node.parent is not None:
            said = said_for(node, works)
            node.parent.replace(node, nodes.Text(said) if said else [])
    for formula in list(doctree.findall(nodes.math)):
        said = plain(formula.astext())
        of_words = said == formula.astext() or said == "…"
        formula.parent.replace(formula, nodes.Text(said if of_words else f"‹{said}›"))
    found: dict[str, dict] = {}
    for block in doctree.findall(nodes.TextElement):
        inside = isinstance(block.parent, WHOLES)
        place = None if inside and not isinstance(block, addnodes.desc_name) else block
        while place is not None and not name_of(place):
            place = place.parent
        if (name := name_of(place)) == "":
            continue
        mine = found.setdefault(name, dict.fromkeys(("heading", "words", "folded", "code"), ""))
        mine["place"] = f"{address}#{name}"
        is_name = isinstance(block, HEADINGS) and not mine["heading"]
        is_code = isinstance(block, nodes.literal_block | nodes.doctest_block)
        kind = "code" if is_code else "folded" if block in hidden else "words"
        said = re.sub(r" (?=[,.;:)](?: |$))", "", " ".join(block.astext().split()))
        if isinstance(block.parent, nodes.entry) and said[-1:] not in (*".,;:?!", ""):
            said += "." if block.parent is block.parent.parent[-1] else ","
        mine["heading" if is_name else kind] += said if is_name else f"{said} "
    return [mine for name, mine in found.items() if name != "sources"]


def finish(app, exception) -> None:
    """Collect the places of all pages, and write the search script."""
    if exception or app.builder.format != "html":
        return
    root, language = Path(app.srcdir), app.config.language
    known, works, found = settings(root), cited(app.env), []
    for name in sorted(app.env.found_docs):
        said = [known.get(name, {}).get(key, "") for key in ("description", "search")]
        about = [translated(root, language, text) for text in said]
        title, is_here = app.env.titles[name].astext(), language == ENGLISH
        if not is_here and name in pages(root, language):
            about, is_here = [*about, *said], True  # as some ask in English
        place = f"{name}.html" if is_here else f"../{name}.html"
        heading = {} if is_here else {"heading": title}
        page = {"place": place, "title": title, "about": " ".join(about), "shown": about[0]}
        page["explains"] = known.get(name, {}).get("explains", "")
        found.append(page | heading)
        if is_here:
            found += places(app.env.get_doctree(name), place, works)
    write(Path(app.outdir), found)


def write(folder: Path, found: list[dict]) -> None:
    """Write the search script with the index of the places ``found``."""
    code = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    code = f"const bookPlaces = {json.dumps(found, ensure_ascii=False)};\n{code}"
    Path(folder, "_static/book_search.js").write_text(code, encoding="utf-8")


def written(folder: Path) -> list[dict]:
    """Return the places in the search script of a built book."""
    with Path(folder, "_static/book_search.js").open(encoding="utf-8") as script:
        return json.loads(script.readline().removeprefix("const bookPlaces = ").strip(";\n"))


def setup(app):
    app.connect("build-finished", finish)
