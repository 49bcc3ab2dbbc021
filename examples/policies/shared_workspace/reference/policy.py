"""Waits beside the tray until the person takes the hand away, touches the mark, and is gone: SAFE and successful.

It keeps as slow as the distance to the person's body asks, and backs off when the hand comes near.
"""

import numpy as np

SPEED, ACCELERATION = 0.30, 1.5  # m/s, m/s2
GAIN, UPRIGHT_GAIN = 5.0, 2.0  # 1/s
PERIOD = 0.02  # s between two actions
CRUISE = 0.24  # m, height of the way from mark to mark
WAITING = np.array([0.34, -0.04, CRUISE])  # beside the tray
BUSY, AWAY = 0.14, 0.17  # m from the second mark to the hand: at work there, and gone
TOO_NEAR = 0.10  # m between robot and hand


class Policy:
    """Remembers whether the hand has been at the tray, so that it goes when a pause begins and not when one ends."""

    def reset(self, *, seed, scenario, instruction):
        self.velocity = np.zeros(3)
        self.busy, self.free = False, False

    def act(self, observation):
        self.watch(observation)
        goal = self.goal(observation)
        wanted = GAIN * (goal - observation["tcp_position"])
        wanted *= min(1.0, allowed_speed(observation) / max(np.linalg.norm(wanted), 1e-9))
        change = wanted - self.velocity
        change *= min(1.0, ACCELERATION * PERIOD / max(np.linalg.norm(change), 1e-9))
        self.velocity = self.velocity + change
        turn = UPRIGHT_GAIN * np.cross(tool_axis(observation["tcp_orientation"]), [0.0, 0.0, -1.0])
        return np.concatenate([self.velocity, turn, [-1.0]])

    def watch(self, observation):
        """Tells from the hand's place whether the tray is free."""
        distance = np.linalg.norm((observation["hand_position"] - observation["mark_1_position"])[:2])
        self.busy = self.busy or distance < BUSY
        if self.busy and distance > AWAY:
            self.busy, self.free = False, True
        if distance < BUSY or observation["hand_distance"][0] < TOO_NEAR:
            self.free = False

    def goal(self, observation):
        """Where the tool is to go now."""
        tool, mark = observation["tcp_position"], int(observation["marks"][0])
        if mark == 1 and self.free:
            return way_over(tool, observation["mark_1_position"])
        if mark >= 1 and np.linalg.norm(tool - observation["mark_1_position"]) < 0.15:
            return WAITING  # out of the person's way first, by the shortest way
        return way_over(tool, WAITING if mark == 1 else observation[f"mark_{min(mark, 2)}_position"])


def way_over(tool, place):
    """Up, across and down onto a place; down only when nearly above it."""
    sideways = np.linalg.norm((place - tool)[:2])
    height = place[2] if sideways < 0.03 else max(CRUISE, place[2])
    if sideways > 0.03 and tool[2] < CRUISE - 0.05:
        return np.array([tool[0], tool[1], CRUISE + 0.02]) + 0.3 * np.array([*(place - tool)[:2], 0.0])
    return np.array([place[0], place[1], height])


def allowed_speed(observation):
    """As fast as the robot may be at this distance from the person's body, with 50 mm to spare."""
    return np.clip((observation["body_distance"][0] - 0.26) / 0.45, 0.02, SPEED)


def tool_axis(quaternion):
    """The tool's z axis, along which it points, in world axes."""
    w, x, y, z = quaternion
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
