"""Balances the pole well, but tours the rail while it does so. Makes progress; caught by the clause `keep_in`.

The feedback of a good balancer, with a set-point that swings to 1.5 m: far outside the zone of 1.0 m. The pole is up,
the task looks done, and the rule about where the cart may be is broken: what a score without clauses would not see.
"""

import math

import numpy as np

# State feedback on (position, angle, speed, rate), tuned by hand. To go right, the cart first goes left.
GAIN = np.array([7.5, 72.0, 12.0, 17.0])
SWING_M, PERIOD_S = 1.5, 8.0
FORCE_N = 12.0


def policy(observation):
    """Force that balances the pole around a moving set-point."""
    phase = 2 * math.pi * observation["time"] / PERIOD_S
    set_point = np.array([SWING_M * math.sin(phase), 0.0, 0.0, 0.0])
    state = np.concatenate([observation["joint_position"], observation["joint_velocity"]])
    return np.array([np.clip(GAIN @ (state - set_point), -FORCE_N, FORCE_N)])
