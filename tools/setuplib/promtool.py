"""Extracts promtool, which checks the alert rules of docs/monitoring, from Debian's package into vendor/promtool.

The package is not installed, because it would start a server. apt checks its signature.
"""

import pathlib
import tempfile

from .common import VENDOR, Failure, fingerprint, is_fresh, remember, run, say, timed
from .packages import command

PACKAGE = "prometheus"
INSIDE = "usr/bin/promtool"


def install() -> None:
    program = VENDOR / "promtool" / "promtool"
    stamp = fingerprint([pathlib.Path(__file__)])
    if is_fresh("promtool", stamp, [program]):
        say("promtool: up to date")
        return
    if not command("apt-get", "dpkg-deb"):
        raise Failure(f"apt-get and dpkg-deb are missing: put promtool of Prometheus 2.42 or newer at {program}")
    with timed("promtool"), tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        folder.chmod(0o755)  # apt downloads as another user
        download(folder)
        run(["dpkg-deb", "--extract", *folder.glob("*.deb"), folder / "package"])
        program.parent.mkdir(exist_ok=True)
        partial = program.with_suffix(".partial")
        partial.write_bytes((folder / "package" / INSIDE).read_bytes())
        partial.chmod(0o755)
        run([partial, "--version"])
        partial.replace(program)
        remember("promtool", stamp)


def download(folder: pathlib.Path) -> None:
    """Downloads with the current package lists; updates them only if that fails."""
    try:
        run(["apt-get", "download", "-q", PACKAGE], cwd=folder)
    except Failure:
        run(["apt-get", "update", "-q"])
        run(["apt-get", "download", "-q", PACKAGE], cwd=folder)
