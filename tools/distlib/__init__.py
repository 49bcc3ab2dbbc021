"""The parts of `tools/dist`, a file for each kind of package."""
