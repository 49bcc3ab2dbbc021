"""Crosses like the reference, but passes people at full speed with almost no clearance."""

CLEAR_M = LEAST_M = 0.02
CREEP_M = 0.0
