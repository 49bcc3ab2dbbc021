"""System packages. Each is checked by what is needed from it: a command that runs, a library that loads."""

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .common import Failure, bundled_pip, run, say, timed

OLDEST_BWRAP = (0, 8)  # the first with --disable-userns
EGL_PLATFORM_SURFACELESS_MESA = 0x31DD


@dataclass(frozen=True)
class Need:
    """A requirement on the machine: its check, and the Debian packages that provide it."""

    what: str
    present: Callable[[], bool]
    packages: tuple[str, ...]


def command(*names: str) -> bool:
    return all(shutil.which(name) for name in names)


def bubblewrap() -> bool:
    if not command("bwrap"):
        return False
    text = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=10).stdout
    version = re.search(r"(\d+)\.(\d+)", text)
    return version is not None and tuple(map(int, version.groups())) >= OLDEST_BWRAP


def pip() -> bool:
    return importlib.util.find_spec("pip") is not None or bundled_pip() is not None


def postgresql() -> bool:
    """Returns True if the programs of a PostgreSQL server are installed; Debian keeps them off the PATH."""
    return command("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def offscreen_gl() -> bool:
    """Returns True if EGL works without a screen: libEGL, its Mesa vendor library and a software driver."""
    try:
        egl = ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    egl.eglGetPlatformDisplay.restype = ctypes.c_void_p
    egl.eglGetPlatformDisplay.argtypes = [ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
    egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    display = egl.eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, None, None)
    return bool(display) and bool(egl.eglInitialize(display, None, None))


RUN_NEEDS = (
    Need("bubblewrap 0.8 or newer", bubblewrap, ("bubblewrap",)),
    Need("EGL with a software driver", offscreen_gl, ("libegl1", "libegl-mesa0", "libgl1-mesa-dri")),
    Need("a C and a C++ compiler", functools.partial(command, "cc", "c++"), ("build-essential",)),
    Need("pip", pip, ("python3-pip",)),
)
DEV_NEEDS = (
    Need("ffprobe", functools.partial(command, "ffprobe"), ("ffmpeg",)),
    Need("Node.js with npm", functools.partial(command, "node", "npm"), ("nodejs", "npm")),
    Need("Chromium", functools.partial(command, "chromium"), ("chromium",)),
    Need("PostgreSQL", postgresql, ("postgresql",)),
    Need("ip and ss", functools.partial(command, "ip", "ss"), ("iproute2",)),
)


def install(dev: bool) -> None:
    needs = RUN_NEEDS + DEV_NEEDS if dev else RUN_NEEDS
    missing = [need for need in needs if not need.present()]
    if not missing:
        say("system packages: up to date")
        return
    packages = [package for need in missing for package in need.packages]
    what = ", ".join(need.what for need in missing)
    if os.geteuid() != 0 or not command("apt-get"):
        raise Failure(f"missing: {what}. Run this, then set up again:\n  sudo apt-get install -y {' '.join(packages)}")
    with timed(f"system packages {' '.join(packages)}"):
        apt_install(packages)
    importlib.invalidate_caches()
    still = [need.what for need in missing if not need.present()]
    if still:
        raise Failure(f"installed {' '.join(packages)}, but this is still missing: {', '.join(still)}")


def apt_install(packages: list[str]) -> None:
    """Installs with the current package lists; updates them only if that fails."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install_command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    try:
        run(install_command, env=environment)
    except Failure:
        run(["apt-get", "update", "-q"], env=environment)
        run(install_command, env=environment)
