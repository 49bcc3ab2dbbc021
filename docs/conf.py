"""Settings of the book: `make book` builds it from this folder with Sphinx."""

import pathlib
import posixpath
import re

from docutils import nodes
from sphinx.application import Sphinx

project = "assay"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["licenses", "monitoring"]
# As written: `--flag` stays two hyphens.
smartquotes = False
# Anchors as GitHub makes them, so that the same links work in both.
myst_heading_anchors = 4
# `{ ... }` in a heading or a link is text.
myst_enable_extensions: list[str] = []
nitpicky = True

html_theme = "furo"
html_title = "assay"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_theme_options = {"top_of_page_buttons": []}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
PAGE = re.compile(r"^- \[[^\]]+\]\(([^):#]+)\.md\)", re.MULTILINE)


def add_navigation(_: Sphinx, page: str, text: list[str]) -> None:
    """Makes the lists of pages in index.md the navigation, so that both are one list."""
    if page != root_doc:
        return
    parts = SECTION.split(text[0])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        pages = "\n".join(PAGE.findall(body))
        text[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"


def name_pages(app: Sphinx, page: nodes.document, name: str) -> None:
    """Replaces link texts that are file names, which readers of the repository need, by the titles of the pages."""
    for link in page.findall(nodes.reference):
        if link.get("internal") and link.astext().endswith(".md"):
            address = link.get("refuri", "").partition("#")[0].removesuffix(".html")
            title = app.env.titles.get(posixpath.normpath(posixpath.join(posixpath.dirname(name), address)))
            if title is not None:
                link.children = [nodes.inline("", title.astext())]


def setup(app: Sphinx) -> dict[str, bool]:
    root = pathlib.Path(__file__).resolve().parent.parent
    version = re.search(r'^version = "([^"]+)"', (root / "Cargo.toml").read_text(), re.MULTILINE)
    app.config.version = app.config.release = version[1] if version else ""
    app.connect("source-read", add_navigation)
    app.connect("doctree-resolved", name_pages)
    return {"parallel_read_safe": True}
