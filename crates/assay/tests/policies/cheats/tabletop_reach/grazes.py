"""Passes over the posts with 20 mm less clearance than the reference, so that the hand almost touches them."""

ROOM_ABOVE = 0.03
