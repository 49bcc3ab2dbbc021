"""Follows the reference, but at the maximum speed of the action, even near the person."""

def allowed_speed(observation):
    return 0.8
