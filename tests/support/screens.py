"""What the tests of the built pages share: a phone, the shift of a page, a wait for frames."""

import shutil
import subprocess

PHONE = {"width": 390, "height": 900}
SHIFT = 0.1  # what web.dev calls good
WATCH = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
}).observe({type: "layout-shift", buffered: true});
"""
# Without a Chinese font a browser draws boxes, whose width is another in each font of the book.
HAS_CHINESE = bool(shutil.which("fc-list")) and bool(
    subprocess.run(["fc-list", ":lang=zh-cn"], capture_output=True, check=False).stdout
)
FRAMES = """() => new Promise((done) => {
  let left = 3;
  const next = () => left-- ? requestAnimationFrame(next) : done();
  next();
})"""


def drawn(page) -> None:
    """Wait until a page has drawn three frames, as after it was scrolled or made narrower."""
    page.evaluate(FRAMES)
