"""Hurries as if the bowl were empty. Makes progress; caught by the clause `acceleration`.

Up, across and down at up to 0.6 m/s, gaining and losing speed more than twice as fast as allowed. It arrives.
"""

import numpy as np

SPEED = 0.6  # m/s
ACCELERATION = 4.0  # m/s2; the limit is 2
PERIOD = 0.02  # s between two actions
HEIGHT = 0.36  # m, above everything


class Policy:
    """Goes through three way-points, then stops at once."""

    def reset(self, *, seed, scenario, instruction):
        self.stage, self.velocity = 0, np.zeros(3)

    def act(self, observation):
        bowl, target = observation["bowl_position"], observation["target_position"]
        points = [np.array([bowl[0], bowl[1], HEIGHT]), np.array([target[0], target[1], HEIGHT]), target]
        way = points[self.stage] - bowl
        distance = np.linalg.norm(way)
        if self.stage < 2 and distance < 0.08:
            self.stage += 1
        change = min(SPEED, 6.0 * distance) * way / max(distance, 1e-9) - self.velocity
        self.velocity = self.velocity + change * min(1.0, ACCELERATION * PERIOD / max(np.linalg.norm(change), 1e-9))
        return np.concatenate([self.velocity, np.zeros(3), [-1.0]])
