"""Runs a table of stages, each in its own session and with its own log, and stops at the first that fails."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOGS = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "test-logs"
STAGE_LIMIT_S = 2400
SHOWN_LINES = 400  # of a failed stage's log; the file has the rest
ENVIRONMENT = {"CARGO_TERM_COLOR": "never", "RUSTDOCFLAGS": "-Dwarnings", "TERM": "dumb"}


@dataclasses.dataclass(frozen=True)
class Stage:
    """A command, its time limit, and the number of lines of its log that are shown if it succeeds."""

    command: str
    limit_s: float = STAGE_LIMIT_S
    shown_lines: int = 0


def log_of(name: str) -> pathlib.Path:
    """Returns the path of a stage's log."""
    return LOGS / f"{name}.log"


def run_stage(name: str, stage: Stage) -> bool:
    """Runs a stage with its output in its log; returns True if it succeeded."""
    options = {"cwd": ROOT, "env": os.environ | ENVIRONMENT, "stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    with open(log_of(name), "wb") as output:
        # In its own session, so that a stage that hangs can be killed with all its processes.
        child = subprocess.Popen(stage.command.split(), stdout=output, start_new_session=True, **options)
        try:
            return child.wait(timeout=stage.limit_s) == 0
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output.write(f"\nkilled: the stage took longer than {stage.limit_s} s\n".encode())
            return False
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            child.wait()


def show(name: str, most: int) -> None:
    """Prints the end of a stage's log."""
    lines = log_of(name).read_text(errors="replace").splitlines()
    if len(lines) > most:
        print(f"[{len(lines) - most} earlier lines are in {log_of(name)}]")
    print("\n".join(lines[-most:]), flush=True)


def run(stages: dict[str, Stage], names: list[str], judge: Callable[[], bool] = lambda: True) -> int:
    """Runs the named stages, or all, then `judge`, which may print and fail the run; returns the exit code."""
    unknown = [name for name in names if name not in stages]
    if unknown:
        print(f"unknown stage {', '.join(unknown)}; the stages are {' '.join(stages)}", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    started, good = time.monotonic(), True
    for name in names or stages:
        print(f"== {name} ...", end="", flush=True)
        stage_started = time.monotonic()
        good = run_stage(name, stages[name])
        print(f" {'ok' if good else 'FAILED'} ({time.monotonic() - stage_started:.1f} s)", flush=True)
        shown = stages[name].shown_lines if good else SHOWN_LINES
        if shown:
            show(name, shown)
        if not good:
            break
    print(f"== total {'ok' if good else 'FAILED'} ({time.monotonic() - started:.1f} s)")
    return 0 if judge() and good else 1


def main(run_named: Callable[[list[str]], int]) -> None:
    """Exits with the exit code of `run_named`; no stage outlives the program."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(run_named(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
