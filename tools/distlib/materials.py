"""The bill of materials, in the CycloneDX format."""

import dataclasses
import json
import pathlib

from . import environment
from .common import SUMMARY, epoch, say, version
from .components import components


def build(_home: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    say("bill of materials ...")
    file = out / f"assay-{version()}.cdx.json"
    found = [dataclasses.asdict(component) | {"texts": []} for component in components()]
    document = {"version": version(), "summary": SUMMARY, "epoch": epoch(), "components": found}
    environment.python(environment.here("bom.py"), file, input=json.dumps(document))
    return file
