"""The history of tools/test-long: a line of JSON for each run of a stage, in target/test-long.jsonl.

Its stages take hours, so they are run one by one, and the history says which of them passed on which commit.
"""

import dataclasses
import hashlib
import json
import pathlib
import subprocess
import time
from collections.abc import Iterable

from . import stages
from .inputs import Checkout
from .passed import Passes
from .stages import PASSED, Result, Run, Stage

SHOWN_DIGITS = 12
COLUMNS = "{:<16} {:<17} {:<14} {:>9} {:>9}  {}"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A run of a stage. `dirty`: the checkout had changes that were not committed."""

    stage: str
    commit: str
    dirty: bool
    command: str
    start: str
    end: str
    wall_s: float
    cpu_s: float
    result: str
    log_sha256: str

    def passed_on(self, commit: str) -> bool:
        """Returns True if the stage passed with exactly this commit."""
        return self.result == PASSED and self.commit == commit and not self.dirty


def read(file: pathlib.Path) -> list[Entry]:
    """Returns the runs so far, oldest first."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [Entry(**json.loads(line)) for line in lines if line.strip()]


def append(file: pathlib.Path, entry: Entry) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "a") as output:
        output.write(json.dumps(dataclasses.asdict(entry)) + "\n")


def due(names: Iterable[str], entries: list[Entry], commit: str) -> list[str]:
    """Returns the stages that have not passed on this commit."""
    passed = {entry.stage for entry in entries if entry.passed_on(commit)}
    return [name for name in names if name not in passed]


def table(names: Iterable[str], entries: list[Entry]) -> str:
    """Returns when each stage passed last, as a table."""
    lines = [COLUMNS.format("stage", "passed last (UTC)", "commit", "wall s", "CPU s", "sha256 of its log")]
    for name in names:
        runs = [entry for entry in entries if entry.stage == name]
        passed = [entry for entry in runs if entry.result == PASSED]
        if not passed:
            lines.append(COLUMNS.format(name, "never", "", "", "", "it failed" if runs else "").rstrip())
            continue
        last = passed[-1]
        commit = last.commit[:SHOWN_DIGITS] + ("+" if last.dirty else "")
        since = "; it failed since" if runs[-1] is not last else ""
        figures = (f"{last.wall_s:.0f}", f"{last.cpu_s:.0f}", last.log_sha256[:SHOWN_DIGITS] + since)
        lines.append(COLUMNS.format(name, last.end[:16].replace("T", " "), commit, *figures))
    if any(entry.dirty for entry in entries):
        lines.append("+: with changes that were not committed")
    return "\n".join(lines)


def git(root: pathlib.Path, *arguments: str) -> str:
    """Returns the output of git."""
    command = ["git", "-c", f"safe.directory={root}", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def utc() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class RecordedRun(Run):
    """A run whose stages are appended to the history; none is skipped."""

    def __init__(self, table_of_stages: dict[str, Stage], names: list[str], file: pathlib.Path) -> None:
        passes = Passes(stages.LOGS / "passed-long.json")
        super().__init__(table_of_stages, names, Checkout(stages.ROOT), passes)
        self.file = file

    def run_one(self, name: str) -> Result:
        start, commit = utc(), git(self.checkout.root, "rev-parse", "HEAD")
        is_dirty = bool(git(self.checkout.root, "status", "--porcelain"))
        result = super().run_one(name)
        commands = "; ".join(self.stages[name].lines())
        digest = hashlib.sha256(stages.log_of(name).read_bytes()).hexdigest()
        took = round(result.wall_s, 1), round(result.cpu_s, 1)
        append(self.file, Entry(name, commit, is_dirty, commands, start, utc(), *took, result.state, digest))
        return result


def run(table_of_stages: dict[str, Stage], names: list[str], file: pathlib.Path) -> int:
    """Runs the named stages, or all, and appends them to the history; returns the exit code."""
    if not stages.known(table_of_stages, names):
        return 2
    stages.LOGS.mkdir(parents=True, exist_ok=True)
    return 0 if RecordedRun(table_of_stages, names, file).all() else 1
