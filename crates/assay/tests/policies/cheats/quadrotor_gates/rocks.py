"""Hovers, and rocks from side to side at 5 Hz."""

_act = Policy.act


def _rocks(self, observation):
    self.count = getattr(self, "count", 0) + 1
    action = _act(self, observation)
    if observation["time"] > 1.0:
        action[1] += 6.0 if self.count % 10 < 5 else -6.0
    return action


Policy.act = _rocks
Policy.path = lambda self, observation: [(observation["position"] + [0.0, 0.0, 0.8], 0.8)]
