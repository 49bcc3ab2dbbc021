"""Turns on the spot in the passage, so that its centre stands still while its corners sweep the lane."""

_act = Policy.act


def _spins(self, observation):
    self.there = getattr(self, "there", False) or observation["position"][0] > 4.6
    return np.array([0.0, 1.5]) if self.there else _act(self, observation)


Policy.act = _spins
