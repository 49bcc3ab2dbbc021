"""Code blocks: each has a language that is checked, or the comment `<!-- unchecked: REASON -->` before it."""

import json
import pathlib
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable

import yaml
from testlib.limits import PATIENCE_S

from . import commands, markdown, python_blocks
from .common import DOCS, Problem

#: Output, diagrams and formulas, and directives of the book.
PLAIN = ("text", "csv")
DIRECTIVE = re.compile(r"^\{(?:include|toctree)\}")
#: Words in prose that begin like a command of assay and are one.
COMMAND_SPAN = re.compile(r"^assay [a-z]")


def check(files: list[pathlib.Path], assay: pathlib.Path) -> list[Problem]:
    problems, python = [], []
    for file in files:
        document = markdown.read(file)
        for block in document.blocks:
            if block.unchecked or block.language in PLAIN or DIRECTIVE.match(block.language):
                continue
            if block.language == "python":
                python.append((file, block))
            else:
                found = check_block(block, assay)
                problems += [Problem(file, block.line, found)] if found else []
        if not is_history(file):
            problems += check_spans(file, document.spans, assay)
    return problems + python_blocks.check(python)


def is_history(file: pathlib.Path) -> bool:
    """True if the file tells what was decided or changed on a day; commands may have gone since."""
    return file.name == "CHANGELOG.md" or file.is_relative_to(DOCS / "design")


def check_spans(file: pathlib.Path, spans: list[tuple[int, str]], assay: pathlib.Path) -> list[Problem]:
    """Checks commands in prose, which may mention an option without its value and put what is optional in brackets."""
    problems = []
    for line, span in spans:
        if COMMAND_SPAN.match(span):
            found = check_commands(re.sub(r"[\[\]]", "", span), assay)
            mentioned = found and span.split()[-1].startswith("-") and "a value is required for" in found
            problems += [Problem(file, line, found)] if found and not mentioned else []
    return problems


def check_block(block: markdown.Block, assay: pathlib.Path) -> str | None:
    """Returns what is wrong with a block that is not Python."""
    if block.language in ("sh", "console"):
        script = commands.of_console(block.text) if block.language == "console" else block.text
        return piped("bash -n", script) or check_commands(script, assay)
    if block.language == "js":
        return piped("node --check --input-type=module -", block.text)
    parsers: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
    if block.language not in parsers:
        return (
            f"a code block of the language {block.language or '(none)'} cannot be checked: use text for output, or write "
            "<!-- unchecked: REASON --> before it"
        )
    try:
        parsers[block.language](block.text)
    except (ValueError, yaml.YAMLError) as error:
        return f"invalid {block.language}: {error}"
    return None


def check_commands(script: str, assay: pathlib.Path) -> str | None:
    try:
        found = [commands.problem(words, assay) for words in commands.split(script)]
    except ValueError as error:
        return f"cannot be split into words: {error}"
    return next((problem for problem in found if problem), None)


def piped(command: str, text: str) -> str | None:
    """Returns the messages of a program that refuses the text on its standard input."""
    words = command.split()
    if shutil.which(words[0]) is None:
        return f"{words[0]} is missing: run tools/setup --dev"
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=PATIENCE_S)
    return None if done.returncode == 0 else f"{words[0]} refuses it: {done.stderr.strip()}"
