"""Shared code of the test programs under tools/: tables of stages, and `assay serve` with a client."""
