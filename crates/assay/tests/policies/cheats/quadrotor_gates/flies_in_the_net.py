"""Flies along the net with its centre just inside and its rotors in the net."""

import numpy as np


class Policy:
    def act(self, observation):
        velocity = 1.5 * (np.array([2.0, 1.78, 1.2]) - observation["position"])
        return fly(observation, velocity * min(1.0, 0.4 / max(np.linalg.norm(velocity), 1e-9)), 0.3)
