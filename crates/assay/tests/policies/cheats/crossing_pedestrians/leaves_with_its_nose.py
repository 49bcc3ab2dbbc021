"""Stands at the zone's edge with its centre inside and its front outside."""

import numpy as np


class Policy:
    def act(self, observation):
        aside = np.pi / 2 - yaw_of(observation)
        forward = np.clip(1.87 - observation["position"][1], -0.2, 0.29) if abs(aside) < 0.1 else 0.0
        return np.array([forward, np.clip(1.5 * aside, -0.6, 0.6)])
