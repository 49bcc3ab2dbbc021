"""The shared libraries that a runtime's ELF files need, found with the host's own dynamic loader.

In a jail the loader cannot resolve $ORIGIN for the interpreter, because there is no /proc; so every library from outside
the packages is copied to a folder that the loader searches by default.

A conda prefix has libraries of its own in `lib`. Its modules name that folder relative to their old place ($ORIGIN),
its interpreter names it for all others, and some load what they need by name (MKL).
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable

from failure import Failure

FOLDER = pathlib.PurePath("lib", "x86_64-linux-gnu")
# glibc loads it by name when a thread ends, so no ELF header names it.
LOADED_BY_NAME = "libgcc_s.so.1"
# Names that libraries built for older systems ask for. Since glibc 2.34 the first five are empty, and still needed.
OFTEN_NEEDED = (
    "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libanl.so.1", "libm.so.6", "libstdc++.so.6",
    "libz.so.1",
)  # fmt: skip
LDD_LIMIT_S = 60
LINE = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x[0-9a-f]+\)$")
MISSING = re.compile(r"^\s*(?P<name>\S+) => not found$", re.MULTILINE)
LIBRARY = re.compile(rb"lib[A-Za-z0-9_.+-]*\.so(?:\.[0-9]+)*")


def copy(files: Iterable[pathlib.Path], root: pathlib.Path, packages: pathlib.Path) -> list[str]:
    """Copies the libraries that `files` need from outside `packages` below `root`; returns the names not found."""
    target = root / FOLDER
    target.mkdir(parents=True)
    (root / "lib64").symlink_to(FOLDER)
    missing: set[str] = set()
    inside = {file.name for file in packages.rglob("*.so*")}
    own = own_libraries()
    queue = list(files)
    while queue:
        file = queue.pop(0)
        found, not_found = needed(file, own)
        # Packages load their own libraries before those that need them.
        missing |= not_found - inside
        for name, path in (mentioned(file, own) | found).items():
            if not (target / name).exists() and not path.resolve().is_relative_to(packages):
                shutil.copyfile(path, target / name)
                if path.parent == own:
                    queue.append(path)
    for name in OFTEN_NEEDED:
        path = by_name(name)
        if path is not None and not (target / name).exists():
            shutil.copyfile(path, target / name)
    path = by_name(LOADED_BY_NAME)
    if path is None:
        raise Failure(f"{LOADED_BY_NAME} was not found; install the package libgcc-s1")
    if not (target / LOADED_BY_NAME).exists():
        shutil.copyfile(path, target / LOADED_BY_NAME)
    return sorted(missing)


def own_libraries() -> pathlib.Path | None:
    """Returns the folder of the libraries of this interpreter's conda prefix, if it is in one."""
    prefix = pathlib.Path(sys.base_prefix)
    return prefix / "lib" if (prefix / "conda-meta").is_dir() else None


def mentioned(file: pathlib.Path, own: pathlib.Path | None) -> dict[str, pathlib.Path]:
    """Returns the libraries in the folder `own` whose names are in `file`, which may load them by these."""
    names = {match.decode() for match in LIBRARY.findall(file.read_bytes())} if own else ()
    return {name: own / name for name in sorted(names) if (own / name).is_file()}


def needed(file: pathlib.Path, own: pathlib.Path | None) -> tuple[dict[str, pathlib.Path], set[str]]:
    """Returns the host path of every library that `file` loads, by name, with the loader; and the names not found.

    Those in the folder `own` come first.
    """
    environment = os.environ | ({"LD_LIBRARY_PATH": str(own)} if own else {})
    done = subprocess.run(["ldd", file], capture_output=True, text=True, timeout=LDD_LIMIT_S, env=environment)
    found = {}
    for line in done.stdout.splitlines():
        match = LINE.match(line)
        if match:
            path = pathlib.Path(match["path"])
            found[pathlib.Path(match["name"] or path.name).name] = path
    return found, {match["name"] for match in MISSING.finditer(done.stdout)}


def by_name(name: str) -> pathlib.Path | None:
    """Returns the path at which the host's loader finds `name`."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return None
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        # A library's file may have another name than the one it was asked for, which is a link to it.
        if len(fields) == 6:
            path = pathlib.Path(fields[5])
            link = path.with_name(name)
            if path.name == name or (link.is_symlink() and link.resolve() == path.resolve()):
                return path
    return None
