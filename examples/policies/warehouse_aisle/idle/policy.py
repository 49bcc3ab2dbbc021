"""Stays where it is: no progress and no violation."""

import numpy as np


def policy(observation):
    """Return no speed and no turning."""
    return np.zeros(2)
