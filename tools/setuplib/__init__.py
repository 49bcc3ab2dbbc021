"""The parts of tools/setup, one file a part. Start reading in tools/setup."""
