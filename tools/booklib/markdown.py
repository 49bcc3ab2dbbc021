"""Reads Markdown: links, anchors and code."""

import dataclasses
import functools
import pathlib
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors.index import slugify

UNCHECKED = re.compile(r"<!-- unchecked: \S.* -->")


@dataclasses.dataclass(frozen=True)
class Block:
    """A code block."""

    line: int
    language: str  # empty for an indented block
    text: str
    #: The comment before it states a reason for which it cannot be checked.
    unchecked: bool


@dataclasses.dataclass
class Document:
    """The parts of a Markdown file that can be wrong."""

    blocks: list[Block] = dataclasses.field(default_factory=list)
    links: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    spans: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    anchors: set[str] = dataclasses.field(default_factory=set)


@functools.cache
def read(file: pathlib.Path) -> Document:
    tokens = MarkdownIt("commonmark").enable("table").parse(file.read_text())
    document, comment = Document(), ""
    for position, token in enumerate(tokens):
        line = token.map[0] + 1 if token.map else 0
        if token.type in ("fence", "code_block"):
            document.blocks.append(Block(line, token.info.strip(), token.content, bool(UNCHECKED.search(comment))))
        elif token.type == "inline":
            read_inline(document, line, token.children or [])
        elif token.type == "heading_open":
            add_anchor(document, tokens[position + 1])
        if token.type not in ("list_item_open", "paragraph_close"):
            comment = token.content if token.type == "html_block" else ""
    return document


def read_inline(document: Document, line: int, children: list[Token]) -> None:
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            line += 1
        elif token.type == "code_inline":
            document.spans.append((line, token.content))
        elif token.type in ("link_open", "image"):
            document.links.append((line, str(token.attrs.get("href") or token.attrs.get("src"))))


def add_anchor(document: Document, heading: Token) -> None:
    """Adds the anchor that GitHub, and the book, give a heading."""
    name = slugify("".join(child.content for child in heading.children or []))
    candidates = [name, *(f"{name}-{number}" for number in range(1, 100))]
    document.anchors.add(next(candidate for candidate in candidates if candidate not in document.anchors))
