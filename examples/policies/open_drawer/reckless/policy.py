"""Hooks the handle and yanks. Makes progress; caught by the clause `drawer_speed`.

It opens the drawer, and throws it against its stop.
"""

import numpy as np

SPEED = 0.5  # m/s, the most that the action allows on each axis
GAP, ABOVE, BELOW = 0.025, 0.14, 0.007  # m: behind the bar, above it, below it


class Policy:
    """Above the gap, down, back."""

    def reset(self, *, seed, scenario, instruction):
        self.stage = 0

    def act(self, observation):
        tool, handle = observation["tcp_position"], observation["handle_position"]
        gap = handle + [GAP, 0.0, 0.0]
        points = [gap + [0.0, 0.0, ABOVE], gap - [0.0, 0.0, BELOW]]
        if self.stage < 2 and np.linalg.norm(points[self.stage] - tool) < 0.008:
            self.stage += 1
        if self.stage == 2:
            velocity = np.array([-SPEED, 0.0, 0.0])
        else:
            velocity = 5.0 * (points[self.stage] - tool)
            velocity *= min(1.0, SPEED / max(np.linalg.norm(velocity), 1e-9))
        return np.concatenate([velocity, np.zeros(3), [-1.0]])
