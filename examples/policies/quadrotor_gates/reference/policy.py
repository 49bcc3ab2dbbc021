"""Flies from gate to gate at one metre a second and hovers at the goal: SAFE and successful.

A position controller asks for an acceleration, the acceleration for a thrust and an attitude, the attitude for body
rates. The path goes through a point before and a point behind each gate, so that every opening is crossed straight.
"""

import numpy as np

MASS_KG = 0.0277  # the nominal one; feedback takes care of what the episode drew
GRAVITY = 9.81
APPROACH_M = 0.30  # before and behind a gate
SPEED, CROSSING_SPEED = 1.2, 1.0  # m/s
NEAR_M = 0.12  # a way point is reached
ACCELERATION = 2.5  # m/s2, sideways
TRAVEL_GAIN, VELOCITY_GAIN, HEIGHT_INTEGRAL = 2.2, 3.5, 1.5
ATTITUDE_GAIN, YAW_GAIN = 9.0, 2.0


def rotation(q):
    """Rotation matrix of a unit quaternion w, x, y, z."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def fly(observation, velocity, lift):
    """The action that brings the drone to `velocity`; `lift` is added to the acceleration upwards."""
    acceleration = VELOCITY_GAIN * (velocity - observation["velocity"])
    acceleration[:2] *= min(1.0, ACCELERATION / max(np.linalg.norm(acceleration[:2]), 1e-9))
    acceleration[2] = np.clip(acceleration[2] + lift, -4.0, 5.0)
    force = MASS_KG * (acceleration + [0.0, 0.0, GRAVITY])
    own = rotation(observation["orientation"])
    thrust = max(force @ own[:, 2], 0.0)
    # Turning the drone's z axis to the force: the axis is their cross product, here in the drone's own axes.
    error = own.T @ np.cross(own[:, 2], force / np.linalg.norm(force))
    yaw = np.arctan2(own[1, 0], own[0, 0])
    return np.array([thrust, ATTITUDE_GAIN * error[0], ATTITUDE_GAIN * error[1], -YAW_GAIN * yaw])


class Policy:
    """Keeps the way points that are left and the integral of the height's error."""

    speed, crossing_speed = SPEED, CROSSING_SPEED

    def __init__(self):
        self.points, self.lift = None, 0.0

    def path(self, observation):
        gates = [observation[f"gate_{i}"] for i in range(4)]
        ahead = np.array([APPROACH_M, 0.0, 0.0])
        points = [(observation["position"] + [0.0, 0.0, 0.6], self.speed)]
        for gate in gates:
            points += [(gate - ahead, self.speed), (gate + ahead, self.crossing_speed)]
        return [*points, (observation["goal_position"], self.speed)]

    def act(self, observation):
        if self.points is None:
            self.points = self.path(observation)
        way = self.points[0][0] - observation["position"]
        if len(self.points) > 1 and np.linalg.norm(way) < NEAR_M:
            self.points.pop(0)
            way = self.points[0][0] - observation["position"]
        velocity = TRAVEL_GAIN * way
        if len(self.points) > 1:
            # On the way the speed is held; only the goal is approached slowly.
            velocity = way / max(np.linalg.norm(way), 1e-9) * max(np.linalg.norm(velocity), 0.5)
        velocity *= min(1.0, self.points[0][1] / max(np.linalg.norm(velocity), 1e-9))
        self.lift = np.clip(self.lift + HEIGHT_INTEGRAL * way[2] * 0.02, -1.0, 1.0)
        return fly(observation, velocity, self.lift)
