"""The installation inside this package: the programs, MuJoCo, the scenarios, and the runtime of policies."""

import fcntl
import os
import pathlib
import platform
import shutil
import sys
import tarfile

HOME = pathlib.Path(__file__).resolve().parent / "_home"
RUNTIMES = HOME / "vendor" / "runtimes"
PROGRAM = HOME / "bin" / "assay"


class InstallationError(RuntimeError):
    """The package cannot run on this machine, or was not completely installed."""


def program() -> pathlib.Path:
    """Returns the path of the command line program of this package, ready to run.

    The first call unpacks the runtime of policies, which takes about two seconds.

    Raises:
        InstallationError: the machine is not supported, or the package's folder cannot be written.
    """
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise InstallationError(f"assay needs Linux on x86-64; this is {sys.platform} on {platform.machine()}")
    if not PROGRAM.is_file():
        raise InstallationError(f"{PROGRAM} is missing: install the wheel, which contains it")
    unpack("base")
    return PROGRAM


def cannot_start(path: str | os.PathLike[str], error: OSError) -> str:
    """Returns the message for a program that the system refuses to start."""
    return f"cannot start {os.fspath(path)} ({error.strerror}): the programs need glibc (not musl) and x86-64"


def remove_unpacked() -> list[pathlib.Path]:
    """Removes the runtimes that `unpack` has created, which pip does not know, and returns their folders."""
    folders = [target for packed in sorted(RUNTIMES.glob("*.tar.xz")) if (target := unpacked(packed)).is_dir()]
    for folder in folders:
        shutil.rmtree(folder)
    (RUNTIMES / ".lock").unlink(missing_ok=True)
    return folders


def unpacked(packed: pathlib.Path) -> pathlib.Path:
    return packed.with_name(packed.name.removesuffix(".tar.xz"))


def unpack(name: str) -> None:
    """Unpacks a runtime, unless that was done before."""
    target, packed = RUNTIMES / name, RUNTIMES / f"{name}.tar.xz"
    if target.is_dir() or not packed.is_file():
        return
    try:
        with open(RUNTIMES / ".lock", "w") as lock:  # another process may do the same
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_dir():
                extract(packed, RUNTIMES / f".{name}.new", target)
    except OSError as error:
        raise InstallationError(
            f"cannot unpack the runtime of policies ({error}): run `assay --version` once as the user that installed the "
            "package, or install it into a virtual environment of your own"
        ) from error


def extract(packed: pathlib.Path, new: pathlib.Path, target: pathlib.Path) -> None:
    shutil.rmtree(new, ignore_errors=True)
    with tarfile.open(packed) as archive:
        if hasattr(tarfile, "tar_filter"):
            archive.extractall(new, filter="tar")
        else:  # Python before 3.11.4, such as that of Debian 12
            archive.extractall(new)
    os.rename(new / target.name, target)
    new.rmdir()
