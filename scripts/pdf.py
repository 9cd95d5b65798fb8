"""Print the whole book into one PDF, with a title page, contents, an outline and page numbers.

    python scripts/pdf.py [FILE]      by default _build/per-sample-gradients.pdf

Chromium prints each page of the built book, and the prints are joined in the order of the
contents. Links between pages lead to their place in the PDF. Run `make book` first.
"""

import io
import sys
import tomllib
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from browser import HTML, ROOT, NoBrowser, browser, serve, settle
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, Fit, FloatObject, NameObject, NullObject

TARGET = ROOT / "_build" / "per-sample-gradients.pdf"
PAPER = {"format": "A4", "print_background": True, "prefer_css_page_size": False,
         "margin": {"top": "18mm", "bottom": "20mm", "left": "16mm", "right": "16mm"}}  # fmt: skip
TEXT = 673  # pixels that the text is wide on this paper

# Every place of a page gets a name in its print: Chromium names those that a link leads to. The
# pages unfold themselves before they are printed, but Chromium without a window says too early
# that it has done so, and they would fold again: so nothing is left that can.
NAMES = """
() => {
  dispatchEvent(new Event("beforeprint"));
  for (const fold of document.querySelectorAll("article details")) {
    fold.querySelectorAll("summary .expanded").forEach((e) => e.remove());
    const box = Object.assign(document.createElement("div"), {className: fold.className});
    box.append(...fold.childNodes);
    fold.replaceWith(box);
  }
  for (const e of document.querySelectorAll(".toggle-hidden")) e.classList.remove("toggle-hidden");
  for (const e of document.querySelectorAll(".toggle")) delete e.dataset.toggle_after_print;
  const all = document.createElement("div");
  all.style.display = "none";
  for (const e of document.querySelectorAll("article [id]"))
    all.append(Object.assign(document.createElement("a"), {href: `#${encodeURIComponent(e.id)}`}));
  document.querySelector("article").append(all);
  const shown = (e) => {
    const copy = e.cloneNode(true);
    copy.querySelectorAll(".headerlink, mjx-assistive-mml").forEach((x) => x.remove());
    return copy.textContent.trim().replace(/\\s+/g, " ");
  };
  return [...document.querySelectorAll("article :is(h1, h2, h3)")].map((e) =>
    [Number(e.tagName[1]), shown(e), e.closest("[id]")?.id ?? ""]);
}
"""
STYLE = """
<style>
@font-face {{ font-family: Sans; font-weight: 200 900;
  src: url({at}/_static/fonts/source-sans-3-latin-wght-normal.woff2); }}
body {{ font: 11pt/1.5 Sans, sans-serif; margin: 0; color: #22262b; }}
h1 {{ font-size: 34pt; line-height: 1.1; margin: 60mm 0 6mm; }}
.first {{ break-after: page; }} .pale {{ color: #5a6470; }}
h2 {{ font-size: 20pt; margin: 0 0 6mm; }}
h3 {{ font-size: 11pt; margin: 5mm 0 1mm; color: #5a6470; break-after: avoid; }}
p.line {{ display: flex; margin: 0 0 1mm; gap: 4mm; }} p.line span {{ flex: 1; }}
a {{ color: inherit; text-decoration: none; }}
</style>
"""


def order() -> list[tuple[str, str]]:
    """Return (part, address) of each page in the order of the contents."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [("", f"{contents['root']}.html")]
    for part in contents.get("parts", []):
        found += [(part["caption"], f"{one['file']}.html") for one in part["chapters"]]
    return found


def printed(page) -> PdfReader:
    """Return the page that is open in the browser, printed to PDF."""
    return PdfReader(io.BytesIO(page.pdf(**PAPER)))


def front(page, address: str, lines: list[tuple[str, str, int]]) -> PdfReader:
    """Return a PDF of the title page and contents; ``lines`` are (part, title, page number)."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    html, last = "", ""
    for part, title, number in lines:
        html += f"<h3>{escape(part)}</h3>" if part != last else ""
        html += f'<p class="line"><span>{escape(title)}</span>{number}</p>'
        last = part
    page.goto(f"{address}/404.html")  # so that the fonts are of the same origin
    page.set_content(
        f"<!doctype html><html lang=en><title>{escape(settings['title'])}</title>"
        f"{STYLE.format(at=address)}<div class=first><h1>{escape(settings['title'])}</h1>"
        f"<p>{escape(version['description'])}</p><p class=pale>{escape(settings['author'])}<br>"
        f"Version {version['version']}. Text: CC BY 4.0. Code: MIT.</p></div>"
        f"<h2>Contents</h2>{html}"
    )
    page.evaluate("document.fonts.ready")
    return printed(page)


def stamps(page, address: str, titles: list[str]) -> PdfReader:
    """Return a PDF with a footer for each page: its number and its chapter's title."""
    sheets = "".join(
        f'<div style="height: 297mm; position: relative; break-after: page">'
        f'<p style="position: absolute; bottom: 9mm; left: 16mm; right: 16mm; margin: 0;'
        f' font-size: 8pt" class="line pale"><span>{escape(title)}</span>{number}</p></div>'
        for number, title in enumerate(titles, start=1)
    )
    page.goto(f"{address}/404.html")
    page.set_content(f"<!doctype html>{STYLE.format(at=address)}{sheets}")
    page.evaluate("document.fonts.ready")
    zero = dict.fromkeys(("top", "bottom", "left", "right"), "0")
    return PdfReader(io.BytesIO(page.pdf(format="A4", margin=zero)))


