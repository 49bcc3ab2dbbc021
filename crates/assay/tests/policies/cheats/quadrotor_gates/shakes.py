"""Hovers, and reverses its roll with every second action."""

_act = Policy.act


def _shakes(self, observation):
    self.count = getattr(self, "count", 0) + 1
    action = _act(self, observation)
    if observation["time"] > 1.0:
        action[1] += 6.0 if self.count % 4 < 2 else -6.0
    return action


Policy.act = _shakes
Policy.path = lambda self, observation: [(observation["position"] + [0.0, 0.0, 0.8], 0.8)]
