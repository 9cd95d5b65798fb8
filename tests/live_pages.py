"""A page with one live figure, without the rest of the book: what the figure's own tests open."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "_ext"))

import book_live  # noqa: E402

FIGURES = sorted({path.stem for path in book_live.SCRIPTS.glob("*.js")} - set(book_live.COMMON))


def write(folder: Path, name: str, theme: str = "light") -> Path:
    """Write a page with the book's style sheet and the figure, as the book has it."""
    scripts = "".join(f"<script>{text}</script>" for text in book_live.scripts(name).values())
    style = (ROOT / "_static/book.css").read_text(encoding="utf-8")
    box = book_live.opening(name) + "<p>Words.</p>" + book_live.CLOSING
    path = folder / f"{name}-{theme}.html"
    path.write_text(
        f"<!doctype html><html lang=en data-theme={theme}><meta charset=utf-8><title>Page</title>"
        f"<meta name=viewport content='width=device-width'><style>{style}</style>"
        f"<main class=bd-article><a href='#'>before</a>{box}{scripts}<p>after</p></main>",
        encoding="utf-8",
    )
    return path
