"""Make each line of a code block an element, so that long lines wrap on narrow pages.

`book.css` lets code wrap on a phone and on paper, where what follows stands two columns further
in than its line began.
"""

import re
from html import unescape
from pathlib import Path

CODE = re.compile(
    r'(<div class="highlight-(?!text|none|myst-ansi)[\w-]+ notranslate"><div class="highlight">'
    r"<pre>)(?:<span></span>)(.*?)(</pre>)",
    re.DOTALL,
)
TAG = re.compile(r"<[^>]*>")


def in_lines(match: re.Match) -> str:
    """Wrap every line of a code block in an element that stores its indentation."""
    lines = match[2].removesuffix("\n").split("\n")
    if any(line.count("<span") != line.count("</span>") for line in lines):
        return match[0]
    made = []
    for line in lines:
        text = unescape(TAG.sub("", line))
        inside = len(text) - len(text.lstrip(" ")) if text.strip() else 0
        style = f' style="--in:{inside}"' if inside else ""
        made.append(f'<span class="line"{style}>{line}\n</span>')
    return f"{match[1]}{''.join(made)}{match[3]}"


def finish(app, exception) -> None:
    """Process every page; write it only if that changes it, which keeps its date."""
    for page in [] if exception else Path(app.outdir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        if (mended := CODE.sub(in_lines, html)) != html:
            page.write_text(mended, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=810)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
