"""Complete `_config.yml`: the files to copy, the pages to read, the book's address."""

import os
from pathlib import Path


def add_files(app, config):
    """Add folders of templates and of files to copy; every page would load files in `_static`."""
    config.templates_path.append(str(Path(__file__).with_name("templates")))
    for name in ("vendor", "live"):
        config.html_static_path.append(str(Path(__file__).with_name(name)))


def read_pages_alone(app, config):
    """Restrict Sphinx to the pages of `_toc.yml` and the top-level folders that hold them.

    Otherwise it would search every folder, such as an environment of 50,000 files.
    """
    pages = list(config.external_site_map)
    config.include_patterns = [page + end for page in pages for end in ("", *config.source_suffix)]
    folders = {path.name for path in Path(app.srcdir).iterdir() if path.is_dir()}
    others = folders - {page.partition("/")[0] for page in pages}
    config.exclude_patterns = sorted({*config.exclude_patterns, *others})


def set_address(app, config):
    """Set the published address from BOOK_URL; without one, write no absolute links.

    A sitemap and a social card need an absolute address. In a local build, which has none, the
    sitemap is left out and the card's address stays relative.
    """
    url = os.environ.get("BOOK_URL", "").strip()
    if url:
        config.html_baseurl = config.ogp_site_url = url.rstrip("/") + "/"
    else:
        # sphinx-sitemap warns that it has no address, and warnings are errors here.
        config.suppress_warnings = [*config.suppress_warnings, "sitemap.configuration"]


def setup(app):
    app.connect("config-inited", add_files)
    app.connect("config-inited", set_address, priority=900)
    app.connect("config-inited", read_pages_alone, priority=910)  # when _toc.yml has been read
