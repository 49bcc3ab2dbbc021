"""The version of glibc that programs need."""

import pathlib
import re

from setuplib.common import run

VERSION = re.compile(r"\bGLIBC_(\d+)\.(\d+)")


def newest_glibc(programs: list[pathlib.Path]) -> tuple[int, int]:
    """Returns the newest version of glibc from which the programs need a symbol."""
    listing = run(["objdump", "--dynamic-syms", *programs])
    return max((int(major), int(minor)) for major, minor in VERSION.findall(listing))
