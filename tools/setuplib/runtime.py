"""Builds the Python runtime that policies run in: a root folder for their jail, at vendor/python.

    /py/bin/python3            a copy of this interpreter
    /py/lib/python3.X          the parts of its standard library that policies can use, compiled; and numpy
    /lib/x86_64-linux-gnu      every shared library that these need, and the loader (also visible as /lib64)
    /policy /runner /dev       empty mount points
    /manifest.json             versions, and a hash of all files

The jail has no /proc and no environment, so the runtime must not depend on either: without /proc the loader can't
resolve $ORIGIN for the interpreter, so all libraries are in a folder that it searches by default.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import zipfile

from . import closure, jailcheck
from .common import ROOT, VENDOR, Failure, download_wheel, fingerprint, is_fresh, remember, run, say, sha256, timed

REQUIREMENTS = ROOT / "requirements" / "runtime.txt"
SHORT_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
LIBRARIES = pathlib.PurePath("lib", "x86_64-linux-gnu")
MOUNT_POINTS = ("policy", "runner", "dev")
DEVICES = ("dev/null", "dev/urandom")
# glibc loads it by name when a thread ends, so no ELF header names it.
LOADED_BY_NAME = "libgcc_s.so.1"

# Omitted from the standard library: tests, graphics, installers, and modules that need a network or a terminal.
SKIPPED_FOLDERS = {
    "__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "venv", "lib2to3", "distutils",
    "pydoc_data", "curses", "dbm", "sqlite3", "site-packages", "dist-packages",
}  # fmt: skip
SKIPPED_PATTERNS = ("config-3*", "sitecustomize.py", "usercustomize.py", "EXTERNALLY-MANAGED", "turtle.py")
SKIPPED_MODULES = (
    "_test*", "_ctypes_test*", "_xx*", "xx*", "_tkinter*", "readline*", "_curses*", "_dbm*", "_gdbm*", "nis*", "_ssl*",
    "_hashlib*", "_sqlite3*", "*_failed.so",
)  # fmt: skip
# Omitted from numpy: its tests, and files for compilers and type checkers.
SKIPPED_NUMPY_FOLDERS = {"tests", "include", "f2py", "distutils"}
SKIPPED_NUMPY_SUFFIXES = {".pyi", ".a", ".pxd", ".pc", ".ini"}


def install() -> None:
    target = VENDOR / "python"
    sources = [REQUIREMENTS, *(pathlib.Path(__file__).with_name(name) for name in ("runtime.py", "closure.py"))]
    stamp = fingerprint(sources, sys.version)
    if is_fresh("python", stamp, [target / "manifest.json"]):
        say(f"policy runtime (Python {sys.version.split()[0]}): up to date")
        return
    fresh = VENDOR / "python.new"
    with timed(f"policy runtime (Python {sys.version.split()[0]})"):
        shutil.rmtree(fresh, ignore_errors=True)
        build(fresh)
        jailcheck.check(fresh)
        replace(target, fresh)
        remember("python", stamp)
    manifest = json.loads((target / "manifest.json").read_text())
    say(f"policy runtime: {manifest['size_bytes'] / 1e6:.0f} MB in {manifest['files']} files, numpy {manifest['numpy']}")


def build(root: pathlib.Path) -> None:
    """Fills `root` from this interpreter and the pinned wheel."""
    stdlib = root / "py" / "lib" / SHORT_VERSION
    packages, libraries, binary = stdlib / "site-packages", root / LIBRARIES, root / "py" / "bin" / "python3"
    for folder in (packages, libraries, binary.parent, *(root / name for name in MOUNT_POINTS)):
        folder.mkdir(parents=True)
    for name in DEVICES:
        (root / name).touch()
    (root / "lib64").symlink_to(LIBRARIES)
    (stdlib / "dist-packages").symlink_to("site-packages")  # where Debian's interpreter looks instead

    shutil.copyfile(os.path.realpath(sys._base_executable), binary)
    copy_stdlib(pathlib.Path(os.__file__).parent, stdlib)
    numpy_version = unpack_numpy(packages)
    modules = [file for file in sorted(root.rglob("*.so*")) if file.is_file()]
    names = closure.copy([binary, *modules], root, libraries)
    if LOADED_BY_NAME not in names:
        raise Failure(f"{LOADED_BY_NAME} was not found among the libraries of numpy; install the package libgcc-s1")
    precompile(root)
    set_modes(root)
    write_manifest(root, numpy_version)


def copy_stdlib(source: pathlib.Path, target: pathlib.Path) -> None:
    by_pattern = shutil.ignore_patterns(*SKIPPED_PATTERNS)
    modules = shutil.ignore_patterns(*SKIPPED_MODULES)

    def skipped(folder: str, names: list[str]) -> set[str]:
        unwanted = by_pattern(folder, names) | (SKIPPED_FOLDERS & set(names))
        return unwanted | modules(folder, names) if folder.endswith("lib-dynload") else unwanted

    shutil.copytree(source, target, ignore=skipped, copy_function=shutil.copyfile, dirs_exist_ok=True)


def unpack_numpy(packages: pathlib.Path) -> str:
    """Downloads the pinned wheel and unpacks it; returns its version."""
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download_wheel(REQUIREMENTS, pathlib.Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                path = pathlib.PurePosixPath(name)
                if not SKIPPED_NUMPY_FOLDERS & set(path.parts) and path.suffix not in SKIPPED_NUMPY_SUFFIXES:
                    archive.extract(name, packages)
        return wheel.name.split("-")[1]


def precompile(root: pathlib.Path) -> None:
    """Compiles ahead of time, since the jail is read-only; with unchecked hashes, so that file times do not matter."""
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/"]
    run([sys.executable, "-I", "-m", "compileall", *options, root / "py" / "lib"], env=os.environ | {"PYTHONHASHSEED": "0"})


def set_modes(root: pathlib.Path) -> None:
    """Makes all files world-readable, regardless of the umask, because policies run as another user."""
    programs = {root / "py" / "bin" / "python3", root / LIBRARIES / "ld-linux-x86-64.so.2"}
    root.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path in programs else 0o644)


def write_manifest(root: pathlib.Path, numpy_version: str) -> None:
    """Writes versions and a hash over names and contents, without compiled files, which follow from the sources."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    sources = [path for path in files if path.suffix != ".pyc"]
    listing = root.parent / "python.listing"
    listing.write_text("".join(f"{sha256(path)}  {path.relative_to(root)}\n" for path in sources))
    manifest = {
        "python": sys.version.split()[0],
        "numpy": numpy_version,
        "sha256": sha256(listing),
        "size_bytes": sum(path.stat().st_size for path in files),
        "files": len(files),
    }
    listing.unlink()
    (root / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (root / "manifest.json").chmod(0o644)


def replace(target: pathlib.Path, fresh: pathlib.Path) -> None:
    """Replaces `target` by `fresh`, so that an incomplete runtime is never used."""
    old = target.with_name("python.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)
