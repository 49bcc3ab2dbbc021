"""Reads components from standard input and writes a bill of materials to a file. Runs in the environment of requirements/dist.txt."""

import datetime
import json
import pathlib
import sys
import uuid

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL


def main() -> None:
    given = json.load(sys.stdin)
    factory = LicenseFactory()
    bom = Bom()
    bom.metadata.component = Component(
        name="assay", version=given["version"], type=ComponentType.APPLICATION, description=given["summary"],
        licenses=[factory.make_from_string("Apache-2.0")], bom_ref="assay",
    )
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(given["epoch"], datetime.timezone.utc)
    for one in given["components"]:
        licences = [factory.make_from_string(one["licence"].replace("/", " OR "))] if one["licence"] else []
        bom.components.add(Component(
            name=one["name"], version=one["version"], type=ComponentType.LIBRARY, licenses=licences,
            purl=PackageURL.from_string(one["purl"]), bom_ref=one["purl"],
        ))
    bom.register_dependency(bom.metadata.component, list(bom.components))
    # Equal components give an equal document.
    content = json.dumps(given["components"], sort_keys=True)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, content)
    pathlib.Path(sys.argv[1]).write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n")


if __name__ == "__main__":
    main()
