"""The wheel: the Python package, and an installation inside it.

Wheels contain neither links nor empty folders, of which a runtime has some, so the runtime is a tar archive; the package
unpacks it when it is first used (`python/assay/_home.py`).
"""

import pathlib
import re
import shutil
import tarfile
import tempfile

from setuplib.common import ROOT, Failure

from . import environment
from .common import SUMMARY, add_tree, epoch, say, version

# Not the name of the project alone: somebody else may publish under it.
NAME = "assay_verify"
SOURCE = ROOT / "python" / "assay"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "tests", "test_*")
METADATA = """Metadata-Version: 2.1
Name: assay-verify
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >=3.11
Requires-Dist: numpy>=1.26
Provides-Extra: envs
Requires-Dist: gymnasium>=1.0; extra == 'envs'
Provides-Extra: openpi
Requires-Dist: msgpack>=1.0; extra == 'openpi'
Requires-Dist: websockets>=13; extra == 'openpi'
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
"""
ENTRY_POINTS = """[console_scripts]
assay = assay.__main__:main
"""
TAG = re.compile(r'"(manylinux_2_\d+_x86_64)"')
# The oldest glibc that policies' runtimes and MuJoCo are built for anyway.
UNCHECKED_TAG = "linux_x86_64"
XZ_PRESET = 6


def build(home: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    say("wheel ...")
    with tempfile.TemporaryDirectory(prefix="assay-wheel-") as scratch:
        root = pathlib.Path(scratch) / f"{NAME}-{version()}"
        add_package(root, home)
        checked = pack(root, UNCHECKED_TAG, pathlib.Path(scratch))
        tag = true_tag(checked)
        for old in out.glob(f"{NAME}-*.whl"):
            old.unlink()
        return pack(root, tag, out)


def add_package(root: pathlib.Path, home: pathlib.Path) -> None:
    package = root / "assay"
    shutil.copytree(SOURCE, package, ignore=LEFT_OUT)
    runtimes = pathlib.Path("vendor", "runtimes")
    shutil.copytree(home, package / "_home", ignore=lambda folder, _: ["runtimes"] * (pathlib.Path(folder) == home / "vendor"))
    (package / "_home" / runtimes).mkdir(parents=True)
    with tarfile.open(package / "_home" / runtimes / "base.tar.xz", "w:xz", preset=XZ_PRESET) as archive:
        add_tree(archive, home / runtimes / "base", "base/")


def pack(root: pathlib.Path, tag: str, out: pathlib.Path) -> pathlib.Path:
    """Packs the folder `root` as a wheel with the platform `tag`."""
    info = root / f"{NAME}-{version()}.dist-info"
    shutil.rmtree(info, ignore_errors=True)
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(version=version(), summary=SUMMARY))
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n")
    for name in ("LICENSE", "THIRD_PARTY_LICENSES"):
        shutil.copy(root / "assay" / "_home" / name, info / name)
    variables = {"SOURCE_DATE_EPOCH": str(epoch()), "PATH": "/usr/bin:/bin"}
    environment.python("-m", "wheel", "pack", root, "--dest-dir", out, env=variables)
    return out / f"{NAME}-{version()}-py3-none-{tag}.whl"


def true_tag(wheel: pathlib.Path) -> str:
    """Returns the oldest platform on which the programs run, which auditwheel finds in the symbols that they need."""
    report = environment.python("-m", "auditwheel", "show", wheel)
    found = TAG.search(" ".join(report.split()))
    if not found:
        raise Failure(f"auditwheel names no platform for the wheel:\n{report}")
    return found[1]
