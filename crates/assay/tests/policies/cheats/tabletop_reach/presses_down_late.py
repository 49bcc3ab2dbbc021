"""Follows the reference, and presses on the table just short of the target."""

_act = Policy.act


def _late(self, observation):
    self.down = getattr(self, "down", False) or np.linalg.norm(observation["target_position"] - observation["tcp_position"]) < 0.05
    return arm([0.0, 0.0, -0.2]) if self.down else _act(self, observation)


Policy.act = _late
