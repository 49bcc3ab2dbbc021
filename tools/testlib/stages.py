"""Runs a table of stages, each in its own session and with its own log, and stops at the first that fails.

No stage has a time limit: one that makes no progress for a while hangs, and is killed.
"""

import contextlib
import dataclasses
import os
import pathlib
import resource
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from . import supervise
from .inputs import SHOWN_DIGITS, Checkout
from .passed import Passes
from .progress import AnyOutput

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
LOGS = TARGET / "test-logs"
CARGO_TOOLS = ROOT / "vendor" / "cargo-tools" / "bin"
QUIET_LIMIT_S = 600.0
SHOWN_LINES = 400  # of a failed stage's log; the file has the rest
ENVIRONMENT = {
    "CARGO_TERM_COLOR": "never", "CARGO_TERM_PROGRESS_WHEN": "never", "RUSTDOCFLAGS": "-Dwarnings", "TERM": "dumb",
    "NEXTEST_USER_CONFIG_FILE": "none", "PYTHONUNBUFFERED": "1",
    # Whatever compiles the workspace also lints it: one pass instead of two, and all stages share what it compiled.
    "RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": "-Dwarnings__CLIPPY_HACKERY__",
}
PASSED, FAILED, SKIPPED = "ok", "FAILED", "skipped"


@dataclasses.dataclass(frozen=True)
class Stage:
    """Commands that all run, in this order, and what is known about them."""

    commands: str | Callable[[], list[str]]
    #: Patterns of the files that its result depends on, beside the toolchain and the programs that run stages; none: it
    #: always runs.
    inputs: tuple[str, ...] = ()
    #: What must exist for it to be skipped.
    outputs: tuple[pathlib.Path, ...] = ()
    #: How long it may make no progress.
    quiet_limit_s: float = QUIET_LIMIT_S
    watch: Callable[[], AnyOutput] = AnyOutput
    #: Yields the environment of the commands, and ends what it needed.
    around: Callable[[], AbstractContextManager[dict[str, str]]] = lambda: contextlib.nullcontext({})
    #: Number of lines of its log that are shown if it succeeds.
    shown_lines: int = 0
    #: The stage before it beside which it runs in a full run; the stages beside one stage run one after the other.
    beside: str = ""

    def lines(self) -> list[str]:
        """Returns its command lines."""
        return [self.commands] if isinstance(self.commands, str) else self.commands()


@dataclasses.dataclass
class Result:
    """What a stage did."""

    state: str
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s, CPU {self.cpu_s:.1f} s"


def log_of(name: str) -> pathlib.Path:
    """Returns the path of a stage's log."""
    return LOGS / f"{name}.log"


def cpu_s() -> float:
    """Returns the processor time of all descendants that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_stage(name: str, stage: Stage) -> Result:
    """Runs a stage with its output in its log; its processor time is that of its commands."""
    began = time.monotonic()
    log = log_of(name)
    log.write_bytes(b"")
    path = f"{CARGO_TOOLS}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        with stage.around() as more:
            environment = os.environ | ENVIRONMENT | {"PATH": path} | more
            ends = [
                supervise.run(shlex.split(line), log, stage.watch(), stage.quiet_limit_s, cwd=ROOT, env=environment)
                for line in stage.lines()
            ]
    except OSError as error:
        with open(log, "a") as output:
            output.write(f"{error}\n")
        ends = [supervise.Ended(1)]
    state = FAILED if any(end.code for end in ends) else PASSED
    return Result(state, time.monotonic() - began, sum(end.cpu_s for end in ends))


def show(name: str, most: int) -> None:
    """Prints the end of a stage's log."""
    lines = log_of(name).read_text(errors="replace").splitlines()
    if len(lines) > most:
        print(f"[{len(lines) - most} earlier lines are in {log_of(name)}]")
    print("\n".join(lines[-most:]), flush=True)


