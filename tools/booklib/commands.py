"""Command lines in documents, checked by the programs themselves."""

import functools
import pathlib
import re
import shlex
import subprocess
from collections.abc import Iterator

from testlib.limits import PATIENCE_S

from .common import ROOT

DESCRIPTOR = re.compile(r"(?<=\s)\d(?=[<>])")
OPERATOR = re.compile(r"^[|&;()<>\n]+$")
REDIRECTION = re.compile(r"^(?:[<>]+&?|&>>?)$")
ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
#: Commands that run the rest of their line, with the number of words to skip.
WRAPPERS = {"sudo": 1, "exec": 1, "time": 1, "nohup": 1, "env": 1, "uvx": 3}
#: Options of wrappers that have a value.
WRAPPER_VALUES = {"-u", "--from"}
#: The complaint about a value that the reader fills in, such as `--episodes N`.
PLACEHOLDER = re.compile(r"^error: invalid value '[A-Z]{1,12}(?:,\.\.\.)?' for '", re.MULTILINE)
#: Stands for words that the reader fills in.
ELLIPSIS = "..."


def of_console(text: str) -> str:
    """Returns the commands of a console transcript: the lines after `$ ` or `# `, with their continuations."""
    commands, continued = [], False
    for line in text.splitlines():
        if line.startswith("$ ") or continued:
            commands.append(line.removeprefix("$ "))
            continued = line.endswith("\\")
    return "\n".join(commands)


def split(text: str) -> Iterator[list[str]]:
    """Yields the words of each simple command of a script.

    Raises:
        ValueError: a quote is not closed.
    """
    for line in text.replace("\\\n", " ").splitlines():
        words: list[str] = []
        lexer = shlex.shlex(DESCRIPTOR.sub("", line), posix=True, punctuation_chars="();<>|&")
        lexer.wordchars += ":@%+,$[]{}^!"
        skipped = False
        for word in lexer:
            if skipped:
                skipped = False
            elif REDIRECTION.match(word):
                skipped = True
            elif OPERATOR.match(word):
                yield words
                words = []
            else:
                words.append(word)
        yield words


def program(words: list[str]) -> list[str]:
    """Returns the words from the program on: without assignments and wrappers such as sudo."""
    while words and (ASSIGNMENT.match(words[0]) or words[0] in WRAPPERS):
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in WRAPPER_VALUES else words[1:]
    return words


def problem(words: list[str], assay: pathlib.Path) -> str | None:
    """Returns what is wrong with a command: one of assay, make or this repository's tools."""
    words = [word for word in program(words) if word != ELLIPSIS]
    if not words:
        return None
    name = words[0]
    if name == "assay" or name.endswith("/assay"):
        return refused(assay, tuple(words[1:]))
    if name == "make":
        unknown = [word for word in words[1:] if not word.startswith("-") and word not in targets()]
        return f"make has no target {unknown[0]}" if unknown else None
    if name.startswith(("tools/", "bench/", ".ci/")) and not (ROOT / name).is_file():
        return f"{name} does not exist"
    return None


@functools.cache
def refused(assay: pathlib.Path, arguments: tuple[str, ...]) -> str | None:
    """Returns why `assay` refuses these arguments, if it does.

    The program parses them in their order, so `--help` at the end is reached only if it knows everything before it; then it
    prints its help and does nothing else.
    """
    done = subprocess.run([assay, *arguments, "--help"], capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode == 0 or PLACEHOLDER.search(done.stderr):
        return None
    return f"{shlex.join(['assay', *arguments])}: {(done.stderr.strip().splitlines() or [str(done.returncode)])[0]}"


@functools.cache
def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
