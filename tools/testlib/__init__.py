"""Shared code of the test programs in tools/: tables of stages, and `assay serve` with a client."""
