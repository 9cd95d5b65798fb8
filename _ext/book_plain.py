"""Plain notebooks: every notebook program shows them, and the book turns them into MyST.

The Markdown of a notebook is CommonMark with GitHub's tables and `$...$`. What only the built page
needs stands in HTML comments, which every program hides. When Sphinx reads a notebook, each text
cell becomes MyST:

    in the notebook                                        on the page
    <!-- label: NAME -->, before a heading, a paragraph    its label, for links to it
    [words](05_td0.ipynb#The-heading)                      a link to the label of that heading
    [words](05_td0.ipynb#The-heading)<!-- to: NAME -->     a link to the label NAME
    [words](files/td0_in_mindspore.ipynb)                  a notebook to download, not a page
    [Exercise 15.3](#Make:-a-rule)                         a link with the exercise's number
    [words](../reference/glossary.md#trace)                a term, which shows what it means
    ([Abadi et al., 2016](https://...))                    a citation: the address names the work,
    [Abadi et al. (2016)](https://...)                     as `addresses` has it
    <!-- predict -->, before > **Predict.** A question.    a box of this class, with this title
    <!-- told -->                                          what gives its answer away ends here
    <!-- live-NAME -->, before a quoted box                a live figure (book_live.py)
    *words*<!-- set: bound=2 -->                           they put the live figure into this state
    <details><summary>Answer</summary> ... </details>      a folded box; a comment names its class
    <!-- tabs -->, <!-- tab: NAME --> **Title**, <!-- /tabs -->      tabs
    <!-- code: FILE ... -->, before a block of code        nothing: a test compares it with FILE
    <!-- install -->, before a paragraph                   nothing
    <!-- exercise: NAME -->, before ### Title              an exercise, up to the end of its cell
    #### Check my answer                                   nothing: the cells below fold
    #### Solution                                          a folded solution, up to the next part

The symbols of a comparison get their colours. Of folded code the page says what it is: a check,
without what it prints, as nobody has answered yet; the code of a figure; or functions that the
checks share.
"""

import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote

GLOSSARY = "reference/glossary.md"
NAMES = ["right", "part", "raised", "failed", "limit", "wrong"]
SYMBOLS = dict(zip("●◐○△◇✖", NAMES, strict=True))
COLOURED = re.compile(rf"^\|.*\n(?=\| *:?-)|[{''.join(SYMBOLS)}]", re.M)
MARK = re.compile(r"^<!-- (?:label|exercise): ([\w-]+) -->\n#+ (.+)", re.M)
MYST = re.compile(r"^\(([\w-]+)\)=\n#+ (.+)", re.M)  # the same in a page that is not a notebook
FENCED = re.compile(r"(^(?P<fence>`{3,}).*?^(?P=fence)$)", re.M | re.S)
TOLD = "<!-- told -->", '<div class="told"></div>'
TABS = re.compile(r"^<!-- tabs(?:: (\w+))? -->\n(.*?)\n<!-- /tabs -->$", re.M | re.S)
TAB = re.compile(r"^<!-- tab(?:: (\w+))? -->\n\*\*(.+?)\*\*\n+", re.M)
QUOTE = re.compile(r"^<!-- ([\w -]+) -->\n((?:>.*(?:\n|\Z))+)", re.M)
FOLD = re.compile(
    r"^(?:<!-- ([\w -]+) -->\n)?<details><summary>(.+?)</summary>\n(.*?)\n</details>$", re.M | re.S
)
HIDDEN = re.compile(r"^(?:<!-- code: .* -->\n|<!-- install -->\n(?:.+(?:\n|\Z))+\n*)", re.M)
EXERCISE = re.compile(r"^<!-- exercise: ([\w-]+) -->\n#+ ([^\n]+)\n+(.*)", re.M | re.S)
ENDS = re.compile(r"^(?:<!-- exercise: |## )", re.M)  # where a solution does
CHECK, SOLUTION = "#### Check my answer", "#### Solution"
KINDS = ["check", "code of the figure", "helper functions"]
AUTHORS = r"\[[^\[\]]*, \d{4}\]\(([^()\s]+)\)"
INLINE = re.compile(
    rf"(?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    rf"|(?P<works>\({AUTHORS}(?:; {AUTHORS})*\))|(?P<picture>!\[[^\]]*\]\([^()\s]+\))"
    r"|\*(?P<does>[^*\n]+)\*<!-- set: (?P<state>[^>]+) -->"
    r"|\[(?P<words>(?:`[^`]*`|[^\[\]`])*)\]\((?P<url>[^()\s]+)\)(?:<!-- to: (?P<to>[\w-]+) -->)?",
    re.S,
)
WORK = r"[^][()]+ \(\d{4}\)"
NUMBER = re.compile(r"Exercise [\d.]+")
HOST = re.compile(r"(?<![\w/.])((?:[\w-]+\.)+(?:com|org|dev|net|cn|io)/[^\s{},]+)")


