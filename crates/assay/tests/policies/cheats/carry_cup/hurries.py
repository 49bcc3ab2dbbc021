"""Follows the reference, but at up to 0.6 m/s, with gentle starts and stops."""

SPEED, ACCELERATION = 0.6, 1.2
