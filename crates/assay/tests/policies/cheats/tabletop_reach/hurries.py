"""Follows the reference, but at up to 0.45 m/s."""

SPEED = 0.45
