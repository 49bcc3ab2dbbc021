"""The mixed load of `tools/load`: operations, samples of the service's resources, and the test of flatness."""
