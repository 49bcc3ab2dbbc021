"""The inputs of stages: files of the checkout by patterns, the toolchain, and the programs in tools/ that run them."""

import functools
import hashlib
import os
import pathlib
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable

#: Of every stage: how stages are run. What its own tests read and the least numbers of tests change no result.
TOOL = ("tools/test", "tools/testlib/**", "!tools/testlib/test_*.py", "!tools/testlib/least_tests.toml")
TOOLCHAIN_FILES = ("rust-toolchain", "rust-toolchain.toml")
SHOWN_DIGITS = 8


@functools.cache
def _expression(pattern: str) -> re.Pattern:
    """Returns the expression of a pattern: `*` is any part of a name, `**` any part of a path."""
    parts = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", pattern)))


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Returns whether patterns select a path; the last one that fits decides, and `!` excludes.

    >>> matches("a/b/c.rs", ["**"]), matches("a/b.rs", ["*.rs"]), matches("a/b.rs", ["a/**", "!**.rs"])
    (True, False, False)
    """
    chosen = False
    for pattern in patterns:
        if _expression(pattern.removeprefix("!")).fullmatch(path):
            chosen = not pattern.startswith("!")
    return chosen


def rustc(root: pathlib.Path) -> str:
    """Returns the version of the compiler that the checkout uses."""
    done = subprocess.run(["rustc", "-vV"], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout


class Checkout:
    """The files of a checkout that git tracks or would track."""

    def __init__(self, root: pathlib.Path, compiler: Callable[[pathlib.Path], str] = rustc) -> None:
        self.root, self.compiler = root, compiler
        self.digests: dict[tuple, bytes] = {}

    def files(self) -> list[str] | None:
        """Returns their paths, sorted; `None` if this is no checkout of git."""
        command = ["git", "-c", f"safe.directory={self.root}", "ls-files", "-z", "-co", "--exclude-standard"]
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, check=False)
        except OSError:
            return None
        if done.returncode != 0:
            return None
        return sorted({name for name in done.stdout.decode(errors="surrogateescape").split("\0") if name})

    def fingerprint(self, patterns: Iterable[str]) -> str | None:
        """Returns a hash over the content of the files that the patterns select, and over the toolchain.

        `None`: unknown, since this is no checkout of git.
        """
        files = self.files()
        if files is None:
            return None
        patterns = (*TOOLCHAIN_FILES, *patterns)
        result = hashlib.sha256("\n".join((self._toolchain, sys.version, *patterns)).encode())
        for path in files:
            digest = self._digest(path) if matches(path, patterns) or matches(path, TOOL) else None
            if digest is not None:
                result.update(path.encode(errors="surrogateescape") + b"\0" + digest)
        return result.hexdigest()

    @functools.cached_property
    def _toolchain(self) -> str:
        return self.compiler(self.root)

    def _digest(self, path: str) -> bytes | None:
        """Returns a hash of the kind and the content of a file; `None` if it was deleted."""
        place = self.root / path
        try:
            facts = place.lstat()
            key = (path, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino)
            if key not in self.digests:
                kind = str(stat.S_IFMT(facts.st_mode) | facts.st_mode & stat.S_IXUSR).encode()
                content = os.readlink(place).encode() if stat.S_ISLNK(facts.st_mode) else place.read_bytes()
                self.digests[key] = hashlib.sha256(kind + b"\0" + content).digest()
            return self.digests[key]
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
