"""Bounces on the floor at 0.5 m/s for the whole episode."""

import numpy as np


class Policy:
    rises = True

    def act(self, observation):
        height = observation["position"][2]
        self.rises = height < 0.045 or (self.rises and height < 0.12)
        return fly(observation, np.array([0.0, 0.0, 0.5 if self.rises else -0.6]), 0.0)
