"""Goes over the posts with 20 mm less than the reference's room, at which the hand nearly touches."""

ROOM_ABOVE = 0.03
