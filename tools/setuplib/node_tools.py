"""Installs JavaScript programs for tests of the OpenAPI document into vendor/node, pinned by package-lock.json."""

import shutil

from .common import ROOT, VENDOR, fingerprint, is_fresh, remember, run, say, timed

PINS = [ROOT / "requirements" / "node" / name for name in ("package.json", "package-lock.json")]
TARGET = VENDOR / "node"


def install() -> None:
    stamp = fingerprint(PINS)
    if is_fresh("node", stamp, [TARGET / "node_modules" / ".bin" / "spectral"]):
        say("Node programs of tests: up to date")
        return
    with timed("Node programs of tests"):
        shutil.rmtree(TARGET, ignore_errors=True)
        TARGET.mkdir()
        for pins in PINS:
            shutil.copy(pins, TARGET)
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=TARGET)
        remember("node", stamp)