def anchor(heading: str) -> str:
    """Return a heading in the form that Jupyter uses in links: `The-heading`."""
    return re.sub(r"[`*\\]", "", heading).strip().replace(" ", "-")


def slug(heading: str) -> str:
    """Return a heading or a term in the form that GitHub and MyST use in links: `the-heading`."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def address(key: str, fields: dict[str, str]) -> str:
    """Return the URL of a work, or its place in the bibliography if it has none."""
    said = " ".join(fields.get(name, "") for name in ("howpublished", "note")).replace("\\", "")
    paper = fields.get("eprint") or "".join(re.findall(r"arXiv:(\d+\.\d+)", said))
    for there, url in (
        (fields.get("doi"), f"https://doi.org/{fields.get('doi')}"),
        (fields.get("url"), fields.get("url")),
        (paper, f"https://arxiv.org/abs/{paper}"),
        *((True, found) for found in re.findall(r"https?://[^\s{}]+", said)),
        *((True, f"https://{found}") for found in HOST.findall(said)),
    ):
        if there:
            return quote(url.replace("\\", ""), safe=":/?=&%#~@,+;")
    return f"../reference/references.bib#{key}"


def addresses(entries: dict) -> dict[str, str]:
    """Return {address: key} for the works of a bibliography; equal addresses get #key added."""
    found: dict[str, str] = {}
    for key, entry in entries.items():
        url = address(key, entry.fields)
        found[f"{url}#{key}" if url in found else url] = key
    return found


@cache
def _places(path: Path, changed: float) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return {slug(heading): label for label, heading in MYST.findall(text)}
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    found = (MARK.findall("".join(cell["source"])) for cell in cells)
    return {anchor(heading): label for marks in found for label, heading in marks}


def places(path: Path) -> dict[str, str]:
    """Return {heading in the form used in links: label} of a page."""
    return _places(path, path.stat().st_mtime) if path.is_file() else {}


def terms(glossary: str) -> dict[str, str]:
    """Return {slug: term} for the text of the glossary."""
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```", glossary, re.M | re.S)
    names = [line for block in blocks for line in block.splitlines() if line and line[0] != " "]
    return {slug(name): name for name in names}


def box(kind: str, title: str, body: str, options: tuple[str, ...] = ()) -> str:
    """Return a MyST directive whose fence is longer than the fences in its body."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"^`{3,}", body, re.M))])
    head = "\n".join([f"{fence}{{{kind}}} {title}".rstrip(), *options])
    return f"{head}\n{body.strip()}\n{fence}" if body.strip() else f"{head}\n{fence}"


