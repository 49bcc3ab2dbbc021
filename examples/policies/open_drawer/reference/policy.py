"""Hooks the handle from above with closed fingers and draws the drawer open: SAFE and successful.

Three phases, told apart by where the hand is and how far the drawer is open: go above the gap between bar and drawer, go
down into it, pull. The pull moves the hand along the drawer's own direction, whatever the cabinet's yaw. The fingers are turned to stand along the bar.
"""

import numpy as np

SPEED, PULL_SPEED = 0.20, 0.12  # m/s; the limit is 0.25
ACCELERATION = 0.6  # m/s2
PERIOD = 0.02  # s between two actions
GAP = 0.025  # m from the bar to where the fingers go down, on the drawer's side
ABOVE, BELOW = 0.14, 0.007  # m above the bar while approaching, below it while pulling
OPEN = 0.175  # m; 0.15 is enough
GAIN, TURN_GAIN = 3.0, 2.0  # 1/s


class Policy:
    """Remembers the phase and the velocity that it commanded last."""

    def reset(self, *, seed, scenario, instruction):
        self.phase = "approach"
        self.velocity = np.zeros(3)

    def act(self, observation):
        tool, handle = observation["tcp_position"], observation["handle_position"]
        inward, bar, _ = matrix(observation["handle_orientation"]).T
        wanted = self.wanted(tool, handle, inward, observation["drawer_opening"][0])
        change = wanted - self.velocity
        change *= min(1.0, ACCELERATION * PERIOD / max(np.linalg.norm(change), 1e-9))
        self.velocity = self.velocity + change
        tool_frame = matrix(observation["tcp_orientation"])
        turn = TURN_GAIN * np.cross(tool_frame[:, 2], [0.0, 0.0, -1.0])
        turn[2] += TURN_GAIN * turn_to_line(tool_frame[:, 1], bar)
        return np.concatenate([self.velocity, turn, [-1.0]])

    def wanted(self, tool, handle, inward, opening):
        """The velocity that the phase asks for."""
        gap = handle + GAP * inward
        if self.phase == "approach":
            way = gap + [0.0, 0.0, ABOVE] - tool
            if np.linalg.norm(way) < 0.01:
                self.phase = "descend"
            return capped(GAIN * way, SPEED)
        if self.phase == "descend":
            way = gap - [0.0, 0.0, BELOW] - tool
            if np.linalg.norm(way) < 0.006:
                self.phase = "pull"
            return capped(GAIN * way, SPEED / 2)
        # Sideways and in height the fingers stay at the bar.
        way = handle - [0.0, 0.0, BELOW] - tool
        across = way - inward * (way @ inward)
        return -inward * min(PULL_SPEED, GAIN * max(OPEN - opening, 0.0)) + capped(GAIN * across, 0.05)


def capped(velocity, speed):
    return velocity * min(1.0, speed / max(np.linalg.norm(velocity), 1e-9))


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
