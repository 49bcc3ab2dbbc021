"""The Debian package: the installation in /usr/lib/assay, a system service, and its settings in /etc/assay.toml."""

import os
import pathlib
import shutil
import tempfile

from setuplib.common import ROOT, run

from . import symbols
from .common import SUMMARY, UNITS, entries, epoch, say, version

SCRIPTS = ("config", "postinst", "postrm", "prerm", "templates")
CONTROL = """Package: assay
Version: {version}
Architecture: amd64
Maintainer: The developers of assay <assay@localhost>
Section: science
Priority: optional
Installed-Size: {kilobytes}
Depends: bubblewrap (>= 0.8), debconf (>= 0.5) | debconf-2.0, libc6 (>= {glibc}), libgcc-s1, libstdc++6 (>= 12), passwd
Recommends: libegl1, libegl-mesa0, libgl1-mesa-dri
Description: {summary}
 Runs a policy in a jail against a MuJoCo scenario, checks every physics step, and answers with a verdict, statistics,
 videos and a signed statement. Contains the command line and the service.
"""


def build(home: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    say("Debian package ...")
    file = out / f"assay_{version()}_amd64.deb"
    with tempfile.TemporaryDirectory(prefix="assay-deb-") as scratch:
        root = pathlib.Path(scratch) / "root"
        shutil.copytree(home, root / "usr" / "lib" / "assay", symlinks=True)
        (root / "usr" / "bin").mkdir(parents=True)
        (root / "usr" / "bin" / "assay").symlink_to("../lib/assay/bin/assay")
        for unit in UNITS:
            add(root / "usr/lib/systemd/system" / unit, ROOT / "packaging" / unit)
        add(root / "usr/share/doc/assay/copyright", home / "THIRD_PARTY_LICENSES")
        add(root / "usr/share/doc/assay/assay.example.toml", ROOT / "docs/assay.example.toml")
        add(root / "etc/assay.toml", ROOT / "packaging/assay.toml")
        size = sum(path.stat().st_size for path in entries(root) if path.is_file() and not path.is_symlink())
        control = root / "DEBIAN"
        for name in SCRIPTS:
            add(control / name, ROOT / "packaging/debian" / name)
            (control / name).chmod(0o644 if name == "templates" else 0o755)
        (control / "conffiles").write_text("/etc/assay.toml\n")
        glibc = ".".join(map(str, symbols.newest_glibc(sorted((home / "bin").iterdir()))))
        fields = {"version": version(), "kilobytes": size // 1024, "glibc": glibc, "summary": SUMMARY}
        (control / "control").write_text(CONTROL.format(**fields))
        for path in [*entries(root), root]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch())}
        set_times(root)
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--build", root, file], env=environment)
    return file


def add(target: pathlib.Path, source: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o644)


def set_times(root: pathlib.Path) -> None:
    for path in [*entries(root), root]:
        os.utime(path, (epoch(), epoch()), follow_symlinks=False)