class Run:
    """A run of stages. Without names it is a full one, which skips what passed with the same inputs unless CI is set."""

    def __init__(self, stages: Mapping[str, Stage], names: list[str], checkout: Checkout, passes: Passes) -> None:
        self.stages, self.names = stages, names or list(stages)
        self.is_full, self.is_ci = not names, os.environ.get("CI") == "true"
        self.checkout, self.passes = checkout, passes
        self.results: dict[str, Result] = {}

    def is_complete(self) -> bool:
        """Returns True if this is a full run of which every stage passed, now or before."""
        states = [self.results[name].state if name in self.results else FAILED for name in self.names]
        return self.is_full and FAILED not in states

    def inputs(self, name: str) -> str | None:
        """Returns the hash of a stage's inputs; `None` if it has none or they are unknown."""
        stage = self.stages[name]
        return self.checkout.fingerprint(stage.inputs) if stage.inputs else None

    def skipped(self, name: str, inputs: str | None) -> str | None:
        """Returns when a stage passed that need not run again."""
        can_be = self.is_full and not self.is_ci and inputs is not None
        found = self.passes.find(name, inputs) if can_be else None
        outputs = (*self.stages[name].outputs, log_of(name))
        return found.at if found and all(output.exists() for output in outputs) else None

    def plan(self) -> list[str]:
        """Returns the names of the stages that would run now."""
        return [name for name in self.names if self.skipped(name, self.inputs(name)) is None]

    def run_one(self, name: str) -> Result:
        """Runs a stage."""
        return run_stage(name, self.stages[name])

    def one(self, name: str, *, is_beside: bool = False) -> bool:
        """Runs or skips a stage and prints a line about it; returns False if it failed.

        Beside another stage it prints a line when it begins and another one when it ends.
        """
        inputs = self.inputs(name)
        mark = f"== {name} [{inputs[:SHOWN_DIGITS]}]" if inputs else f"== {name}"
        at = self.skipped(name, inputs)
        if at is not None:
            self.results[name] = Result(SKIPPED)
            print(f"{mark} skipped: passed on {at}", flush=True)
            return True
        print(f"{mark} ...", end="\n" if is_beside else "", flush=True)
        self.passes.forget(name)
        result = self.results[name] = self.run_one(name)
        print(f"{f'== {name}' if is_beside else ''} {result.state} ({result})", flush=True)
        # Inputs that changed meanwhile are not those that passed.
        if result.state == PASSED and inputs and self.inputs(name) == inputs:
            self.passes.add(name, inputs, result.wall_s, result.cpu_s)
        shown = self.stages[name].shown_lines if result.state == PASSED else SHOWN_LINES
        if shown:
            show(name, shown)
        return result.state == PASSED

    def groups(self) -> list[list[str]]:
        """Returns the stages in their order: each with those that run beside it."""
        groups: list[list[str]] = []
        for name in self.names:
            is_beside = self.is_full and groups and self.stages[name].beside == groups[-1][0]
            groups[-1].append(name) if is_beside else groups.append([name])
        return groups

    def together(self, first: str, beside: Sequence[str]) -> bool:
        """Runs a stage, and others one after the other beside it; returns False if one failed.

        After a failure no further one begins, and those that run go on to their end.
        """
        failed = threading.Event()
        broken: list[BaseException] = []

        def follow() -> None:
            try:
                for name in beside:
                    if failed.is_set() or not self.one(name, is_beside=True):
                        failed.set()
                        return
            except BaseException as error:
                broken.append(error)
                failed.set()

        thread = threading.Thread(target=follow)
        thread.start()
        try:
            if not self.one(first, is_beside=True):
                failed.set()
        except BaseException:
            failed.set()
            supervise.stop.set()
            raise
        finally:
            thread.join()
        if broken:
            raise broken[0]
        return not failed.is_set()

    def all(self) -> bool:
        """Runs the stages up to the first that fails, and prints the sums; returns False if one failed."""
        began, cpu = time.monotonic(), cpu_s()
        good = all(self.together(first, beside) if beside else self.one(first) for first, *beside in self.groups())
        # What stages share, such as a database, is in this sum only.
        total = Result(PASSED if good else FAILED, time.monotonic() - began, cpu_s() - cpu)
        skipped = sum(result.state == SKIPPED for result in self.results.values())
        print(f"== total {total.state} ({total}{f'; {skipped} skipped' if skipped else ''})", flush=True)
        return good


def known(stages: Mapping[str, Stage], names: list[str]) -> bool:
    """Returns True if all names are stages; otherwise prints which are not."""
    unknown = [name for name in names if name not in stages]
    if unknown:
        print(f"unknown stage {', '.join(unknown)}; the stages are {' '.join(stages)}", file=sys.stderr)
    return not unknown


def run(stages: Mapping[str, Stage], names: list[str], judge: Callable[[Run], bool] = lambda _: True) -> int:
    """Runs the named stages, or all, then `judge`, which may print and fail the run; returns the exit code."""
    if not known(stages, names):
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    started = Run(stages, names, Checkout(ROOT), Passes(LOGS / "passed.json"))
    good = started.all()
    return 0 if judge(started) and good else 1


def main(run_named: Callable[[list[str]], int]) -> None:
    """Exits with the exit code of `run_named`; no stage outlives the program."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(run_named(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
