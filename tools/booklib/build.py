"""Building the book with Sphinx, and checking the HTML that it wrote."""

import html.parser
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.parse

from testlib.limits import PATIENCE_S

from .common import DOCS, PYTHON, Problem

#: Attributes with which a page makes the browser load something.
LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
FOREIGN = re.compile(r"^(?:[a-z]+:)?//")
FOREIGN_IN_CSS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")]+)")


def build(out: pathlib.Path) -> bool:
    """Builds the book into `out`; a warning, such as a page that is missing in the navigation, is a failure.

    Everything is read anew: Sphinx does not repeat the warnings of a page that it has read before.
    """
    shutil.rmtree(out, ignore_errors=True)
    options = ["-b", "html", "--fail-on-warning", "--nitpicky", "--quiet"]
    with tempfile.TemporaryDirectory(prefix="assay-book-") as scratch:
        command = [PYTHON, "-m", "sphinx", *options, "--doctree-dir", scratch, DOCS, out]
        return subprocess.run(command, timeout=PATIENCE_S).returncode == 0


class Page(html.parser.HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, file: pathlib.Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[int, str]] = []
        self.loaded: list[tuple[int, str]] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line = self.getpos()[0]
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            if name in ("href", "src"):
                self.links.append((line, value))
            if (tag, name) in LOADING:
                self.loaded.append((line, value))


def check(out: pathlib.Path) -> list[Problem]:
    """Returns the links and anchors that lead nowhere, and whatever a page would load from another host."""
    files = sorted(out.rglob("*.html"))
    parsed = {file: Page(file) for file in files}
    problems = [problem for file, page in parsed.items() for problem in check_page(file, page, parsed)]
    for file in sorted(out.rglob("*.css")):
        found = FOREIGN_IN_CSS.findall(file.read_text())
        problems += [Problem(file, 0, f"loads {address} from another host") for address in found]
    return problems


def check_page(file: pathlib.Path, page: Page, parsed: dict[pathlib.Path, Page]) -> list[Problem]:
    problems = [Problem(file, line, f"loads {link} from another host") for line, link in page.loaded if FOREIGN.match(link)]
    for line, link in page.links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
        anchor = urllib.parse.unquote(parts.fragment)
        if not target.exists():
            problems.append(Problem(file, line, f"the link {link} leads nowhere"))
        elif anchor and target in parsed and anchor not in parsed[target].ids:
            problems.append(Problem(file, line, f"the anchor of {link} does not exist"))
    return problems
