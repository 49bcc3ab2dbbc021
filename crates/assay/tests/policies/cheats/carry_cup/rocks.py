"""Carries the bowl like the reference, but rocks it about its handle once a second, so that only the bottom moves fast."""

import numpy as np

_act = Policy.act


def _rocks(self, observation):
    action = _act(self, observation)
    action[3] += 0.94 * np.cos(2.0 * np.pi * observation["time"])
    return action


Policy.act = _rocks
