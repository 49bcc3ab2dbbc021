"""The tar archive with an install script, for machines without pip or dpkg."""

import gzip
import pathlib
import tarfile

from setuplib.common import ROOT

from .common import UNITS, add_bytes, add_tree, epoch, say, version

SCRIPT = ROOT / "packaging" / "install.sh"


def build(home: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    say("archive ...")
    name = f"assay-{version()}-x86_64-linux"
    file = out / f"{name}.tar.gz"
    # The header of gzip contains a name and a time.
    with open(file, "wb") as raw, gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=epoch()) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            add_tree(archive, home, f"{name}/")
            add_bytes(archive, f"{name}/install.sh", SCRIPT.read_bytes(), 0o755)
            for unit in UNITS:
                add_bytes(archive, f"{name}/{unit}", (ROOT / "packaging" / unit).read_bytes())
            example = (ROOT / "docs" / "assay.example.toml").read_bytes()
            add_bytes(archive, f"{name}/assay.example.toml", example)
    return file
