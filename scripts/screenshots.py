"""Take full-page screenshots of the built book, wide and narrow, light and dark.

python scripts/screenshots.py [PAGE ...]      for instance chapters/06_td0.html; all without one

They go to _build/screenshots. Run `make book` first.
"""

import sys

from browser import HTML, ROOT, browser, pages, serve, settle

OUT = ROOT / "_build" / "screenshots"


def main(names: list[str]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with serve() as address, browser() as chromium:
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                context = chromium.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=scheme
                )
                page = context.new_page()
                for name in names or pages(HTML):
                    page.goto(f"{address}/{name}")
                    settle(page)
                    stem = name.removesuffix(".html").replace("/", "-")
                    target = OUT / f"{stem}-{width}-{scheme}.png"
                    page.screenshot(path=target, full_page=True, animations="disabled")
                    print(target.relative_to(ROOT))
                context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
