"""The page of the package's names: docstrings as this package writes them, and links to them.

Sphinx's autodoc reads the docstrings. Their sections are its readers' (Parameters, Returns, ...)
but a parameter is described in the line that names it, so they are rewritten here as lists. Then
every `ps.name` in the text of a page leads to its entry.
"""

import re
from pathlib import Path

from book_weight import pages, write

PAGE = "reference/api.html"
SECTIONS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Example"}
LITERAL = re.compile(r"(``.*?``)")
SOURCE = re.compile(r"^(Sources?): ")
# A name in the text, alone or called: `ps.clip`, `ps.record(model)`; it may break at its dots.
NAME = re.compile(
    r'(?<!">)(<code class="(?:docutils )?literal(?: notranslate)?">(?:<span class="pre">)?'
    r"(?:ps|persample)\.((?:<wbr>)?[A-Za-z_](?:<wbr>|[\w.])*)"
    r"(?:\([^<]*)?(?:</span>(?:(?!</code>).)*)?</code>)(?!</a>)"
)


def escaped(line: str) -> str:
    """Return a line of a docstring in which only its code is markup."""
    if line.lstrip().startswith(">>>"):
        return line
    parts = LITERAL.split(line)
    plain = (
        re.sub(r"(?<!`)`([\w.]+)`(?!`)", r"``\1``", part).replace("|", r"\|")
        for part in parts[::2]
    )
    return "".join(part + code for part, code in zip(plain, [*parts[1::2], ""], strict=True))


def entries(body: list[str]) -> list[str]:
    """Return the lines of a section of names as a list of definitions."""
    made: list[str] = []
    for line in body:
        named = re.match(r"(\S.*?) : (.*)", line)
        if named:
            made += ["", f"``{named[1]}``", f"    {escaped(named[2])}"]
        else:
            made.append(f"    {escaped(line.strip())}" if line.strip() else "")
    return made


def rewritten(lines: list[str]) -> list[str]:
    """Return a docstring with its sections as fields."""
    made: list[str] = []
    at, section = 0, ""
    body: list[str] = []

    def close():
        if not section:
            return
        listed = section in {"Parameters", "Attributes", "Raises"}
        inner = entries(body) if listed else [escaped(line.strip()) for line in body]
        if section == "Example":
            inner = body
        made.extend(["", f":{section}:", *(f"    {line}".rstrip() for line in inner), ""])

    while at < len(lines):
        line = lines[at]
        ruled = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip() or " ")
        if line in SECTIONS and ruled:
            close()
            section, body = line, []
            at += 2
            continue
        if SOURCE.match(line):
            close()
            section, body = "", []
            made += ["", SOURCE.sub(r":\1: ", escaped(line))]
            at += 1
            while at < len(lines) and lines[at].strip():
                made.append(f"    {escaped(lines[at].strip())}")
                at += 1
            made.append("")
            continue
        if section:
            body.append(line)
        else:
            made.append(escaped(line))
        at += 1
    close()
    return made


def process(app, what, name, obj, options, lines) -> None:
    """Rewrite a docstring that autodoc has read."""
    lines[:] = rewritten(lines)


def linked(html: str, names: set[str], base: str) -> str:
    """Let every name of the package in the text of a page lead to its entry."""

    def link(match):
        name = match[2].replace("<wbr>", "").rstrip(".")
        if f"persample.{name}" not in names:
            return match[0]
        return f'<a class="reference internal" href="{base}#persample.{name}">{match[1]}</a>'

    article, end = html.find("<article"), html.find("</article>")
    if min(article, end) < 0:
        return html
    text = html[article:end]
    # Not in what is a link already, nor in a heading.
    parts = re.split(r"(<a\b.*?</a>|<h[1-6]\b.*?</h[1-6]>|<pre\b.*?</pre>)", text, flags=re.DOTALL)
    parts[::2] = [NAME.sub(link, part) for part in parts[::2]]
    return html[:article] + "".join(parts) + html[end:]


def finish(app, exception) -> None:
    """Link the names on every page but their own."""
    folder = Path(app.outdir)
    page = folder / PAGE
    if exception or app.builder.format != "html" or not page.is_file():
        return
    names = set(re.findall(r'<dt [^>]*id="(persample\.[\w.]+)"', page.read_text("utf-8")))
    for one in pages(folder):
        if one != page:
            base = "../" * (len(one.relative_to(folder).parts) - 1) + PAGE
            write(one, linked(one.read_text(encoding="utf-8"), names, base))


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process)
    app.connect("build-finished", finish, priority=780)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
