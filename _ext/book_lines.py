"""Code that fits a narrow page: each line of it is an element, so that it can wrap by itself.

`book.css` lets code wrap on a phone and on paper, where what follows stands two columns further
in than its line began. What a cell prints says how wide it is, and gets a smaller type; it is
not wrapped, or its columns would no longer stand below each other, unless it has none.
"""

import re
from html import unescape
from pathlib import Path

CODE = re.compile(
    r'(<div class="highlight-(?!text|none|myst-ansi)[\w-]+ notranslate"><div class="highlight">'
    r"<pre>)(?:<span></span>)(.*?)(</pre>)",
    re.DOTALL,
)
PRINTED = re.compile(
    r'(<div class="output [^"]*"><div class="highlight"><pre)>(.*?)(</pre>)', re.DOTALL
)
TAG = re.compile(r"<[^>]*>")
DEEP = 16  # columns; what stands further in is aligned with a bracket, and a phone has no room
BEFORE = re.compile(rf'^(<span class="w">)?( {{{DEEP}}})( +)')


def plain(html: str) -> str:
    """Return the text that a piece of HTML shows."""
    return unescape(TAG.sub("", html))


def in_lines(match: re.Match) -> str:
    """Put every line of a block of code into an element that knows how far in it begins."""
    lines = match[2].removesuffix("\n").split("\n")
    if any(line.count("<span") != line.count("</span>") for line in lines):
        return match[0]
    made = []
    for line in lines:
        text = plain(line)
        inside = len(text) - len(text.lstrip(" ")) if text.strip() else 0
        style = f' style="--in:{inside}"' if inside else ""
        line = BEFORE.sub(r'\1\2<span class="deep">\3</span>', line)
        made.append(f'<span class="line"{style}>{line}\n</span>')
    return f"{match[1]}{''.join(made)}{match[3]}"


def measured(match: re.Match) -> str:
    """Say of what a cell printed how many columns it takes, and whether it is running text."""
    lines = plain(match[2]).split("\n")
    flows = "" if any(re.search(r"\S {2,}\S", line) for line in lines) else ' class="flows"'
    return f'{match[1]}{flows} style="--columns:{max(map(len, lines))}">{match[2]}{match[3]}'


def mend(html: str) -> str:
    """Return a page whose code is in lines and whose output is measured."""
    return PRINTED.sub(measured, CODE.sub(in_lines, html))


def finish(app, exception) -> None:
    """Mend every page; write it if that changes it, so that its date says when it did."""
    for page in [] if exception else Path(app.outdir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        if (mended := mend(html)) != html:
            page.write_text(mended, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=810)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
