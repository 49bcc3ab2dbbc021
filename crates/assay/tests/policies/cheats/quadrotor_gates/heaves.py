"""Hovers, and varies its thrust at 3 Hz, so that it shakes up and down without rotating."""

import numpy as np


class Policy:
    def act(self, observation):
        action = fly(observation, 1.5 * (np.array([0.0, 0.0, 1.2]) - observation["position"]), 0.0)
        if observation["time"] > 2.0:
            action[0] = np.clip(action[0] + 0.26 * np.sign(np.sin(6.0 * np.pi * observation["time"] + 1e-6)), 0.0, 0.6)
        return action
