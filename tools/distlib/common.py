"""Shared code of the packages: version, time, deterministic archives."""

import functools
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from setuplib.common import ROOT, Failure  # noqa: E402

PACKAGES = ROOT / "target" / "packages"
# The system services, of a server and of a worker.
UNITS = ("assay.service", "assay-worker.service")
SUMMARY = "Verifies robot-control policies in simulation against published safety clauses"


def say(line: str) -> None:
    print(f"dist: {line}", flush=True)


@functools.cache
def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


@functools.cache
def epoch() -> int:
    """Returns the time that all files get, in seconds since 1970: SOURCE_DATE_EPOCH, or the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "-C", ROOT, "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure("this is no git checkout, so the time of the packages is unknown: set SOURCE_DATE_EPOCH")
    return int(done.stdout)


def entries(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields everything below `folder`, sorted, so that archives do not depend on the order of a file system."""
    yield from sorted(folder.rglob("*"))


def add_tree(archive: tarfile.TarFile, folder: pathlib.Path, prefix: str) -> None:
    """Adds all files below `folder` to a tar archive under `prefix`: owned by root, with the time of the commit."""
    for path in entries(folder):
        info = archive.gettarinfo(path, arcname=f"{prefix}{path.relative_to(folder)}")
        anonymise(info)
        if info.isreg():
            with open(path, "rb") as file:
                archive.addfile(info, file)
        else:
            archive.addfile(info)


def anonymise(info: tarfile.TarInfo) -> None:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mtime = epoch()
    if info.islnk():  # files of one content; each is stored for itself
        info.type, info.linkname = tarfile.REGTYPE, ""


def add_bytes(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    anonymise(info)
    archive.addfile(info, io.BytesIO(data))
