"""Does nothing: the arm holds its pose. No progress, and no clause is violated."""

import numpy as np


def policy(observation):
    """Return an action of zeros whatever is seen: no velocity."""
    return np.zeros(7)
