"""Clears the divider by only 2 mm."""

ROOM_ABOVE = 0.002
