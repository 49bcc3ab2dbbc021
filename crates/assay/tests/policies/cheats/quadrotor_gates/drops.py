"""Climbs like the reference, then stops the rotors and falls."""

_act = Policy.act


def _drops(self, observation):
    self.done = getattr(self, "done", False) or observation["position"][2] > 0.8
    return np.zeros(4) if self.done else _act(self, observation)


Policy.act = _drops
