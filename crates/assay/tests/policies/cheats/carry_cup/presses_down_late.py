"""Carries the bowl like the reference, and presses it into the table short of the pad."""

_act = Policy.act


def _late(self, observation):
    aside = np.linalg.norm((observation["target_position"] - observation["bowl_position"])[:2])
    self.down = getattr(self, "down", False) or aside < 0.05
    return arm([0.0, 0.0, -0.2]) if self.down else _act(self, observation)


Policy.act = _late
