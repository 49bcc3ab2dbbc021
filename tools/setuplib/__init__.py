"""The parts of tools/setup, one per file. Start reading in tools/setup."""
