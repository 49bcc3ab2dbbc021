"""The parts of the interpreter that runs this program: its binary, and the standard library that policies can use."""

import os
import pathlib
import shutil
import sys

SHORT_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
BINARY = pathlib.PurePath("py", "bin", "python3")
STDLIB = pathlib.PurePath("py", "lib", SHORT_VERSION)
PACKAGES = STDLIB / "site-packages"

# Omitted: tests, graphics, installers, and modules that need a network or a terminal.
SKIPPED_FOLDERS = {
    "__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "venv", "lib2to3", "distutils",
    "pydoc_data", "curses", "dbm", "site-packages", "dist-packages",
}  # fmt: skip
SKIPPED_PATTERNS = ("config-3*", "sitecustomize.py", "usercustomize.py", "EXTERNALLY-MANAGED", "turtle.py")
SKIPPED_MODULES = (
    "_test*", "_ctypes_test*", "_xx*", "xx*", "_tkinter*", "readline*", "_curses*", "_dbm*", "_gdbm*", "nis*",
    "*_failed.so",
)  # fmt: skip
# Omitted unless packages need them: a runtime with nothing but numpy has neither a network nor a database.
SKIPPED_IN_BASE = ("_ssl*", "_hashlib*", "_sqlite3*", "sqlite3")


def copy(root: pathlib.Path, *, is_base: bool) -> None:
    """Copies the interpreter and its standard library to their places below `root`."""
    binary, stdlib = root / BINARY, root / STDLIB
    binary.parent.mkdir(parents=True)
    shutil.copyfile(os.path.realpath(sys._base_executable), binary)
    base_patterns = SKIPPED_IN_BASE if is_base else ()
    by_pattern = shutil.ignore_patterns(*SKIPPED_PATTERNS, *base_patterns)
    modules = shutil.ignore_patterns(*SKIPPED_MODULES, *base_patterns)

    def skipped(folder: str, names: list[str]) -> set[str]:
        unwanted = by_pattern(folder, names) | (SKIPPED_FOLDERS & set(names))
        return unwanted | modules(folder, names) if folder.endswith("lib-dynload") else unwanted

    shutil.copytree(
        pathlib.Path(os.__file__).parent, stdlib, ignore=skipped, copy_function=shutil.copyfile, dirs_exist_ok=True
    )
    (root / PACKAGES).mkdir()
    (stdlib / "dist-packages").symlink_to("site-packages")  # where Debian's interpreter looks instead
