"""Carries the bowl like the reference, but twists it about its handle at 5 Hz."""

import numpy as np

_act = Policy.act


def _twists(self, observation):
    action = _act(self, observation)
    action[:3] *= 0.9
    action[5] = 1.2 * np.cos(10.0 * np.pi * observation["time"])
    return action


Policy.act = _twists
