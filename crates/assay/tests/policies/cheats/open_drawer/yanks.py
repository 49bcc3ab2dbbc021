"""Pulls at 0.5 m/s."""

PULL_SPEED = 0.5
