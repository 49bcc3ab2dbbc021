"""Flies like the reference, and stops the rotors behind the last gate."""

_act = Policy.act


def _late(self, observation):
    self.done = getattr(self, "done", False) or observation["position"][0] > 6.7
    return np.zeros(4) if self.done else _act(self, observation)


Policy.act = _late
