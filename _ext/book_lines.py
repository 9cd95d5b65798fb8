"""Make lines of code and text break in the right places in the built pages.

Each line of code becomes an element, so that `book.css` can wrap it on a phone and on paper and
indent the continuation by two columns; a call that does not fit breaks behind its bracket, and a
comment behind code goes to the next line as a whole. A formula is not separated from an adjacent
comma or bracket, nor a number from its per cent sign, nor the sides of `x = 1`. Pages default to
the light theme, for browsers without scripts.
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
ASIDE = re.compile(r'(?:(?<=</span>)  ( +)|<span class="w">  ( +)</span>)(?=<span class="c1">)')
INDENT = re.compile(r'(?:<span class="w">)?( +)(?:</span>)?')
# Where a call that is too long may break: behind its bracket, and before a method of its result.
CALL = re.compile(
    r'<span class="p">[^<]*'
    r'(?:\([\[{]?</span>(?!<span class="p">\))|\)</span>(?=<span class="o">\.<))'
)
# What is not text, or is left as it is; and in text, where it does not break.
NOT_TEXT = re.compile(
    r"(<(?:pre|code|script|style|svg|title)\b.*?</(?:pre|code|script|style|svg|title)>"
    r'|<(?:span|div) class="math.*?</(?:span|div)>|<[^>]*>)',
    re.DOTALL,
)
PERCENT = re.compile(r"(?<=\d) (?=%)")
EQUATION = re.compile(r"(?<![\w.])(\w{1,3}) = (−?\d[\d.,]{0,5}\b)")
FORMULA = r'<span class="math notranslate nohighlight">[^<]*</span>'
BESIDE = re.compile(rf"(\(?)({FORMULA})((?:[.,;:!?)’”]|-\w+)*)")


def in_lines(match: re.Match) -> str:
    """Return a code block with each line in an element whose style gives its indentation."""
    lines = match[2].removesuffix("\n").split("\n")
    if any(line.count("<span") != line.count("</span>") for line in lines):
        return match[0]
    made = []
    for line in lines:
        text = unescape(TAG.sub("", line))
        inside = len(text) - len(text.lstrip(" ")) if text.strip() else 0
        style = f' style="--in:{inside}"' if inside else ""
        if (start := INDENT.match(line)) and len(start[1]) == inside:
            line = f'<span class="in">{start[1]}</span>{line[start.end() :]}'
        if text.lstrip()[:1] != "#":  # on a phone two spaces are enough before a comment
            line = ASIDE.sub(r'<span class="gap">\1\2</span>  ', line)
        line = CALL.sub(r"\g<0><wbr>", line)
        made.append(f'<span class="line"{style}>{line}\n</span>')
    return f"{match[1]}{''.join(made)}{match[3]}"


def together(match: re.Match) -> str:
    """Return a formula and the adjacent text in an element that does not break."""
    touches = match[1] or match[3]
    return f'<span class="together">{match[0]}</span>' if touches else match[0]


def unbroken(html: str) -> str:
    """Return a page with no-break spaces before a per cent sign, and in a short equation."""
    parts = NOT_TEXT.split(html)  # text, what is none, text, ...
    parts[::2] = [
        EQUATION.sub("\\1\xa0=\xa0\\2", PERCENT.sub("\xa0", text)) for text in parts[::2]
    ]
    return "".join(parts)


def finish(app, exception) -> None:
    """Process every page; write only changed pages, so that the others keep their date."""
    for page in [] if exception else Path(app.outdir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        mended = CODE.sub(in_lines, html)
        if 'class="together"' not in html:  # as in a page that this build did not write anew
            mended = BESIDE.sub(together, mended)
        mended = unbroken(mended)
        mended = mended.replace('data-theme="auto"', 'data-theme="light"', 1)
        if mended != html:
            page.write_text(mended, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=810)
