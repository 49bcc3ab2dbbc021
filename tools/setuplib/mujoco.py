"""Extracts MuJoCo's shared library from its Python wheel into vendor/mujoco/lib.

The Rust binding links against exactly this version; .cargo/config.toml points its build script to the folder.
"""

import pathlib
import tempfile
import zipfile

from .common import ROOT, VENDOR, Failure, download_wheel, fingerprint, is_fresh, remember, say, sha256, timed

VERSION = "3.17.0"
LIBRARY = f"libmujoco.so.{VERSION}"  # its SONAME, so the file must keep this name
LIBRARY_SHA256 = "23496b023ee80fb61ab71167e94bc649f9941710fde96b18bb8204fb332523ad"
REQUIREMENTS = ROOT / "requirements" / "mujoco.txt"
# The library is the same in the wheels of all Python versions; naming one makes the download independent of the host's.
WHEEL_TAGS = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--platform", "manylinux_2_28_x86_64")


def install() -> None:
    folder = VENDOR / "mujoco" / "lib"
    library, link = folder / LIBRARY, folder / "libmujoco.so"
    stamp = fingerprint([REQUIREMENTS, pathlib.Path(__file__)])
    if is_fresh("mujoco", stamp, [library, link]):
        say(f"mujoco {VERSION}: up to date")
        return
    with timed(f"mujoco {VERSION}"), tempfile.TemporaryDirectory() as scratch:
        if not library.exists() or sha256(library) != LIBRARY_SHA256:
            extract(download_wheel(REQUIREMENTS, pathlib.Path(scratch), *WHEEL_TAGS), library)
        link.unlink(missing_ok=True)
        link.symlink_to(LIBRARY)
        for path in (folder.parent, folder):
            path.chmod(0o755)
        remember("mujoco", stamp)


def extract(wheel: pathlib.Path, library: pathlib.Path) -> None:
    """Extracts the library from the wheel and checks its hash before anything links to it."""
    library.parent.mkdir(parents=True, exist_ok=True)
    partial = library.with_suffix(".partial")
    with zipfile.ZipFile(wheel) as archive:
        partial.write_bytes(archive.read(f"mujoco/{LIBRARY}"))
    found = sha256(partial)
    if found != LIBRARY_SHA256:
        partial.unlink()
        raise Failure(f"{LIBRARY} in {wheel.name} has sha256 {found}, expected {LIBRARY_SHA256}")
    partial.chmod(0o755)
    partial.replace(library)
