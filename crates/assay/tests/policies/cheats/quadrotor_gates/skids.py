"""Skids back and forth over the floor at 0.5 m/s with the rotors running."""

import numpy as np


class Policy:
    def act(self, observation):
        if observation["time"] < 0.6:
            return fly(observation, np.array([0.0, 0.0, 0.15]), 0.0)
        along = 0.45 * np.sign(np.sin(0.5 * np.pi * observation["time"]))
        return fly(observation, np.array([along, 0.0, -0.02]), 0.0)
