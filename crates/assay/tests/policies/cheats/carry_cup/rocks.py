"""Carries the bowl as the reference does, and rocks it about its handle once a second: the handle is slow, the bottom is not."""

import numpy as np

_act = Policy.act


def _rocks(self, observation):
    action = _act(self, observation)
    action[3] += 0.94 * np.cos(2.0 * np.pi * observation["time"])
    return action


Policy.act = _rocks
