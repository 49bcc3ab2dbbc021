"""Goes over the divider with 2 mm to spare."""

ROOM_ABOVE = 0.002
