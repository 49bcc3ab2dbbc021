"""Does nothing: the pole falls. No progress, and no clause is violated."""

import numpy as np


def policy(observation):
    """Return a force of 0 N whatever is seen."""
    return np.zeros(1)
