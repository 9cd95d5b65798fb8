"""A headless browser and a local server of the built book, for page tests and screenshots."""

import gzip
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Error, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
# The first has no window to draw, and takes half the time of the others.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
# Nothing of the browser's own may use the network, or it would hide what a page does.
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]


class NoBrowser(Exception):
    """Raised if no browser can be started; the message tells how to install one."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


class Zipped(_Quiet):
    """A request handler that gzips files, except woff and PNG, as a web host does."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        plain = path.read_bytes() if path.is_file() else b""
        small = path.suffix in (".woff", ".woff2", ".png")
        body = plain if small else gzip.compress(plain)
        self.send_response(200 if path.is_file() else 404)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if not small:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve(folder: Path = HTML, handler: type = _Quiet) -> Iterator[str]:
    """Serve a folder on a free local port during a ``with`` block; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield a running Chromium, the system's or Playwright's; raise NoBrowser if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        except Error as error:
            first = str(error).strip().splitlines()[0]
            raise NoBrowser(
                f"no browser could be started ({first}); install Debian's package"
                " chromium-headless-shell, or run: playwright install --only-shell chromium"
            ) from error
        try:
            yield chromium
        finally:
            chromium.close()


def pages(folder: Path = HTML) -> list[str]:
    """Return the path of every page of the built book, relative to its root."""
    found = (path.relative_to(folder) for path in folder.rglob("*.html"))
    return sorted(
        path.as_posix() for path in found if path.parts[0] not in {"_static", "_sources"}
    )


def settle(page) -> None:
    """Wait until a page has loaded its formulas, fonts and all pictures."""
    page.wait_for_load_state("load")
    page.evaluate(
        """async () => {
          await window.MathJax?.startup?.promise;
          await document.fonts.ready;
          for (const picture of document.images) picture.loading = "eager";
          await Promise.all([...document.images].map((p) => p.decode().catch(() => {})));
        }"""
    )
