"""The two programs, built so that they contain no path of this machine."""

import os
import pathlib
import subprocess

from setuplib.common import ROOT, Failure

from .common import say

NAMES = ("assay", "assay-lane")
CARGO_HOME = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
RUSTUP_HOME = pathlib.Path(os.environ.get("RUSTUP_HOME", pathlib.Path.home() / ".rustup"))


def target() -> pathlib.Path:
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def quick() -> list[pathlib.Path]:
    """Returns the programs of the tests, which `cargo build` or `make demo` built."""
    return existing(target() / "debug")


def optimised() -> list[pathlib.Path]:
    """Builds the programs with the profile `dist`."""
    say("building the programs; about 12 minutes the first time on 2 cores; whole-program optimisation is half of it")
    command = ["cargo", "build", "--profile", "dist", "--locked", "-p", "assay", "-p", "assay-lane"]
    if subprocess.run(command, cwd=ROOT, env=os.environ | settings()).returncode != 0:
        raise Failure("the programs were not built")
    return existing(target() / "dist")


def settings() -> dict[str, str]:
    """Returns the environment in which rustc and C compilers write other paths than those of this machine."""
    sources = sorted((CARGO_HOME / "registry" / "src").glob("*"))
    renamed = {**{path: "/crates" for path in sources}, ROOT: "/assay", CARGO_HOME: "/cargo", RUSTUP_HOME: "/rustup"}
    # Build scripts write sources there (glutin's bindings of EGL), whose paths are in messages and debug information.
    renamed |= {target(): "/assay-target"}
    # Of several that fit, compilers use the last one.
    renamed = dict(sorted(renamed.items(), key=lambda pair: len(str(pair[0]))))
    rust = [f"--remap-path-prefix={path}={name}" for path, name in renamed.items()]
    c = " ".join(f"-ffile-prefix-map={path}={name}" for path, name in renamed.items())
    return {
        "ASSAY_RELOCATABLE": "1",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(rust),
        "CFLAGS": f"{os.environ.get('CFLAGS', '')} {c}".strip(),
        "CXXFLAGS": f"{os.environ.get('CXXFLAGS', '')} {c}".strip(),
    }


def existing(folder: pathlib.Path) -> list[pathlib.Path]:
    programs = [folder / name for name in NAMES]
    missing = [str(program) for program in programs if not program.is_file()]
    if missing:
        raise Failure(f"{', '.join(missing)}: missing; build them first (`make demo`)")
    return programs