class Page:
    """One notebook: converts its cells to MyST, and tracks exercises, checks and solutions."""

    def __init__(self, path: Path, works: dict[str, str], meanings: dict[str, str]):
        self.path, self.works, self.meanings = path, works, meanings
        self.exercise, self.checking, self.solving, self.linked = "", False, False, set()

    def cells(self, cells: list[dict]) -> list[dict]:
        """Return the cells of the page, without those for the notebook only."""
        made = []
        for cell in cells:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"])
                if text.strip() != CHECK:
                    made.append(cell | {"source": self.cell(text)})
                is_part = text.strip() == SOLUTION or ENDS.search(text)
                self.checking = text.strip() == CHECK or (self.checking and not is_part)
                continue
            if "hide-input" in cell["metadata"].get("tags", []):
                cell = self.named(cell)
                if made and made[-1]["cell_type"] == "code" and joined(made[-1], cell):
                    continue
            for data in (out["data"] for out in cell["outputs"] if "data" in out):
                if "text/markdown" in data:
                    data["text/markdown"] = self.blocks("".join(data["text/markdown"]))
            made.append(cell)
        return made

    def named(self, cell: dict) -> dict:
        """Return a cell whose code is folded, with what its fold is called."""
        drawn = any("image/png" in output.get("data", {}) for output in cell["outputs"])
        kind = KINDS[0 if self.checking else 1 if drawn else 2]
        names = {f"code_prompt_{how.lower()}": f"{how} the {kind}" for how in ("Show", "Hide")}
        metadata = cell["metadata"]
        metadata = metadata | {"mystnb": names | metadata.get("mystnb", {})}
        return cell | {"metadata": metadata} | ({"outputs": []} if self.checking else {})

    def cell(self, text: str) -> str:
        """Return a text cell as MyST; exercises and solutions may begin or end in it."""
        if text.strip() == SOLUTION:
            self.solving = True
            return box("solution-start", self.exercise, "", (":class: dropdown",))
        ends = self.solving and ENDS.search(text)
        if ends:
            self.solving = False
            before, after = text[: ends.start()], text[ends.start() :]
            end = box("solution-end", "", "")
            return f"{self.blocks(before)}\n{end}\n\n{self.cell(after)}"
        if found := EXERCISE.search(text):
            self.exercise, title, body = found.groups()
            options = (f":label: {self.exercise}",)
            made = box("exercise", title, self.blocks(body), options)
            return f"{self.blocks(text[: found.start()])}{made}"
        return self.blocks(text)

    def blocks(self, text: str) -> str:
        """Return text as MyST: boxes, folds, tabs, labels, links and coloured symbols."""
        text = HIDDEN.sub("", text).replace(*TOLD)
        text = TABS.sub(self.tabs, text)
        text = QUOTE.sub(self.quoted, text)
        text = FOLD.sub(self.folded, text)
        text = re.sub(r"^<!-- label: ([\w-]+) -->$", r"(\1)=", text, flags=re.M)
        parts = FENCED.split(text)  # text, block, its fence, text, ...
        parts[::3] = [COLOURED.sub(coloured, INLINE.sub(self.inline, part)) for part in parts[::3]]
        return "".join(part for i, part in enumerate(parts) if i % 3 != 2)

    def tabs(self, match: re.Match) -> str:
        group, body = match.groups()
        _, *parts = TAB.split(body)
        made = [
            box("tab-item", title, self.blocks(inner), (f":sync: {name}",) * bool(name))
            for name, title, inner in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        ]
        return box("tab-set", "", "\n".join(made), (f":sync-group: {group}",) * bool(group))

    def quoted(self, match: re.Match) -> str:
        body = re.sub(r"^> ?", "", match[2], flags=re.M)
        title = "Live figure"
        if not match[1].startswith("live-"):
            _, title, body = re.split(r"\A\*\*(.+?)\.?\*\*\s+", body)
        return box("admonition", title, self.blocks(body), (f":class: {match[1]}",)) + "\n"

    def folded(self, match: re.Match) -> str:
        kind, title, body = match.groups()
        title = re.sub(r"</?code>", "`", unescape(title))
        options = (f":class: dropdown {kind or ''}".rstrip(),)
        return box("admonition", title, self.blocks(body), options)

    def inline(self, match: re.Match) -> str:
        """Return a link as a MyST role: to a label, a term, a work or a file."""
        if match["code"] or match["picture"]:
            return match[0]
        if match["state"]:
            return f"{{set}}`{match['does']} <{match['state']}>`"
        if match["works"]:
            keys = [self.works.get(url) for url in re.findall(AUTHORS, match[0])]
            return f"{{cite:p}}`{','.join(keys)}`" if all(keys) else match[0]
        words, url, label = match["words"], match["url"], match["to"]
        name, _, place = unquote(url).partition("#")
        if url in self.works and re.fullmatch(WORK, words):
            return f"{{cite:t}}`{self.works[url]}`"
        if name.endswith("glossary.md") and place in self.meanings:
            return f"{{term}}`{words} <{self.meanings[place]}>`"
        if name.startswith("files/") and name.endswith(".ipynb"):
            return f"[{words}](path:{name})"
        if place and not label and ":" not in name:
            page = (self.path.parent / name).resolve() if name else self.path
            self.linked.add(page)
            label = places(page).get(place)
        if label and NUMBER.fullmatch(words):
            return f"{{numref}}`{label}`"
        return f"[{words}]({label})" if label else match[0]


def joined(first: dict, cell: dict) -> bool:
    """Add the code of a cell to the fold above it, if that has the same name and no output."""
    if first["outputs"] or cell["outputs"] or first["metadata"] != cell["metadata"]:
        return False
    code = ["".join(one["source"]).rstrip() for one in (first, cell)]
    first["source"] = "\n\n\n".join(code)
    return True


def coloured(match: re.Match) -> str:
    """Return a symbol with the class of its colour; other matches are unchanged."""
    return f"[{match[0]}]{{.{SYMBOLS[match[0]]}}}" if match[0] in SYMBOLS else match[0]


def read(app, docname: str, source: list[str]) -> None:
    """Convert a notebook to MyST when Sphinx reads it; read it again if a linked page changes."""
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".ipynb":
        return
    glossary = Path(app.srcdir, GLOSSARY)
    known = terms(glossary.read_text(encoding="utf-8")) if glossary.is_file() else {}
    page = Page(path, addresses(app.env.get_domain("cite").bibdata.data.entries), known)
    notebook = json.loads(source[0])
    notebook["cells"] = page.cells(notebook["cells"])
    source[0] = json.dumps(notebook)
    for linked in page.linked:
        app.env.note_dependency(str(linked))


def setup(app):
    app.connect("source-read", read)
