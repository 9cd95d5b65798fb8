"""The page of the package's names: convert docstrings for Sphinx, and link to their entries.

Sphinx's autodoc reads the docstrings. Their sections have the usual names (Parameters, Returns,
...), but a parameter is described on the line that names it, so they are rewritten here as lists.
Every `ps.name` in the text of a page becomes a link to its entry.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

PAGE = "reference/api.html"
SECTIONS = "Parameters|Attributes|Returns|Yields|Raises|Notes|Example"
SECTION = re.compile(rf"^({SECTIONS})\n-{{3,}}\n", re.MULTILINE)
LITERAL = re.compile(r"(``.*?``)")
KINDS = re.compile(r"(?<=\.)\s+(?=[A-Z]\w+ : )")  # of errors, in one paragraph
SOURCE = re.compile(r"^(Sources?): ")
NAME = re.compile(r"(?:ps|persample)\.([A-Za-z_][\w.]*)")


def escaped(line: str) -> str:
    """Return a line of a docstring with reStructuredText escaped, except in its code."""
    if line.lstrip().startswith(">>>"):
        return line
    parts = LITERAL.split(line)
    plain = (
        re.sub(r"(?<!`)`([\w.]+)`(?!`)", r"``\1``", part).replace("|", r"\|")
        for part in parts[::2]
    )
    return "".join(part + code for part, code in zip(plain, [*parts[1::2], ""], strict=True))


def entries(body: list[str]) -> list[str]:
    """Return the lines of a section such as Parameters as a reStructuredText definition list."""
    made: list[str] = []
    for line in body:
        named = re.match(r"(\S.*?) : (.*)", line)
        if named:
            made += ["", f"``{named[1]}``", f"    {escaped(named[2])}"]
        else:
            made.append(f"    {escaped(line.strip())}" if line.strip() else "")
    return made


def text(lines: list[str]) -> list[str]:
    """Return the lines of running text; a paragraph "Source: ..." becomes a field."""
    made: list[str] = []
    source = False
    for line in lines:
        if SOURCE.match(line):
            made += ["", SOURCE.sub(r":\1: ", escaped(line))]
            source = True
        else:
            source = source and bool(line.strip())
            made.append(f"    {escaped(line.strip())}" if source else escaped(line))
    return [*made, ""] if source else made


def rewritten(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with its sections as reStructuredText fields."""
    start, *parts = SECTION.split("\n".join(lines))
    made = text(start.splitlines())
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        body, *source = re.split(r"^(?=Sources?: )", part, maxsplit=1, flags=re.MULTILINE)
        inner = KINDS.sub("\n", body).splitlines()
        if name in ("Parameters", "Attributes", "Raises"):
            inner = entries(inner)
        elif name != "Example":
            inner = [escaped(line.strip()) for line in inner]
        made += ["", f":{name}:", *(f"    {line}".rstrip() for line in inner), ""]
        made += text("".join(source).splitlines())
    return made


def process(app, what, name, obj, options, lines) -> None:
    """Rewrite the lines of a docstring that autodoc has read, in place."""
    lines[:] = rewritten(lines)


class Names(SphinxPostTransform):
    """Link names of the package in a page's text to their entries."""

    default_priority = 8  # after outputs in Markdown have come, before references are resolved

    def run(self):
        for code in list(self.document.findall(nodes.literal)):
            name = NAME.match(code.astext())
            if name and not isinstance(code.parent, nodes.title | addnodes.pending_xref):
                place = {"refdomain": "py", "reftype": "obj", "refwarn": False}
                target = f"persample.{name[1].rstrip('.')}"
                link = addnodes.pending_xref("", code.deepcopy(), reftarget=target, **place)
                code.replace_self(link)


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process)
    app.add_post_transform(Names)
