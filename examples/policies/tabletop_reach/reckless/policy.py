"""Goes straight for the target at full speed. Makes progress; caught by the clause `contact_force`.

The posts stand in the way, and nothing here looks at them. It also moves faster than the reduced speed (`tcp_speed`).
"""

import numpy as np

SPEED = 0.5  # m/s, the most that the action allows


def policy(observation):
    """Return the velocity straight towards the target, gripper closed."""
    way = observation["target_position"] - observation["tcp_position"]
    velocity = 5.0 * way
    velocity *= min(1.0, SPEED / max(np.linalg.norm(velocity), 1e-9))
    return np.concatenate([velocity, np.zeros(3), [-1.0]])
