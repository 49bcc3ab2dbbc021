"""Follows the reference, but at up to 0.4 m/s."""

SPEED = 0.4
