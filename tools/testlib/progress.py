"""What counts as progress of a command, by its output: a command without progress for a long time hangs.

Time is no measure of it, since a busy or a slow machine takes many times as long as another one.
"""

import pathlib
import re

MOST_NAMED = 20
# `        PASS [   0.012s] ( 3/10) assay-stl::it rules::names`, as cargo-nextest prints it.
STATUS = re.compile(r"^\s*(?P<status>[A-Z][A-Z0-9+ -]*?)\s+\[[>\s]*[\d.]+s\]\s+(?:\([^)]*\)\s+)?(?P<test>\S+ \S+)\s*$")
STARTING = re.compile(r"^\s*Starting \d+ tests? across \d+ binar")
SUMMARY = re.compile(r"^\s*Summary \[")
# Statuses of tests that are still running.
RUNNING = {"SLOW", "TERMINATING", "KILLING"}


class AnyOutput:
    """Any line of output is progress, except that a test still runs; so is a new file in one of `folders`.

    Compilers print nothing while they work on a large crate, but write files.
    """

    def __init__(self, *folders: pathlib.Path) -> None:
        self.folders = folders
        self.changed = self._changed()
        self.last = ""

    def _changed(self) -> list[int]:
        return [folder.stat().st_mtime_ns if folder.exists() else 0 for folder in self.folders]

    def line(self, line: str) -> bool:
        """Returns True if a line of output is progress."""
        status = STATUS.match(line)
        if line.strip():
            self.last = line.strip()
        return status is None or status["status"] not in RUNNING

    def elsewhere(self) -> bool:
        """Returns True if there was progress that is not in the output since the last call."""
        before, self.changed = self.changed, self._changed()
        return before != self.changed

    def hung(self, limit: str) -> str:
        """Returns a message for the log of a command that made no progress for this long."""
        return f"no output for {limit}; the last line was: {self.last or '(none)'}"


class TestsEnd(AnyOutput):
    """While cargo-nextest runs tests, only the end of a test is progress; before and after, any output."""

    def __init__(self, *folders: pathlib.Path) -> None:
        super().__init__(*folders)
        self.under_way = False
        self.slow: dict[str, None] = {}

    def line(self, line: str) -> bool:
        if STARTING.match(line) or SUMMARY.match(line):
            self.under_way = STARTING.match(line) is not None
            return True
        if not self.under_way:
            return super().line(line)
        status = STATUS.match(line)
        if status is None:
            return False
        if status["status"] in RUNNING:
            self.slow[status["test"]] = None
            return False
        self.slow.pop(status["test"], None)
        return True

    def elsewhere(self) -> bool:
        return super().elsewhere() and not self.under_way

    def hung(self, limit: str) -> str:
        if not self.under_way:
            return super().hung(limit)
        names = list(self.slow)[:MOST_NAMED]
        more = f" and {len(self.slow) - len(names)} more" if len(self.slow) > len(names) else ""
        return f"no test ended for {limit}; running: {', '.join(names) or '(unknown)'}{more}"
