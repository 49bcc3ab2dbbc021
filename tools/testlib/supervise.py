"""Runs a command in a session of its own with its output in a log, and ends it if it makes no progress."""

import contextlib
import dataclasses
import os
import pathlib
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence

from .progress import AnyOutput

LOOK_S = 2.0
# cargo-nextest ends its tests when it gets SIGTERM, and kills them after 10 s.
GRACE_S = 20.0
KILLED_S = 10.0
#: Set when the program ends early: commands that run in other threads are ended.
stop = threading.Event()


@dataclasses.dataclass(frozen=True)
class Ended:
    """The end of a command."""

    #: Its exit code, or -SIGKILL if it hung.
    code: int
    #: Processor time of it and of all its descendants that were waited for; 0 if it hung.
    cpu_s: float = 0.0


def run(command: Sequence[str], log: pathlib.Path, watch: AnyOutput, quiet_limit_s: float, **options) -> Ended:
    """Runs a command and appends its output to `log`."""
    options |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "start_new_session": True}
    with open(log, "ab") as output:
        begin = output.tell()
        try:
            child = subprocess.Popen(command, stdout=output, **options)
        except OSError as error:
            output.write(f"{error}\n".encode())
            return Ended(127)
        try:
            with open(log, "rb") as written:
                written.seek(begin)
                hung = _follow(child, written, watch, quiet_limit_s)
            if hung:
                _end_session(child)
                output.write(f"\nkilled: {hung}\n".encode())
                return Ended(-signal.SIGKILL)
        except BaseException:
            _end_session(child)
            raise
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Ended(child.returncode, used.ru_utime + used.ru_stime)


def _follow(child: subprocess.Popen, written, watch: AnyOutput, quiet_limit_s: float) -> str | None:
    """Reads the output until the command ends, and does not wait for it; returns a message if it hangs."""
    progress, rest = time.monotonic(), b""
    poll = select.poll()
    with contextlib.closing(_Descriptor(os.pidfd_open(child.pid))) as ended:
        poll.register(ended.number, select.POLLIN)
        while not poll.poll(1000 * min(LOOK_S, quiet_limit_s)):
            if stop.is_set():
                return "the run was stopped"
            *lines, rest = (rest + written.read()).split(b"\n")
            found = [watch.line(line.decode(errors="replace")) for line in lines]
            if any(found) or watch.elsewhere():
                progress = time.monotonic()
            elif time.monotonic() - progress > quiet_limit_s:
                return watch.hung(minutes(quiet_limit_s))
    return None


class _Descriptor:
    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        os.close(self.number)


def _end_session(child: subprocess.Popen) -> None:
    """Ends a command with all processes of its session: tests have process groups of their own."""
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)
    until = time.monotonic() + KILLED_S
    while (left := session(child.pid)) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    child.wait()


def session(leader: int) -> list[int]:
    """Returns the processes of a session that have not ended."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit():
                state, _, _, number = pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[:4]
                if int(number) == leader and state not in "ZX":
                    found.append(int(entry))
    return found


def minutes(seconds: float) -> str:
    """Returns a duration as it is said in messages."""
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} s"
