"""What cheats use. A test puts the scenario's reference policy and this file before each of them."""

import numpy as np


def yaw_of(observation):
    w, x, y, z = observation["orientation"]
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def drive(observation, target, speed):
    """The action that drives a base to `target` (x, y), turning on the spot first where it lies aside."""
    way = np.asarray(target, dtype=float)[:2] - observation["position"][:2]
    aside = (np.arctan2(way[1], way[0]) - yaw_of(observation) + np.pi) % (2 * np.pi) - np.pi
    if np.hypot(*way) < 0.05:
        return np.zeros(2)
    return np.array([speed if abs(aside) < 0.5 else 0.0, np.clip(2.0 * aside, -0.8, 0.8)])


def straight(observation, speed):
    """The action that drives a base along x."""
    return np.array([speed, np.clip(-1.5 * yaw_of(observation), -0.8, 0.8)])


def arm(velocity, turn=(0.0, 0.0, 0.0), gripper=-1.0):
    return np.concatenate([velocity, turn, [gripper]])


def towards(observation, place, speed):
    """The velocity that brings the tool to `place`, at `speed` at most."""
    way = 4.0 * (np.asarray(place, dtype=float) - observation["tcp_position"])
    return way * min(1.0, speed / max(np.linalg.norm(way), 1e-9))


def over(observation, place, height, speed=0.15):
    """The velocity that brings the tool to `height` and, once it is there, above `place`."""
    tool = observation["tcp_position"]
    low = tool[2] < height - 0.03 and np.linalg.norm((place - tool)[:2]) > 0.02
    return towards(observation, [*(tool if low else place)[:2], height], speed)
