"""What bench/run measures, a module each."""
