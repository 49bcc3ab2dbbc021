"""Moves to the handle at 0.45 m/s."""

SPEED = 0.45
