"""Builds a Python runtime for policies: a folder that becomes the root of their jails.

    python3 build_runtime base TARGET --requirements base.txt     this interpreter, and these packages
    /path/to/venv/bin/python3 -I build_runtime mine TARGET        this interpreter, and all packages of its environment

    /py/bin/python3            a copy of the interpreter
    /py/lib/python3.X          the parts of its standard library that policies can use, and the packages, compiled
    /lib/x86_64-linux-gnu      every shared library that these need, and the loader (also visible as /lib64)
    /policy /runner /dev       empty mount points
    /manifest.json             names, versions, settings, and a hash of all files

The jail has no /proc and no environment, so a runtime must not depend on either. Standard library only.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # this folder may be read-only, and is part of a checkout

import cuda_stubs  # noqa: E402
import interpreter  # noqa: E402
import libraries  # noqa: E402
import manifest  # noqa: E402
import packages  # noqa: E402
from failure import Failure  # noqa: E402

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
OLDEST_PYTHON = (3, 11)
BASE = "base"
MOUNT_POINTS = ("policy", "runner", "dev")
DEVICES = ("dev/null", "dev/urandom")
MEASURE = """
import importlib, pathlib, re, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(re.search(r"VmPeak:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
"""
IMPORT_LIMIT_S = 300


def say(line: str) -> None:
    print(line, flush=True)


def build(name: str, root: pathlib.Path, requirements: pathlib.Path | None) -> dict:
    """Fills the new folder `root`; returns the manifest."""
    root.mkdir(parents=True)
    for folder in MOUNT_POINTS:
        (root / folder).mkdir()
    for device in DEVICES:
        (root / device).touch()
    say(f"copying Python {sys.version.split()[0]}")
    interpreter.copy(root, is_base=name == BASE)
    site_packages = root / interpreter.PACKAGES
    if requirements is None:
        say(f"copying the packages of {sys.prefix}")
        for note in packages.copy_installed(site_packages):
            say(f"note: {note}")
    else:
        say(f"installing {requirements}")
        packages.install(requirements, site_packages)
    if "numpy" not in packages.versions(site_packages):
        raise Failure("numpy is missing, which every runtime needs: policies get arrays; install it and try again")
    stubs = cuda_stubs.write(site_packages)
    if stubs:
        say(f"note: {len(stubs)} libraries of CUDA are replaced by stand-ins: this torch runs on the processor only")
    say("collecting shared libraries")
    modules = [file for file in sorted((root / "py").rglob("*.so*")) if file.is_file()]
    missing = libraries.copy([root / interpreter.BINARY, *modules], root, site_packages.resolve())
    if missing:
        say(f"note: not found on this machine: {', '.join(missing)}; modules that need them cannot be imported")
    say("compiling")
    precompile(root)
    set_modes(root)
    preloaded = [module for module in manifest.PRELOADED if module in packages.modules(site_packages)]
    return manifest.write(root, name, site_packages, peak_after_imports(root, preloaded))


def precompile(root: pathlib.Path) -> None:
    """Compiles ahead of time, since the jail is read-only; with unchecked hashes, so that file times do not matter."""
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/"]
    command = [sys.executable, "-I", "-m", "compileall", *options, root / "py" / "lib"]
    done = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "0"}, capture_output=True, text=True)
    # Packages contain files for other versions of Python, which are never imported.
    if done.returncode not in (0, 1):
        raise Failure(f"compiling ended with {done.returncode}: {packages.tail(done.stderr)}")


def set_modes(root: pathlib.Path) -> None:
    """Makes all files world-readable, regardless of the umask, because policies run as another user."""
    programs = {root / interpreter.BINARY, root / libraries.FOLDER / "ld-linux-x86-64.so.2"}
    root.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path in programs else 0o644)


def peak_after_imports(root: pathlib.Path, modules: list[str]) -> int:
    """Returns the address space that the runtime's interpreter needed to import `modules`, in bytes."""
    folder = root / libraries.FOLDER
    program = [folder / "ld-linux-x86-64.so.2", "--library-path", folder, root / interpreter.BINARY]
    environment = {"PYTHONHOME": str(root / "py"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [*program, "-B", "-P", "-s", "-c", MEASURE, *modules]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=IMPORT_LIMIT_S)
    if done.returncode != 0:
        raise Failure(f"could not import {', '.join(modules)} in the new runtime:\n{packages.tail(done.stderr)}")
    return int(done.stdout.split()[-1]) * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of the runtime: a-z, 0-9, '-' and '_', at most 32 characters")
    parser.add_argument("target", type=pathlib.Path, help="the folder to create")
    parser.add_argument("--requirements", type=pathlib.Path, help="the packages to install, as for pip")
    arguments = parser.parse_args()
    try:
        if not NAME.fullmatch(arguments.name):
            raise Failure(f"{arguments.name!r} is not a name: use a-z, 0-9, '-' and '_', at most 32 characters")
        if sys.version_info[:2] < OLDEST_PYTHON:
            raise Failure(f"Python 3.11 or newer is needed; {sys.executable} is {sys.version.split()[0]}")
        os.umask(0o022)
        done = build(arguments.name, arguments.target.absolute(), arguments.requirements)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    say(json.dumps({key: done[key] for key in ("name", "sha256", "size_bytes", "files")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
