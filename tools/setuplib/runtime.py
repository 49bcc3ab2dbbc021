"""Builds the Python runtimes that are shipped: `vendor/runtimes/base` (numpy) and `vendor/runtimes/onnx`.

The program that builds them, `python/build_runtime`, also builds those that operators add (`assay runtime add`).
"""

import json
import pathlib
import shutil
import sys

from . import jailcheck
from .common import ROOT, VENDOR, fingerprint, is_fresh, remember, run, say, timed

BUILDER = ROOT / "python" / "build_runtime"
RUNTIMES = VENDOR / "runtimes"
SHIPPED = ("base", "onnx")


def install() -> None:
    RUNTIMES.mkdir(exist_ok=True)
    for name in SHIPPED:
        install_one(name)


def install_one(name: str) -> None:
    target, requirements = RUNTIMES / name, ROOT / "requirements" / "runtimes" / f"{name}.txt"
    stamp = fingerprint([requirements, *sorted(BUILDER.glob("*.py"))], sys.version)
    title = f"policy runtime {name} (Python {sys.version.split()[0]})"
    if is_fresh(f"runtime-{name}", stamp, [target / "manifest.json"]):
        say(f"{title}: up to date")
        return
    fresh = RUNTIMES / f".{name}.new"
    with timed(title):
        shutil.rmtree(fresh, ignore_errors=True)
        run([sys.executable, BUILDER, name, fresh, "--requirements", requirements])
        manifest = json.loads((fresh / "manifest.json").read_text())
        jailcheck.check(fresh, manifest)
        replace(target, fresh)
        remember(f"runtime-{name}", stamp)
    versions = ", ".join(f"{package} {version}" for package, version in manifest["packages"].items())
    say(f"policy runtime {name}: {manifest['size_bytes'] / 1e6:.0f} MB in {manifest['files']} files; {versions}")


def replace(target: pathlib.Path, fresh: pathlib.Path) -> None:
    """Replaces `target` by `fresh`, so that an incomplete runtime is never used."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)
