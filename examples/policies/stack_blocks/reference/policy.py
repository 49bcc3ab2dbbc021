"""Picks each block across its faces and sets it down on the tower: SAFE and successful.
"""

import numpy as np

CRUISE = 0.22  # m, height of the way from one to the other
SPEED, SLOW = 0.19, 0.08  # m/s; the limit is 0.25, and while the tool turns the hand is faster
ACCELERATION = 1.0  # m/s2
RELEASE = 0.002  # m above where it will stand
PERIOD = 0.02  # s between two actions
GAIN, TURN_GAIN = 4.0, 2.0  # 1/s
TURN_SPEED = 0.6  # rad/s
HOVER = 0.05  # m above an object or its place
OPEN, CLOSED = 1.0, -1.0
CLOSING_S, OPENING_S = 0.5, 0.4


class Policy:
    """A list of moves, done one after the other."""

    def reset(self, *, seed, scenario, instruction):
        self.moves, self.velocity = None, np.zeros(3)

    def act(self, observation):
        if self.moves is None:
            self.moves = plan(observation)
            self.since = 0.0
        tool = observation["tcp_position"]
        goal, gripper, line, wait, speed = self.moves[0]
        way = goal - tool
        if wait > 0.0:
            done = observation["time"] - self.since >= wait
        else:
            # High up a rough arrival will do.
            near, still = (0.004, 0.02) if speed == SLOW else (0.015, 0.1)
            done = np.linalg.norm(way) < near and np.linalg.norm(observation["tcp_velocity"]) < still
        if done and len(self.moves) > 1:
            self.moves.pop(0)
            self.since = observation["time"]

        wanted = GAIN * way
        wanted *= min(1.0, speed / max(np.linalg.norm(wanted), 1e-9))
        change = wanted - self.velocity
        change *= min(1.0, ACCELERATION * PERIOD / max(np.linalg.norm(change), 1e-9))
        self.velocity = self.velocity + change

        frame = matrix(observation["tcp_orientation"])
        turn = TURN_GAIN * np.cross(frame[:, 2], [0.0, 0.0, -1.0])
        turn[2] += np.clip(TURN_GAIN * turn_to_line(frame[:, 1], line), -TURN_SPEED, TURN_SPEED)
        return np.concatenate([self.velocity, turn, [gripper]])


def plan(observation):
    """Blue on red, green on blue."""
    height = 0.045
    red = observation["red_position"]
    across = {name: nearest_face(observation[f"{name}_orientation"]) for name in ("red", "blue", "green")}
    first = carry(observation["blue_position"], across["blue"], red + [0.0, 0.0, height], across["red"])
    second = carry(observation["green_position"], across["green"], red + [0.0, 0.0, 2 * height], across["red"])
    return first + second


def nearest_face(quaternion):
    """The horizontal axis of a block that is nearest to the world's y axis, along which the fingers stand at first."""
    frame = matrix(quaternion)
    return max((frame[:, 0], frame[:, 1]), key=lambda axis: abs(axis[1]))


def carry(thing, axis, place, place_axis):
    """The moves that take what is at `thing` to `place`; the fingers stand along `axis`, there along `place_axis`."""
    up = np.array([0.0, 0.0, 1.0])
    above, over = raised(thing, CRUISE), raised(place, CRUISE)
    return [
        (above, OPEN, axis, 0.0, SPEED),
        (thing + HOVER * up, OPEN, axis, 0.0, SPEED),
        (thing, OPEN, axis, 0.0, SLOW),
        (thing, CLOSED, axis, CLOSING_S, SLOW),
        (above, CLOSED, axis, 0.0, SPEED),
        (over, CLOSED, place_axis, 0.0, SPEED),
        (place + RELEASE * up, CLOSED, place_axis, 0.0, SLOW),
        (place + RELEASE * up, OPEN, place_axis, OPENING_S, SLOW),
        (over, OPEN, place_axis, 0.0, SPEED),
    ]


def raised(point, height):
    return np.array([point[0], point[1], height])


def turn_to_line(axis, line):
    """The least turn about z that brings a horizontal axis onto a line, whichever way that points."""
    angle = np.arctan2(axis[0] * line[1] - axis[1] * line[0], axis[0] * line[0] + axis[1] * line[1])
    return (angle + np.pi / 2) % np.pi - np.pi / 2


def matrix(quaternion):
    """The rotation matrix; its columns are the frame's axes in world axes."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
