"""The files of an installation, as every package contains them.

    bin/assay, bin/assay-lane   the programs, without debug information
    scenarios/ robots/          the built-in library
    examples/                   known-answer policies and trained networks
    python/                     the policies' side of the frames, and the builder of runtimes
    requirements/runtimes/      lists of packages, for `assay runtime add onnx`
    vendor/mujoco/lib           MuJoCo
    vendor/runtimes/base        the runtime with numpy
    LICENSE, THIRD_PARTY_LICENSES
"""

import contextlib
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from setuplib.common import ROOT, VENDOR, Failure, run
from setuplib.mujoco import LIBRARY

from . import licences

COPIED = (
    "scenarios", "robots", "examples", "python/build_runtime", "python/runner", "python/runtime_check", "requirements/runtimes",
)  # fmt: skip
BASE = VENDOR / "runtimes" / "base"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


@contextlib.contextmanager
def staged(programs: list[pathlib.Path]) -> Iterator[pathlib.Path]:
    """Provides a temporary folder with all files of an installation."""
    with tempfile.TemporaryDirectory(prefix="assay-dist-") as scratch:
        folder = pathlib.Path(scratch) / "home"
        folder.mkdir()
        add_programs(folder / "bin", programs)
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
        library = VENDOR / "mujoco" / "lib" / LIBRARY
        if not library.is_file() or not (BASE / "manifest.json").is_file():
            raise Failure("vendor/ is incomplete: run `make setup` first")
        (folder / "vendor" / "mujoco" / "lib").mkdir(parents=True)
        shutil.copy(library, folder / "vendor" / "mujoco" / "lib" / LIBRARY)
        shutil.copytree(BASE, folder / "vendor" / "runtimes" / "base", symlinks=True)
        shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
        (folder / "THIRD_PARTY_LICENSES").write_text(licences.text())
        set_modes(folder)
        yield folder


def add_programs(folder: pathlib.Path, programs: list[pathlib.Path]) -> None:
    folder.mkdir()
    for program in programs:
        run(["strip", "--strip-debug", "--strip-unneeded", "-o", folder / program.name, program])


def set_modes(folder: pathlib.Path) -> None:
    """Makes everything readable for all users, regardless of the umask."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            continue
        runs = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if runs else 0o644)
