"""The Rust tests: the commands that run them, and what their output says.

cargo-nextest runs them in one pool, each in a process of its own. It does not run the examples in documentation: cargo does.
"""

import dataclasses
import pathlib
import re

from . import services
from .progress import RUNNING, STATUS, SUMMARY

EXAMPLES = pathlib.Path(__file__).with_name("doctests")
PROGRAM = "vendor/cargo-tools/bin/cargo-nextest nextest run"
TESTS = re.compile(r"^\s*Summary \[.*\] +\d+(?:/\d+)? tests? run: (.*)$", re.MULTILINE)
COUNT = re.compile(r"(\d+) ([a-z][a-z ]*)")
DOC_TESTS = re.compile(r"^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; 0 filtered out", re.MULTILINE)
FAILED_DOC_TEST = re.compile(r"^test (.* \.\.\. FAILED)$", re.MULTILINE)
PANIC = re.compile(r"^\s*(thread '.*' .*panicked at .*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class TestCounts:
    """Numbers of tests by their result."""

    passed: int = 0
    failed: int = 0
    ignored: int = 0


def commands() -> list[str]:
    """Returns the command lines that run all Rust tests."""
    return [
        f"{PROGRAM} --workspace --locked --no-fail-fast --test-threads {services.threads()}",
        f"env RUSTDOC={EXAMPLES} cargo test --doc --workspace --locked --no-fail-fast",
    ]


def counts(log: str) -> TestCounts:
    """Returns the sums of all results in a log. A test that neither passed nor was skipped failed."""
    passed = failed = ignored = 0
    for summary in TESTS.findall(log):
        # `8 passed (2 slow, 1 leaky), 1 failed, 1 timed out, 3 skipped`: in parentheses are some of those before.
        for number, kind in COUNT.findall(re.sub(r"\([^)]*\)", "", summary)):
            match kind.strip():
                case "passed":
                    passed += int(number)
                case "skipped":
                    ignored += int(number)
                case _:
                    failed += int(number)
    for result in DOC_TESTS.findall(log):
        passed, failed, ignored = passed + int(result[0]), failed + int(result[1]), ignored + int(result[2])
    return TestCounts(passed, failed, ignored)


def failures(log: str) -> list[str]:
    """Returns the names of failed tests and the places of panics, each once."""
    found = dict.fromkeys(FAILED_DOC_TEST.findall(log))
    summary = None
    for line in log.splitlines():
        summary = line if SUMMARY.match(line) else summary
        status = STATUS.match(line) if summary else None
        if status and status["status"] not in RUNNING | {"PASS", "SKIP"}:
            found[f"{status['status']} {status['test']}"] = None
    return [*found, *dict.fromkeys(PANIC.findall(log))] if found else []
