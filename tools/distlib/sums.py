"""The checksums of all packages, in the format of sha256sum."""

import pathlib

from setuplib.common import sha256

NAME = "SHA256SUMS"


def write(folder: pathlib.Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != NAME)
    (folder / NAME).write_text("".join(f"{sha256(path)}  {path.name}\n" for path in files))
