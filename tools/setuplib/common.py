"""Shared code of the parts of the setup: paths, failures, stamps, timed messages, and pip."""

import contextlib
import hashlib
import importlib.util
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENDOR = ROOT / "vendor"
STAMPS = VENDOR / ".stamps"
COMMAND_LIMIT_S = 1800  # the longest command is a compilation of a few minutes


class Failure(Exception):
    """A problem that the user has to fix; its message says how."""


def say(line: str) -> None:
    print(f"setup: {line}", flush=True)


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints an action when it starts, and how long it took when it is done."""
    started = time.monotonic()
    say(f"{what} ...")
    yield
    say(f"{what}: done ({time.monotonic() - started:.1f} s)")


def run(command: Sequence[str | os.PathLike], **options) -> str:
    """Runs a command and returns its output; a failure contains the end of the output."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=COMMAND_LIMIT_S, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{shlex.join(map(str, command))}: {error}") from error
    if done.returncode != 0:
        end = "\n".join(done.stdout.strip().splitlines()[-30:])
        raise Failure(f"{shlex.join(map(str, command))} ended with {done.returncode}:\n{end}")
    return done.stdout


def sha256(path: pathlib.Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(files: Sequence[pathlib.Path], *values: str) -> str:
    """Returns a hash over the content of `files` and some values: the stamp of a part."""
    parts = [sha256(file) for file in files] + list(values)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def is_fresh(part: str, stamp: str, outputs: Sequence[pathlib.Path]) -> bool:
    """Returns True if `part` was last finished with this stamp and its outputs still exist."""
    file = STAMPS / part
    return file.is_file() and file.read_text().strip() == stamp and all(output.exists() for output in outputs)


def remember(part: str, stamp: str) -> None:
    """Records that `part` was finished with this stamp."""
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / part).write_text(stamp + "\n")


def bundled_pip() -> pathlib.Path | None:
    """Returns the pip wheel that comes with `ensurepip`, if any; it runs in place, so pip need not be installed."""
    spec = importlib.util.find_spec("ensurepip")
    if spec is None or spec.origin is None:
        return None
    folders = (pathlib.Path(spec.origin).parent / "_bundled", pathlib.Path("/usr/share/python-wheels"))
    return next((wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))), None)


def pip_command() -> list[str | os.PathLike]:
    """Returns the command that starts pip: the interpreter's own, or else the bundled one."""
    wheel = None if importlib.util.find_spec("pip") else bundled_pip()
    return [sys.executable, "-m", "pip"] if wheel is None else [sys.executable, wheel / "pip"]


def download_wheel(requirements: pathlib.Path, folder: pathlib.Path, *options: str) -> pathlib.Path:
    """Downloads the single wheel that a hash-pinned requirements file names; pip checks the hash."""
    pinned = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-d", folder, "-r", requirements]
    run([*pip_command(), "download", "--quiet", "--disable-pip-version-check", *options, *pinned])
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise Failure(f"{requirements}: expected one wheel, got {[wheel.name for wheel in wheels]}")
    return wheels[0]
