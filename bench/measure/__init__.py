"""The measurements of bench/run, one per module."""
