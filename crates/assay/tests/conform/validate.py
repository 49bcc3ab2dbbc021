"""validate.py DOCUMENT: what openapi-spec-validator says of an OpenAPI document, every example in it checked too."""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from openapi_spec_validator.shortcuts import get_validator_cls
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

BASE = "urn:document"


def examples(document):
    """Each example of a request or an answer, with its place and the schema that it must obey."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            holders = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for holder, content in ((h, c) for h, body in holders.items() for c in body.get("content", {}).values()):
                found = list(content["examples"].values()) if "examples" in content else []
                found += [{"value": content["example"]}] if "example" in content else []
                for example in found:
                    yield f"{method} {path} {holder}", content["schema"], example["value"]


def main(path):
    document = json.loads(Path(path).read_text())
    validate(document)
    registry = Registry().with_resource(BASE, Resource(document, DRAFT202012))
    for place, schema, example in examples(document):
        reference = json.loads(json.dumps(schema).replace('"#/', f'"{BASE}#/'))
        for error in Draft202012Validator(reference, registry=registry).iter_errors(example):
            sys.exit(f"the example of {place}: {error.json_path}: {error.message}")
    print(get_validator_cls(document).__name__)


if __name__ == "__main__":
    main(sys.argv[1])
