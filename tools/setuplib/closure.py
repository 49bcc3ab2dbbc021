"""The shared libraries that a set of ELF files needs, found with the host's own dynamic loader."""

import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterable

from .common import Failure

LDD_LIMIT_S = 60
LINE = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x[0-9a-f]+\)$")
MISSING = re.compile(r"^\s*(?P<name>\S+) => not found$", re.MULTILINE)


def needed(file: pathlib.Path) -> dict[str, pathlib.Path]:
    """Returns the host path of every library that `file` loads, by name, including the loader itself."""
    done = subprocess.run(["ldd", file], capture_output=True, text=True, timeout=LDD_LIMIT_S)
    missing = MISSING.search(done.stdout)
    if missing:
        raise Failure(f"{file} needs {missing['name']}, which is not installed")
    found = {}
    for line in done.stdout.splitlines():
        match = LINE.match(line)
        if match:
            path = pathlib.Path(match["path"])
            found[match["name"] or path.name] = path
    return {pathlib.Path(name).name: path for name, path in found.items()}


def copy(files: Iterable[pathlib.Path], root: pathlib.Path, target: pathlib.Path) -> list[str]:
    """Copies the libraries that `files` need into `target`, except those below `root`; returns the names copied."""
    copied: set[str] = set()
    for file in files:
        for name, path in needed(file).items():
            if name not in copied and not path.resolve().is_relative_to(root):
                shutil.copyfile(path, target / name)
                copied.add(name)
    return sorted(copied)
