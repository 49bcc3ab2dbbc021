"""The Python environment of packaging, at vendor/dist-venv: wheel, auditwheel, and the library for bills of materials."""

import os
import pathlib
import shutil
import sys
import venv

from setuplib.common import ROOT, VENDOR, fingerprint, is_fresh, pip_command, remember, run

from .common import say

REQUIREMENTS = ROOT / "requirements" / "dist.txt"
TARGET = VENDOR / "dist-venv"
PYTHON = TARGET / "bin" / "python"


def install() -> None:
    stamp = fingerprint([REQUIREMENTS], sys.version)
    if is_fresh("dist-venv", stamp, [PYTHON]):
        return
    say("installing the tools of requirements/dist.txt")
    shutil.rmtree(TARGET, ignore_errors=True)
    venv.create(TARGET, symlinks=True)
    pinned = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r", REQUIREMENTS]
    run([*pip_command(), "--python", PYTHON, "install", "--quiet", "--disable-pip-version-check", *pinned])
    remember("dist-venv", stamp)


def python(*arguments: str | os.PathLike, **options) -> str:
    """Runs a module or program in the environment; returns its output."""
    return run([PYTHON, *arguments], **options)


def here(name: str) -> pathlib.Path:
    """Returns the path of a program of this folder that runs in the environment."""
    return pathlib.Path(__file__).with_name(name)
