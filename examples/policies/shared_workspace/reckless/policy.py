"""Plunges onto each mark as if nobody were there. Makes progress; caught by the clause `hand_force`.

The hand that is at work over the second mark is squeezed onto the table. It also comes too near the person too fast
(`separation`, `contact_speed`).
"""

import numpy as np

SPEED = 0.6  # m/s
CRUISE = 0.24  # m, from where it comes down
ABOVE = 0.02  # m sideways


def policy(observation):
    """Return the velocity over the next mark, then down onto it; gripper closed."""
    way = observation[f"mark_{min(int(observation['marks'][0]), 2)}_position"] - observation["tcp_position"]
    if np.linalg.norm(way[:2]) > ABOVE:
        way[2] = CRUISE - observation["tcp_position"][2]
    velocity = 8.0 * way
    velocity *= min(1.0, SPEED / max(np.linalg.norm(velocity), 1e-9))
    return np.concatenate([velocity, np.zeros(3), [-1.0]])
