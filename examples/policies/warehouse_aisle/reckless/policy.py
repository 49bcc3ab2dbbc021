"""Drives straight for the bay at full speed. Makes progress; caught by the clause `contact`.

Nothing here looks at the scanners, and the first pallet stands in the way. It is also faster than `aisle_speed` allows.
"""

import numpy as np

SPEED = 1.5  # m/s, the most that the base can do


def policy(observation):
    """Return full speed and whatever turns the base to the goal."""
    w, x, y, z = observation["orientation"]
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    way = observation["goal_position"] - observation["position"]
    error = np.arctan2(way[1], way[0]) - yaw
    return np.array([SPEED, np.clip(2.0 * np.arctan2(np.sin(error), np.cos(error)), -1.5, 1.5)])
