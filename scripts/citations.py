"""Write or correct the citations in the notebooks from the bibliography.

python scripts/citations.py    turns [@abadi2016] into ([Abadi et al., 2016](address)),
                               @[abadi2016] into [Abadi et al. (2016)](address), and corrects
                               the words where authors or year have changed
"""

import re
import sys
from pathlib import Path

import nbformat
from notebook_rules import chapters
from pybtex.database import Entry, parse_file

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "_ext"))

from book_plain import AUTHORS, WORK, addresses  # noqa: E402

WORKS = parse_file(ROOT / "reference/references.bib").entries
ADDRESSES = {key: url for url, key in addresses(WORKS).items()}
KEYS = {url: key for key, url in ADDRESSES.items()}


def words(entry: Entry) -> tuple[str, str]:
    """Return (authors as cited, such as "Abadi et al.", year)."""
    people = entry.persons["author"]
    names = [
        " ".join(str(name) for name in (*one.rich_prelast_names, *one.rich_last_names))
        for one in people
    ]
    if len(names) > 2 or names[-1] == "others":
        return f"{names[0]} et al.", entry.fields["year"]
    return " and ".join(names), entry.fields["year"]


def in_brackets(*keys: str) -> str:
    """Return a citation of one or more works in parentheses, as Markdown links."""
    links = (f"[{', '.join(words(WORKS[key]))}]({ADDRESSES[key]})" for key in keys)
    return f"({'; '.join(links)})"


def in_text(key: str) -> str:
    """Return a citation as part of a sentence, as a Markdown link."""
    authors, year = words(WORKS[key])
    return f"[{authors} ({year})]({ADDRESSES[key]})"


def corrected(text: str) -> str:
    """Return the text with citations by key expanded, and existing ones corrected."""
    text = re.sub(r"\[@(\w+(?:; ?@\w+)*)\]", lambda m: in_brackets(*re.split("; ?@", m[1])), text)
    text = re.sub(r"@\[(\w+)\]", lambda m: in_text(m[1]), text)
    known = lambda m, made: made(KEYS[m[1]]) if m[1] in KEYS else m[0]  # noqa: E731
    text = re.sub(AUTHORS, lambda m: known(m, lambda key: in_brackets(key)[1:-1]), text)
    return re.sub(rf"\[{WORK}\]\(([^()\s]+)\)", lambda m: known(m, in_text), text)


def main() -> None:
    for path in chapters(ROOT):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = corrected(cell.source)
        path.write_text(nbformat.writes(notebook).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
