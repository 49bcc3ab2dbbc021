"""Links between Markdown files, as a reader of the repository follows them."""

import pathlib
import urllib.parse

from . import markdown
from .common import DOCS, Problem


def check(files: list[pathlib.Path]) -> list[Problem]:
    return [problem for file in files for problem in check_file(file)] + check_index(DOCS)


def check_file(file: pathlib.Path) -> list[Problem]:
    problems = []
    for line, link in markdown.read(file).links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme:
            continue
        target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
        if not target.exists():
            problems.append(Problem(file, line, f"{link} does not exist"))
        elif parts.fragment and target.suffix == ".md" and parts.fragment not in markdown.read(target).anchors:
            problems.append(Problem(file, line, f"{link}: the page has no such heading"))
    return problems


def check_index(folder: pathlib.Path) -> list[Problem]:
    """Returns the pages of a folder that its table of contents lacks."""
    index = folder / "index.md"
    linked = {(folder / link.partition("#")[0]).resolve() for _, link in markdown.read(index).links}
    missing = [page for page in sorted(folder.glob("*.md")) if page != index and page.resolve() not in linked]
    return [Problem(page, 0, "is not in docs/index.md: add a line to one of its lists") for page in missing]
