"""Checks JUnit files against a schema: check_junit.py SCHEMA.xsd FILE... Ends with 1 at the first that does not fit."""

import sys

import xmlschema

schema = xmlschema.XMLSchema(sys.argv[1])
for name in sys.argv[2:]:
    for error in schema.iter_errors(name):
        sys.exit(f"{name}: {error.path}: {error.reason}")
print(f"{len(sys.argv) - 2} files fit")
