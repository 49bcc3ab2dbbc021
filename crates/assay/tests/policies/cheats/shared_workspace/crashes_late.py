"""Follows the reference, and presses on the table just short of the last mark."""

_act = Policy.act


def _late(self, observation):
    self.down = getattr(self, "down", False) or (observation["marks"][0] >= 2 and np.linalg.norm(observation["mark_2_position"] - observation["tcp_position"]) < 0.05)
    return arm([0.0, 0.0, -0.2]) if self.down else _act(self, observation)


Policy.act = _late
