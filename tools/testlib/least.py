"""The least number of tests and of rows of tables: what a full run had, kept in least_tests.toml.

A test or a row that vanishes by accident would go unnoticed: all others pass. Whoever removes some on purpose lowers the
number and says why, in an entry `[[fewer]]`.
"""

import dataclasses
import json
import pathlib
import subprocess
import tomllib
from collections.abc import Mapping

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = pathlib.Path(__file__).with_name("least_tests.toml")
#: The revisions whose file must not say more: an uncommitted change is compared with the first, a commit with the second.
EARLIER = ("HEAD", "HEAD~1")
HEAD = """\
# The number of Rust tests, and of rows of each table that tests run, in a full run: fewer fail `tools/test`, and more raise
# the number here. Whoever removes some lowers it and adds an entry:
#
#     [[fewer]]
#     what = "tests"        # or "rows.NAME"
#     was = 120
#     is = 118
#     reason = "two tests of a format that is gone"

"""


@dataclasses.dataclass(frozen=True)
class Fewer:
    """A reduction on purpose."""

    what: str
    was: int
    now: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Least:
    """Numbers by name, `tests` or `rows.NAME`, and the reductions so far."""

    numbers: Mapping[str, int]
    fewer: tuple[Fewer, ...] = ()


def numbers(tests: int, rows: Mapping[str, int]) -> dict[str, int]:
    """Returns the numbers of a run by their names."""
    return {"tests": tests} | {f"rows.{name}": count for name, count in sorted(rows.items())}


def parse(text: str) -> Least:
    """Returns the content of a file.

    Raises:
        ValueError: it is not of this form.
    """
    try:
        found = tomllib.loads(text)
        entries = found.get("fewer", [])
        fewer = [Fewer(entry["what"], entry["was"], entry["is"], entry["reason"].strip()) for entry in entries]
        return Least(numbers(found["tests"], found["rows"]), tuple(fewer))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"least_tests.toml: {error!r}") from error


def text(least: Least) -> str:
    """Returns the content of a file with these numbers."""
    rows = {name.removeprefix("rows."): count for name, count in least.numbers.items() if name != "tests"}
    lines = [f"tests = {least.numbers['tests']}", "", "[rows]"]
    lines += [f"{json.dumps(name)} = {count}" for name, count in sorted(rows.items())]
    for entry in least.fewer:
        lines += ["", "[[fewer]]", f"what = {json.dumps(entry.what)}", f"was = {entry.was}", f"is = {entry.now}"]
        lines.append(f"reason = {json.dumps(entry.reason, ensure_ascii=False)}")
    return f"{HEAD}{chr(10).join(lines)}\n"


def missing(least: Least, found: Mapping[str, int]) -> list[str]:
    """Returns a line for each number that is less than it was."""
    return [
        f"{name}: {found.get(name, 0)}, and there were {count}; if that is on purpose, lower it in {FILE.name} with a reason"
        for name, count in least.numbers.items() if found.get(name, 0) < count
    ]


def unexplained(least: Least, earlier: Least) -> list[str]:
    """Returns a line for each number that is less than in an earlier file without a new entry that says why."""
    explained = {(entry.what, entry.now) for entry in least.fewer if entry not in earlier.fewer and entry.reason}
    return [
        f"{FILE.name}: {name} is {least.numbers.get(name, 0)} and was {count}, and there is no entry [[fewer]] that says why"
        for name, count in earlier.numbers.items()
        if least.numbers.get(name, 0) < count and (name, least.numbers.get(name, 0)) not in explained
    ]


def raised(least: Least, found: Mapping[str, int]) -> Least | None:
    """Returns the file's content with the numbers of a run if some of them are greater."""
    more = {name: count for name, count in found.items() if count > least.numbers.get(name, 0)}
    return Least(dict(least.numbers) | more, least.fewer) if more else None


def earlier_files(root: pathlib.Path) -> list[Least]:
    """Returns the content of the file in earlier revisions, as far as they have it and this checkout knows them."""
    found = []
    for revision in EARLIER:
        shown = f"{revision}:{FILE.relative_to(ROOT)}"
        command = ["git", "-c", f"safe.directory={root}", "show", shown]
        try:
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            found.append(parse(done.stdout))
    return found


def check(root: pathlib.Path, found: Mapping[str, int], is_kept: bool) -> list[str]:
    """Returns what is wrong with the numbers of a run. Greater ones are written into the file if `is_kept`, else printed."""
    file = root / FILE.relative_to(ROOT)
    try:
        least = parse(file.read_text())
        problems = missing(least, found)
        for earlier in earlier_files(root):
            problems += [line for line in unexplained(least, earlier) if line not in problems]
    except (OSError, ValueError) as error:
        return [str(error)]
    more = None if problems else raised(least, found)
    if more:
        changes = [f"{name} {least.numbers.get(name, 0)} to {count}" for name, count in more.numbers.items()
                   if count != least.numbers.get(name, 0)]
        if is_kept:
            file.write_text(text(more))
        print(f"{FILE.name} {'now says' if is_kept else 'should say'} more: {', '.join(changes)}")
    return problems
