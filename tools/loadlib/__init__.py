"""The mixed load of `tools/load`: operations, samples of what the service uses, and the test of flatness."""
