"""The Python environment of tests, at vendor/dev-venv: pinned readers of evidence and third-party policy servers."""

import shutil
import sys
import venv

from .common import ROOT, VENDOR, fingerprint, is_fresh, pip_command, remember, run, say, timed

REQUIREMENTS = ROOT / "requirements" / "dev.txt"
TARGET = VENDOR / "dev-venv"


def install() -> None:
    stamp = fingerprint([REQUIREMENTS], sys.version)
    interpreter = TARGET / "bin" / "python"
    if is_fresh("dev-venv", stamp, [interpreter]):
        say("Python of tests: up to date")
        return
    with timed("Python of tests"):
        shutil.rmtree(TARGET, ignore_errors=True)
        venv.create(TARGET, symlinks=True)
        pinned = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r", REQUIREMENTS]
        run([*pip_command(), "--python", interpreter, "install", "--quiet", "--disable-pip-version-check", *pinned])
        remember("dev-venv", stamp)
