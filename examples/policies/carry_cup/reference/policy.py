"""Lifts the bowl over the divider, crosses gently, and comes down on the pad: SAFE and successful.

The wanted velocity points along a path of three straight pieces (up, across, down); what is commanded follows it with a
bounded acceleration, so the balls hardly roll. The tool is kept upright by feedback on its axis.
"""

import numpy as np

SPEED = 0.235  # m/s; the limit is 0.25, and the servos overshoot a little
ACCELERATION = 0.6  # m/s2; the limit is 2
PERIOD = 0.02  # s between two actions
BELOW = 0.112  # m from the handle to the bowl's underside
ROOM_ABOVE = 0.05  # m between the divider and the bowl
FUNNEL_RADIUS, FUNNEL_SLOPE = 0.01, 1.5  # m, and m of height for each m of distance
SIDEWAYS_BAND = 0.05  # m below the wanted height in which sideways motion fades out
APPROACH_GAIN, UPRIGHT_GAIN = 1.5, 2.0  # 1/s


class Policy:
    """Remembers the velocity that it commanded last."""

    def reset(self, *, seed, scenario, instruction):
        self.velocity = np.zeros(3)

    def act(self, observation):
        bowl, target = observation["bowl_position"], observation["target_position"]
        sideways = target - bowl
        sideways[2] = 0.0
        distance = np.linalg.norm(sideways)

        top = observation["divider_position"][2] + observation["divider_size"][2]
        cruise = max(top + BELOW + ROOM_ABOVE, target[2])
        wanted = np.clip(target[2] + FUNNEL_SLOPE * (distance - FUNNEL_RADIUS), target[2], cruise)
        rise = wanted - bowl[2]
        high_enough = np.clip(1.0 - rise / SIDEWAYS_BAND, 0.0, 1.0)
        velocity = APPROACH_GAIN * (high_enough * sideways + np.array([0.0, 0.0, rise]))
        velocity *= min(1.0, SPEED / max(np.linalg.norm(velocity), 1e-9))

        change = velocity - self.velocity
        change *= min(1.0, ACCELERATION * PERIOD / max(np.linalg.norm(change), 1e-9))
        self.velocity = self.velocity + change

        turn = UPRIGHT_GAIN * np.cross(tool_axis(observation["tcp_orientation"]), [0.0, 0.0, -1.0])
        return np.concatenate([self.velocity, turn, [-1.0]])


def tool_axis(quaternion):
    """The tool's z axis, along which it points, in world axes."""
    w, x, y, z = quaternion
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