def places(reader: PdfReader) -> dict[str, tuple[int, float]]:
    """Return {name: (page, height in points)} of the named destinations of a PDF."""
    found = {}
    for name, there in reader.named_destinations.items():
        number = reader.get_destination_page_number(there)
        if number is not None and number >= 0:
            found[unquote(name.lstrip("/"))] = number, float(there.top or 0)
    return found


def lead(writer: PdfWriter, link: DictionaryObject, number: int, top: float) -> None:
    """Make a link lead to the height ``top`` on a page of the joined PDF."""
    for key in ("/A", "/Dest", "/PA"):
        link.pop(NameObject(key), None)
    there = [writer.pages[number].indirect_reference, NameObject("/XYZ"), NullObject(),
             FloatObject(top), NullObject()]  # fmt: skip
    link[NameObject("/Dest")] = ArrayObject(there)


def join(chapters: list[dict], cover: PdfReader, address: str) -> PdfWriter:
    """Join the chapters' PDFs after the title page and contents; add outline and links."""
    writer = PdfWriter()
    for reader in [cover, *(chapter["print"] for chapter in chapters)]:
        for sheet in reader.pages:
            writer.add_page(sheet)
    start, known = len(cover.pages), {}
    for chapter in chapters:
        chapter["start"] = start
        here = {"": (start, 842.0)}
        here |= {name: (start + n, top) for name, (n, top) in places(chapter["print"]).items()}
        known[chapter["name"]] = here
        start += len(chapter["print"].pages)
    for chapter in chapters:
        for number in range(chapter["start"], chapter["start"] + len(chapter["print"].pages)):
            kept = ArrayObject()
            for one in writer.pages[number].get("/Annots", []):
                link = one.get_object()
                target = place(link, chapter["name"], known, address)
                if target is not None:
                    lead(writer, link, *target)
                elif str(link.get("/A", {}).get("/URI", "")).startswith(address):
                    continue  # a picture or a file beside the pages: not in the PDF
                kept.append(one)
            writer.pages[number][NameObject("/Annots")] = kept
    outline(writer, chapters, known)
    return writer


def place(link: DictionaryObject, here: str, known: dict, address: str):
    """Return (page, height) of a link's target in the book, or None for an external link."""
    if "/Dest" in link:
        name = str(link["/Dest"]).lstrip("/")
        return known[here].get(unquote(name), known[here][""])
    uri = str(link.get("/A", {}).get("/URI", ""))
    if not uri.startswith(f"{address}/"):
        return None
    parts = urlsplit(uri)
    there = known.get(parts.path.lstrip("/"))
    return there and there.get(unquote(parts.fragment), there[""])


def outline(writer: PdfWriter, chapters: list[dict], known: dict) -> None:
    """Add to the PDF an outline entry for each page of the book, with one for each section."""
    parts: dict[str, object] = {}
    for chapter in chapters:
        part, parent = chapter["part"], None
        if part:
            if part not in parts:
                parts[part] = writer.add_outline_item(title=part, page_number=chapter["start"])
            parent = parts[part]
        above = writer.add_outline_item(
            title=chapter["title"], page_number=chapter["start"], parent=parent
        )
        for level, title, name in chapter["headings"]:
            if level == 2:
                number, top = known[chapter["name"]].get(name, known[chapter["name"]][""])
                writer.add_outline_item(
                    title=title, page_number=number, parent=above, fit=Fit.xyz(None, top, None)
                )


def make(chromium, address: str, target: Path, names: list[str] | None = None) -> Path:
    """Print the book served at an address, or its pages ``names``, into the file ``target``."""
    page = chromium.new_page(viewport={"width": TEXT, "height": 900}, color_scheme="light")
    chapters = []
    for part, name in order():
        if names is not None and name not in names:
            continue
        page.goto(f"{address}/{name}")
        settle(page)
        headings = page.evaluate(NAMES)
        title = next(text for level, text, _ in headings if level == 1)
        chapters.append({"part": part, "name": name, "title": title, "headings": headings,
                         "print": printed(page)})  # fmt: skip
    before = len(front(page, address, [(c["part"], c["title"], 999) for c in chapters]).pages)
    lines, titles = [], [""] * before
    for chapter in chapters:
        lines.append((chapter["part"], chapter["title"], len(titles) + 1))
        titles += [chapter["title"]] * len(chapter["print"].pages)
    writer = join(chapters, front(page, address, lines), address)
    feet = stamps(page, address, titles)
    page.close()
    for number in range(before, len(titles)):
        writer.pages[number].merge_page(feet.pages[number])
        writer.pages[number].compress_content_streams()
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    writer.add_metadata({"/Title": settings["title"], "/Author": settings["author"]})
    writer.page_mode = "/UseOutlines"
    writer.compress_identical_objects()
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.write(target)
    return target


if __name__ == "__main__":
    if not (HTML / "index.html").is_file():
        sys.exit("The book is not built: run make book.")
    try:
        with serve() as here, browser() as started:
            made = make(started, here, Path(sys.argv[1]) if sys.argv[1:] else TARGET)
    except NoBrowser as why:
        sys.exit(f"{why}.")
    print(f"The book is at {made}: {made.stat().st_size / 1e6:.1f} MB")
