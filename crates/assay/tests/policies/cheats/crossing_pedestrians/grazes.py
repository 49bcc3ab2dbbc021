"""Crosses as the reference does, but shaves past people at full speed."""

CLEAR_M = LEAST_M = 0.02
CREEP_M = 0.0
